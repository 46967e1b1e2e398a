"""Corners of functions, an expression each, at which PyTorch gives the same answer or exception."""

import math

import numpy as np
import pytest

import tiny_torch

GROUPS = {
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
                f"tensor([1e30]).norm({p})", f"tensor([[1e30], [2e30]]).norm({p})",
                f"linalg.norm(torch.tensor([[1e30], [-1e-30]]), {p}, 1)",
            )
        ],
        *[
            f"grad(lambda x, y: torch.cosine_similarity(x, y, 0, 2), {x}, {x})"
            for x in ("torch.tensor([1e30]).bfloat16()", "torch.tensor([3e4]).half()",
                      "torch.tensor([1e30])", "torch.tensor([1e30, 1e30])")
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
