"""Corners of functions, an expression each, at which PyTorch gives the same answer or exception."""

import math

import numpy as np
import pytest

import tiny_torch

GROUPS = {
    "what is refused first": [
        "torch.addmv_(1, torch.ones(2, 2), torch.ones(2))",
        *[
            f"torch.conv{n}d(torch.ones(2, 3, 4, 4), torch.ones({w}), padding={p!r})"
            for n, w in ((1, "1, 1, 4, 3"), (2, "1, 2, 2"), (3, "1, 1, 4, 3"))
            for p in ("same", "valid", 0)
        ],
        *[
            f"torch.nn.functional.{call}"
            for dtype in ("uint8", "bool")
            for x in (f"torch.ones(2, 3, 4, dtype=torch.{dtype})",)
            for call in (
                f"batch_norm({x}, None, None)",
                f"batch_norm({x}, None, None, training=True)",
                f"batch_norm({x}, torch.ones(3), torch.ones(3))",
                f"instance_norm({x}, None, None, torch.ones(5))",
                f"instance_norm({x})",
                f"group_norm({x}, 3)",
            )
        ],
        "torch.nn.utils.rnn.PackedSequence(torch.ones(2), torch.tensor([2]), torch.tensor([1, 1]))"
        "[3].shape",
    ],
    "out= of another dtype": [
        *[
            f"torch.{name}(torch.tensor([1, 0]), out=torch.zeros(2, dtype=torch.int8))"
            for name in (
                "abs", "absolute", "bitwise_not", "ceil", "fix", "floor", "nan_to_num", "neg",
                "negative", "round", "sgn", "sign", "trunc",
            )
        ],
        *[
            f"torch.{name}(torch.ones(2, dtype=torch.{dtype}), out=torch.zeros(2).to(torch.{out}))"
            for name in ("abs", "frac", "neg", "sign", "square", "exp")
            for dtype, out in (("float16", "float32"), ("float32", "float64"))
            if (name, dtype) not in (("square", "float16"), ("exp", "float16"))
        ],
        *[
            f"torch.{name}(torch.ones(2, dtype=torch.{dtype}), 0, out=torch.zeros(()).to({out}))"
            for name in ("any", "all", "amax", "amin")
            for dtype in ("bool", "uint8", "float32")
            for out in ("torch.bool", "torch.uint8", "torch.int8", "torch.float32")
        ],
        "torch.heaviside(I, I, out=torch.zeros(2))",
        "torch.diff(I, out=torch.zeros(1))",
        "torch.diff(I, 0, out=torch.zeros(2))",
        "torch.cross(torch.ones(3), torch.ones(3), out=torch.zeros(3).double())",
        "torch.logcumsumexp(F, 0, out=torch.zeros(2).double())",
        "torch.softmax(F, 0, out=torch.zeros(2))",
        "torch.softmax(F, 0, out=torch.zeros(2).double())",
        "torch.log_softmax(F, 0, torch.float64, out=torch.zeros(2).double())",
        "torch.log_softmax(F, 0, torch.float64, out=torch.zeros(2))",
    ],
    "NaN": [
        *[
            f"grad(lambda x, y: torch.{name}(x, y), torch.tensor([nan, 1, nan]), "
            "torch.tensor([1, nan, nan]))"
            for name in ("maximum", "minimum", "fmax", "fmin")
        ],
        *[
            f"grad(lambda x: x.{name}, torch.tensor([[nan, 1], [nan, 2]]))"
            for name in ("max()", "min()", "amax()", "amin(1)", "max(1)[0]", "median()")
        ],
        "torch.renorm(torch.tensor([[nan, 1, 9], [inf, 1, 9], [3, 4, 0]]), 2, 0, 1)",
        *[
            f"torch.nansum(torch.tensor([[nan, 1.7], [nan, nan], [{x}, -3.7]]), {how})"
            for x in ("2.9", "inf", "-inf")
            for how in ("dtype=torch.int64", "1, dtype=torch.int32", "0, True, dtype=torch.int8",
                        "1, dtype=torch.bool", "1, out=torch.zeros(3, dtype=torch.int64)")
        ],
        "torch.nanmean(F, dtype=torch.int64)",
    ],
    "evenly spaced": [
        *[
            f"torch.linspace({ends}, {n}, dtype=torch.{dtype})"
            for dtype in ("float16", "bfloat16", "float32", "float64", "int32", "uint8")
            for ends, n in (
                ("1., 32.", 4), ("0, 7", 7), ("0, 1", 7), ("1, 5", 4), ("9, 0.5", 100), ("3, 2", 1),
                ("0.3, 77.1", 1000), ("0, 200", 3000),
            )
        ],
        *[f"torch.linspace(-1.3, {end}, {n})" for end in (1, 0.7, -9) for n in (2, 6, 33)],
        *[
            f"torch.logspace({ends}, {n}, {base}, dtype=torch.{dtype})"
            for dtype in ("float32", "float64", "int64")
            for ends, n in (("0.3, 4.1", 41), ("2, 0", 7), ("1, 9", 1), ("0, 5", 0))
            for base in (10, 2.7)
        ],
    ],
    "norms of single numbers": [
        *[
            f"torch.{call}"
            for p in (2, 3, 0.5, -2, 0)
            for call in (
                f"tensor([1e30]).norm({p})",
                f"linalg.norm(torch.tensor([[1e30], [-1e-30]]), {p}, 1)",
            )
        ],
        *[
            f"grad(lambda x, y: torch.cosine_similarity(x, y, 0, 2), {x}, {x})"
            for x in ("torch.tensor([1e30]).bfloat16()", "torch.tensor([3e4]).half()",
                      "torch.tensor([1e30])")
        ],
    ],
    "trapezoids of points with other dims": [
        f"torch.{name}(torch.ones({y}).cumsum(-1), torch.arange(9.).view({x}) ** 2, dim={dim})"
        for name in ("trapezoid", "cumulative_trapezoid", "trapz")
        for y in ("2", "3", "1", "0", "2, 3", "3, 3")
        for x in ("3, 3", "9", "9, 1", "1, 9", "3, 1, 3")
        for dim in (-1, 0)
    ],
    "smoothed cross-entropies of nothing": [
        f"torch.nn.functional.cross_entropy(torch.ones({shape}), torch.full({target}, -100), "
        f"reduction='{reduction}', label_smoothing=0.1)"
        for shape, target in (
            ("0, 3", "(0,)"), ("2, 0", "(2,)"), ("0, 0", "(0,)"), ("2, 3", "(2,)"), ("0", "()"),
            ("2, 3", "(2, 3)"), ("0, 3", "(0, 3)"), ("2, 0", "(2, 0)"),
        )
        for reduction in ("mean", "sum", "none")
    ],
    "of no elements": [
        "torch.softmax(torch.empty(0, 2, dtype=torch.int64), 0)",
        "torch.log_softmax(torch.empty(0, 2, dtype=torch.bool), 1)",
        "torch.softmax(torch.ones(2, dtype=torch.int64), 0)",
    ],
    "of bools and to bools": [
        *[f"{b} {op} {e}" for b in ("B", "I") for op in ("**",) for e in ("True", "False")],
        "torch.pow(B, True)", "B.clone().pow_(False)", "B ** B", "True ** B", "B ** 1",
        *[
            f"torch.{name}(torch.tensor({numbers}), dtype=torch.bool)"
            for name in ("sum", "prod")
            for numbers in ([0.5, 0], [0.5, 3], [0], [True, True])
        ],
        "torch.prod(torch.tensor([[1, 0], [2, 3]]), 1, True, dtype=torch.bool)",
        "torch.cross(torch.ones(3).bool(), torch.ones(3).bool())",
        "torch.ones((), dtype=torch.int8).sum_to_size(())",
        "torch.ones(2, 1, dtype=torch.int8).sum_to_size(2, 1)",
    ],
    "half": [
        "torch.histc(torch.tensor([0, 1, 1, 3]).half(), 5, 0, 10)",
        "torch.histc(torch.linspace(0, 1, 11).bfloat16(), 7)",
        "torch.histc(I, 5)",
        "torch.round((torch.arange(999) / 512).half(), decimals=2)",
        "torch.round(torch.linspace(-200, 200, 999).bfloat16(), decimals=-1)",
        "(torch.arange(-999, 0) / 512).half().round_(decimals=1)",
        "grad(lambda x: x.round(decimals=1), F)",
        "torch.round(I, decimals=1)",
        *[
            f"torch.ones(3, dtype=torch.{dtype}).random_({bounds}).shape == (3,)"
            for dtype in ("float16", "bfloat16", "int8")
            for bounds in ("0, 65505", "0, 70000", "0, 2**40", "-2**40, 0", "0, 100")
        ],
    ],
    "in place, of an expanded tensor": [
        "torch.zeros(1).expand(3).fill_(2)",
        "torch.zeros(2, 1).expand(2, 3)[0].fill_(2)",
        "torch.zeros(2, 1).expand(2, 3).mT.zero_()",
        "torch.zeros(1).expand(3).fill_(torch.tensor(2.0))",
        "torch.zeros(1).expand(3).masked_fill_(torch.tensor([True, False, False]), 2)",
        "torch.zeros(2, 1).expand(2, 3).masked_fill_(torch.tensor([[False], [True]]), 2)",
        "torch.zeros(1).expand(3).copy_(torch.ones(3))",
        "[x.copy_(x) for x in [torch.zeros(2, 1).expand(2, 3)]][0]",
        "[x.mT.copy_(x.mT) for x in [torch.zeros(2, 1).expand(2, 3)]][0]",
        "grad(lambda x: x.expand(2, 2).clone().fill_(3), F)",
        "grad(lambda x: (x * 1).zero_(), F)",
        "grad(lambda x: [y := x * 1, y[:1].zero_()][0], F)",
        "torch.zeros(1).expand(3).add_(1)",
        "torch.zeros(1).expand(3).normal_()",
    ],
    "numbers of tensors": [
        *[
            f"{kind}(torch.{x})"
            for kind in ("float", "int", "complex", "bool")
            for x in ("ones(2)", "ones(0)", "ones(1, 1)", "tensor(3)")
        ],
        "~F", "~I", "~B", "torch.bitwise_not(F)",
        "torch.ones(3).normal_(torch.tensor(1.0), torch.tensor(0.0))",
        "torch.ones(3).normal_(torch.tensor(1.0, requires_grad=True))",
        "torch.ones(3).normal_(torch.tensor([1.0]))",
        "torch.normal(torch.ones(2, 3), 0.0, out=torch.empty(0))",
        "torch.normal(torch.ones(2, 3), 0.0, out=torch.empty(2, 3))",
        "torch.normal(torch.ones(2, 3), torch.zeros(2, 3), out=torch.empty(0))",
    ],
    "two numbers": [
        *[
            f"torch.{name}({x}, {y})"
            for name in (
                "add", "sub", "mul", "div", "subtract", "multiply", "divide", "true_divide",
                "floor_divide", "remainder", "fmod", "pow", "eq", "maximum", "atan2", "where",
                "bitwise_and", "float_power", "xlogy", "copysign",
            )
            for x, y in ((7, 2), (1.5, 2), ("True", 2), (3, "'a'"), ("None", 3))
        ],
        "torch.add(1, 2, alpha=3)", "torch.add(True, True)", "torch.mul(True, True)",
        "torch.add(1, 2, out=torch.zeros(()))", "torch.mul(2, 2, out=torch.zeros(0))",
        "torch.div(7, 2, rounding_mode='floor')",
    ],
    "numbers in front of tensors": [
        "torch.add(F, -1, F)", "torch.add(F, 2, 3)", "torch.add(F, 2, F, out=torch.zeros(2))",
        "torch.sub(F, 2, F)", "F.add(2, F)", "F.sub(2, F)", "F.clone().add_(2, F)",
        "F.clone().sub_(2, 3)", "torch.add(F, F, 2)", "torch.mul(F, 2, F)",
        *[
            f"{call}(2, F, F)" if call[0] == "F" else f"{call}(F, 2, F, F)"
            for name in ("addcmul", "addcdiv")
            for call in (f"torch.{name}", f"F.{name}", f"F.clone().{name}_")
        ],
        *[
            f"{call}({numbers[0]}, {x}, {numbers[1]}{a}, {b})" if call[0] == "t"
            else f"{call}({numbers[0]}, {numbers[1]}{a}, {b})"
            for name, x, a, b in (
                ("addmm", "torch.ones(2, 2)", "torch.eye(2)", "torch.ones(2, 2)"),
                ("addmv", "F", "torch.eye(2)", "F"),
                ("addr", "torch.ones(2, 2)", "F", "F"),
                ("addbmm", "torch.ones(2, 2)", "torch.ones(3, 2, 2)", "torch.ones(3, 2, 2)"),
                ("baddbmm", "torch.ones(3, 2, 2)", "torch.ones(3, 2, 2)", "torch.ones(3, 2, 2)"),
            )
            for call in (f"torch.{name}", f"{x}.{name}", f"{x}.clone().{name}_")
            for numbers in ((2, ""), (2, "3, "), ("'a'", ""), (2, "None, "))
        ],
        "torch.addmm(torch.eye(2), torch.eye(2), torch.eye(2), 2)",
        "torch.addbmm(torch.ones(2, 3), torch.ones(2, 2, 0), torch.ones(2, 0, 3))",
    ],
    "operators without an operand": [
        f"torch.ones(2).__{name}__({other}) is NotImplemented"
        for name in (
            *("add", "radd", "iadd", "sub", "rsub", "isub", "mul", "rmul", "imul", "truediv"),
            *("rtruediv", "itruediv", "floordiv", "mod", "pow", "rpow", "ipow", "and", "iand"),
            *("eq", "lt", "matmul", "rmatmul"),
        )
        for other in ("", "'a'", "None")
    ],
    "positions that are not there": [
        *[
            f"torch.index_select({x}, {dim}, torch.tensor({index}))"
            for x in ("torch.ones(2, 0)", "torch.ones(0, 2)", "torch.ones(0)", "torch.ones(2)")
            for dim in (0, -1)
            for index in ([5], [-1], [0])
        ],
        *[
            f"torch.index_fill({x}, torch.tensor([5]), 1)"
            for x in ("torch.ones(2, 0), 0", "torch.ones(0, 2), 1", "torch.ones(2), 0")
        ],
        *[
            f"torch.nn.functional.embedding(torch.tensor({index}), torch.ones({shape}))"
            for index in ([7], [[-1]], [0])
            for shape in ("5, 0", "0, 5", "0, 0", "5, 2")
        ],
        "torch.gather(torch.ones(2, 0), 0, torch.full((2, 0), 9))",
        "torch.scatter(torch.ones(0, 2), 0, torch.zeros(1, 2).long(), 1.0)",
        "torch.scatter_add(torch.ones(0, 2), 0, torch.zeros(1, 2).long(), torch.ones(1, 2))",
        "torch.take(torch.ones(0), torch.tensor([], dtype=torch.int64))",
        "torch.put(torch.ones(0), torch.tensor([0]), torch.ones(1))",
    ],
    "out= of what requires grad": [
        *[
            f"torch.{call}, out=torch.zeros({out}))"
            for call in (
                *[f"{name}(G, F" for name in ("eq", "ne", "lt", "le", "gt", "ge", "greater")],
                *[f"logical_{name}(G, F" for name in ("and", "or", "xor")],
                "logical_not(G", "eq(F, F", "isposinf(G", "isneginf(G", "signbit(G", "mul(G, F",
                "sign(G", "maximum(G, F", "bernoulli(G.abs() / 2",
            )
            for out in ("2, dtype=torch.bool", "2", "2, requires_grad=True")
        ],
        *[
            f"torch.{name}(G, 0, out=torch.tensor({out}))"
            for name in ("argmax", "argmin", "any", "all", "amax", "sum")
            for out in ("0", "False", "0.0")
            if (name, out) != ("sum", "False")
        ],
        *[f"[x := G.detach().requires_grad_(), x.{name}][1]" for name in (
            "logical_not_()", "logical_and_(F)", "logical_or_(F)", "logical_xor_(F)", "eq_(F)",
            "sign_()", "lt_(1)",
        )],
        "grad(lambda x: [y := x * 2, y.logical_not_()][0], F)",
    ],
    "batch norm of nothing": [
        f"torch.nn.functional.batch_norm(torch.ones({shape}), {more})"
        for shape in ("0", "0, 2", "0, 2, 3")
        for more in (
            "None, None, training=True", "None, None", "F.clone(), F.abs()", "None, F.abs()",
            "None, None, F, F, True", "torch.ones(0), torch.ones(0), torch.ones(0), None, True",
        )
    ],
    "attention": [
        *[
            f"torch.nn.functional.scaled_dot_product_attention(*[torch.ones({shape})] * 3, {mask})"
            for shape in ("3, 2", "1, 3, 2", "1, 1, 3, 2")
            for mask in (
                "torch.tensor(True)", "torch.tensor(False)", "torch.tensor(1.0)", "torch.ones(3)",
                "torch.ones(3, 3), 0.0, True", "torch.ones(3) > 0, 0.0, True", "None, 0.0, True",
            )
        ],
        *[
            "torch.nn.functional.scaled_dot_product_attention("
            f"torch.ones(1, {q}, 2, 3), *[torch.ones(1, {k}, 2, 3)] * 2, enable_gqa=True)"
            for q in (0, 1, 4)
            for k in (0, 1, 2, 3)
        ],
    ],
    "x[...] = x": [
        f"[x := torch.arange(4.0), x.__setitem__({index}, {value})][0]"
        for index in ("None", "(None, None)", "...", "slice(None)", "(None, slice(None))")
        for value in ("x", "x[None]", "x[:1]", "x.view(1, 1, 4)")
    ] + ["[x := torch.arange(4.0), x.__setitem__(slice(1, None), x[:-1])]"],
    "subscripts of types": [
        *[f"torch.distributions.{name}[int].__args__ == (int,)" for name in (
            "Independent", "Distribution", "Normal", "TransformedDistribution",
            "transforms.Transform",
        )],
        *[f"torch.utils.data.{name}[int].__args__ == (int,)" for name in (
            "Dataset", "DataLoader", "Sampler", "Subset", "TensorDataset", "ConcatDataset",
        )],
    ],
    "others": [
        "torch.diff(I, 0, prepend=I, append=I)",
        "torch.ones(2, 3, dtype=torch.int64).mT.__rpow__(I).stride()",
        "(2 ** torch.ones(2, 3).mT).stride()",
    ],
    "numbers beyond a dtype": [
        *[
            f"torch.ones(2, dtype=torch.{dtype}).{call}"
            for dtype, number in (
                ("float16", "65519"), ("float16", "-2**40"), ("float16", "inf"),
                ("bfloat16", "3.5e38"), ("float32", "1e39"), ("uint8", "-1"), ("uint8", "-0.5"),
                ("uint8", "255.5"), ("int8", "127.5"), ("float32", "2**63"), ("float64", "2**64-1"),
                ("float32", "2**64"), ("float32", "-2**63-1"), ("int64", "2**64"),
                ("bool", "2**64"),
            )
            for call in (
                f"fill_({number})", f"masked_fill(torch.tensor([True, False]), {number})",
                f"index_fill(0, torch.tensor([0]), {number})", f"clamp(min={number})",
                f"clamp_(max={number})", f"add(1, alpha={number})",
                f"addcmul(I, I, value={number})",
                f"__setitem__(0, {number})", f"pow({number})", f"logit({number})",
                f"new_full((2,), {number})", f"new_tensor({number})", f"mul({number})",
                f"scatter(0, torch.tensor([0]), {number})", f"eq({number})", f"lt({number})",
            )
            if number not in ("2**63", "2**64-1") or "__setitem__" not in call
            if not call.startswith("addcmul") or dtype[0] != "f" or "2**4" not in number
        ],
        *[f"torch.tensor([3, -5]) {op} (2**64 - 3)" for op in ("+", "-", "*", "&", "|", "^")],
        "(2**63) / torch.tensor([2.0])", "(2**63) - I",
        "F.add(F, alpha=None)", "F.sub_(F, alpha='a')", "F.add(F, alpha=torch.tensor(2))",
        "F.addcmul(F, F, value=None)", "F.clamp_min(None)", "F.round(decimals=1.5)",
        "F.round(decimals=400)", "torch.histc(F, 3, 'a', 2)", "torch.eye(2).fill_diagonal_(None)",
        "torch.where(torch.tensor([True, False]), torch.ones(2).half(), 70000)",
    ],
    "second gradients of prod": [
        f"grad(lambda x: grad(lambda x: x.prod({how}), x, again=True)[0], torch.tensor({x}))"
        for how in ("", "0", "0, True, dtype=torch.float64")
        for x in ("[2.0, 0, 3]", "[0.0, 0, 3]", "[0.0, 0, 0]", "[2.0, 3, 4]")
    ],
    "prelu": [
        "F.prelu(torch.tensor(0.5))",
        "torch.ones(2, 3).neg().prelu(torch.tensor([0.5, 1, 2]))",
        "torch.prelu(F, 2.0)", "torch.prelu(I, I[:1])", "torch.prelu(F, F)",
        "torch.prelu(F, torch.ones(1, 1))", "F.prelu(F.double()[:1])",
        "grad(torch.prelu, torch.tensor([[-1.0, 0.0], [2.0, -3.0]]), torch.tensor([0.5, 2.0]))",
        "grad(lambda x, w: grad(torch.prelu, x, w, again=True)[0], torch.tensor([-1.0, 3, 2]), "
        "torch.tensor([0.5]))[1:]",
        "grad(lambda x, w: grad(torch.prelu, x, w, again=True)[1], torch.tensor([-1.0, 3, 2]), "
        "torch.tensor([0.5]))[:1]",
    ],
    "floats as integers": [
        f"torch.tensor([nan, inf, -inf, 3e9, -3e9, 2.0**31, -2.0**31 - 1, 70000.0, -129.9, 1e19, "
        f"5 + 2.0**35]).to(torch.{dtype}).repeat({n}).to(torch.{integer})"
        for dtype in ("float16", "bfloat16", "float32", "float64")
        for integer in ("uint8", "int8", "int16", "int32", "int64", "bool")
        for n in (1, 20)
    ],
    "losses of 0 dims and of others": [
        f"torch.nn.functional.{name}(torch.ones({a}), torch.zeros({b}), reduction='{reduction}')"
        for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
        for reduction in ("mean", "none")
        for a, b in (
            ("3", "(), dtype=torch.float64"), ("(), dtype=torch.float64", "3"),
            ("()", "3, dtype=torch.float16"), ("3, dtype=torch.float16", "()"),
            ("3, dtype=torch.int32", "(), dtype=torch.int64"), ("()", "3, dtype=torch.int64"),
        )
    ],
    "what is no view": [
        *[
            f"torch.nn.{name}(3, 4{more}){call}.detach_()._is_view()"
            for name in ("LSTM", "GRU", "RNN")
            for more in ("", ", bidirectional=True")
            for call in ("(torch.ones(2, 1, 3))[0]", "(torch.ones(2, 1, 3))[0].add_(1)")
        ],
        "torch.nn.GRU(3, 4, batch_first=True)(torch.ones(2, 1, 3))[0].detach_()._is_view()",
        *[
            f"{text}.detach_()._is_view()"
            for text in (
                "torch.nn.functional.unfold(torch.ones(4, 4, 4), 2)",
                "torch.nn.functional.fold(torch.ones(16, 9), (4, 4), 2)",
                "torch.nn.functional.affine_grid(torch.ones(1, 2, 3), (1, 1, 2, 2))",
                "torch.nn.functional.max_unpool2d(F.view(1, 1, 2), I.view(1, 1, 2) - 3, 2)",
                "torch.nn.utils.rnn.pad_packed_sequence("
                "torch.nn.utils.rnn.pack_padded_sequence(torch.ones(3, 2, 1), [3, 2]))[0]",
                "torch.kron(F, F)", "F.roll(1)", "torch.ones(2, 3).rot90()", "F.quantile(0.5)",
                "torch.ones(2, 3).rot90(3)", "F.quantile(F.abs() / 2)", "torch.combinations(F)",
            )
        ],
    ],
}  # fmt: skip
CASES = [(group, text) for group, texts in GROUPS.items() for text in texts]


def answer(torch, text):
    """What an expression gives, in words that both packages share."""

    def grad(function, *inputs, again=False):
        leaves = [x if again else x.detach().clone().requires_grad_() for x in inputs]
        result = function(*leaves)
        weights = torch.arange(1.0, result.numel() + 1).reshape(result.shape).to(result.dtype)
        return torch.autograd.grad(result, leaves, weights, create_graph=again, allow_unused=True)

    names = {
        "torch": torch, "grad": grad, "nan": math.nan, "inf": math.inf,
        "G": torch.tensor([1.5, -2.0], requires_grad=True),
        "F": torch.tensor([1.5, -2.0]), "I": torch.tensor([3, 5]), "B": torch.tensor([True, False]),
    }  # fmt: skip
    try:
        result = eval(text, names)
    except Exception as error:
        return type(error).__name__
    return [
        (str(part.dtype).split(".")[-1], part.tolist()) if hasattr(part, "dtype") else part
        for part in (result if isinstance(result, tuple) else (result,))
    ]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("group, text", CASES, ids=[text for _, text in CASES])
def test_corner(oracle, group, text):
    ours, theirs = answer(tiny_torch, text), answer(oracle, text)
    if isinstance(theirs, str):
        assert ours == theirs
    else:
        np.testing.assert_equal(ours, theirs)
