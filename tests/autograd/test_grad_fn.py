"""What grad_fn is called: PyTorch's names, also where one op of ours is several of its own; what it
has saved, as `_saved_*`.
"""

from __future__ import annotations

import pytest
from cases.all_cases import CASES
from cases.op_cases import SHAPES
from helpers import CONTIGUOUS, by_name, compare, is_float, leaf, operands, outcome

import tiny_torch

RESULTS = {
    "sums": lambda t, x, v, s, b, m: [x.sum(), x.sum(0), x.mean(), x.mean((0, 1)), x.prod(1)],
    "extremes": lambda t, x, v, s, b, m: [x.max(), x.min(), x.amax(), x.max(0)[0]],
    "products": lambda t, x, v, s, b, m: [
        x @ x, x @ v, v @ x, v @ v, b @ b, t.bmm(b, b), x.mv(v), v.dot(v), b @ x,
    ],
    "linear layers": lambda t, x, v, s, b, m: [
        t.nn.functional.linear(*a) for a in ((x, x), (x, x, v), (b, x), (b, x, v), (v, x), (x, v))
    ],
    "powers": lambda t, x, v, s, b, m: [x**2, x**x, 2**x, x.square(), x**s, s.detach() ** x],
    "with a number or a tensor": lambda t, x, v, s, b, m: [
        x % 2, x % x, x.fmod(2), x.fmod(x), x.clamp(0, 1), x.clamp(s, s), x.clamp(max=s),
        x.clamp(s), x.lerp(x, 0.5), x.lerp(x, s), x.masked_fill(m, 1.0), x.masked_fill(m, s),
    ],
    "copies": lambda t, x, v, s, b, m: [
        x.double(), x.t().contiguous(), x.clone(), x.t().reshape(-1), x.reshape(-1), x.norm(),
    ],
    "squeezes": lambda t, x, v, s, b, m: [x.squeeze(), x[None].squeeze(0), x[None].squeeze(-3)],
    "written": lambda t, x, v, s, b, m: [
        (x * 1).copy_(x), (x * 1).fill_(2), (x * 1).mul_(x), (x * 1)[0].mul_(2)._base,
        (x * 1).sub_(1), (x * 1).pow_(x),
    ],
    "written views": lambda t, x, v, s, b, m: [(x * 1)[0].mul_(2), (x * 1).unbind()[0]],
}  # fmt: skip


@pytest.mark.parametrize("case", RESULTS)
def test_names(oracle, case):
    def results(torch):
        x = leaf(torch, 0.1, 0.2, 0.3, 0.4).detach().reshape(2, 2).clone().requires_grad_()
        v, s, b = leaf(torch, 0.5, 0.6), torch.tensor(0.5, requires_grad=True), torch.stack([x, x])
        m = torch.tensor([[True, False], [True, True]])
        return RESULTS[case](torch, x, v, s, b, m)

    for ours, theirs in zip(results(tiny_torch), results(oracle), strict=True):
        assert ours.grad_fn.name() == theirs.grad_fn.name()
        printed = [repr(t).rpartition("grad_fn=")[2].rstrip(")") for t in (ours, theirs)]
        assert printed[0] == printed[1]


def test_a_name_after_backward(torch):
    x = leaf(torch, 1.0, 2.0).reshape(1, 2)
    y = (x @ x.t()).sum()
    node = y.grad_fn.next_functions[0][0]
    y.backward()
    assert node.name() == "MmBackward0" and y.grad_fn.name() == "SumBackward0"


def graph(node):
    """Names of a node and of those behind it, as `next_functions` lead to them."""
    name = node and node.name().rpartition("::")[2]
    return (name, *[(graph(target), k) for target, k in node.next_functions]) if node else None


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(2,), (3, 2), (4, 3, 2)])
def test_a_linear_layer_is_pytorchs_nodes(oracle, shape, bias):
    def linear(torch, *wanted):
        shapes = (shape, (2, 2), (2,))[: 2 + bias]
        inputs = [torch.ones(s).requires_grad_(w) for s, w in zip(shapes, wanted, strict=False)]
        return torch.nn.functional.linear(*inputs).grad_fn

    cases = [(True, True, True), (False, True, True)]
    cases += [(True, False, True)] if len(shape) == 2 else []  # else the dims are not kept
    for wanted in cases:
        assert graph(linear(tiny_torch, *wanted)) == graph(linear(oracle, *wanted))


@pytest.mark.parametrize("shape", [(2,), (3, 2), (4, 3, 2)])
def test_hooks_on_a_linear_layers_parameters_run_in_pytorchs_order(torch, shape):
    layer, seen = torch.nn.Linear(2, 2), []
    for name, parameter in layer.named_parameters():
        parameter.register_hook(lambda g, name=name: seen.append(name))
    layer(leaf(torch, *[1.0] * shape[-1]).expand(shape) * 1).sum().backward()
    assert seen == ["bias", "weight"]


@pytest.mark.filterwarnings("ignore:Using a non-full backward hook")
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(2,), (3, 2), (4, 3, 2)])
def test_hooks_of_a_linear_layers_node_see_what_pytorchs_do(oracle, shape, bias):
    def seen(torch, wanted):
        layer, found = torch.nn.Linear(2, 4, bias=bias), []
        with torch.no_grad():
            for p in layer.parameters():
                p.copy_(torch.arange(p.numel()).reshape(p.shape))
        layer.register_backward_hook(lambda module, sent, came: found.append(sent))
        x = torch.arange(1.0, 1 + torch.Size(shape).numel()).reshape(shape).requires_grad_(wanted)
        y = layer(x)
        y.grad_fn.register_hook(lambda sent, came: tuple(g if g is None else g * 2 for g in sent))
        y.square().sum().backward()
        gradients = [p.grad for p in layer.parameters()] + ([x.grad] if wanted else [])
        return [g if g is None else g.tolist() for g in (*found[0], *gradients)]

    for wanted in (True, False):
        assert seen(tiny_torch, wanted) == seen(oracle, wanted)


def test_a_part_of_a_node():
    layer = tiny_torch.nn.Linear(2, 2)
    node = layer(tiny_torch.ones(1, 2)).grad_fn
    (_, (part, _)), ((again, _),) = node.next_functions[1:], node.next_functions[2:]
    assert part is not again and part == again and hash(part) == hash(again)
    assert type(part).__name__ == part.name() == "TBackward0" and "<TBackward0 object" in repr(part)
    part.metadata["seen"] = 1
    assert again.metadata == {"seen": 1} and node.metadata != {"seen": 1}
    for register in (part.register_hook, part.register_prehook):
        with pytest.raises(NotImplementedError, match=r"TBackward0, .* a part of AddmmBackward0"):
            register(print)
    assert not hasattr(part, "variable")
    edge = tiny_torch.autograd.graph.GradientEdge(part, 0)
    with pytest.raises(NotImplementedError, match=r"TBackward0, .* a part of AddmmBackward0"):
        tiny_torch.autograd.grad(layer(tiny_torch.ones(1, 2)).sum(), edge)


# ---------------------------------------------------------------------------- what a node has saved

# What PyTorch's nodes have and ours do not, or otherwise, and why.
NOT_SAVED = {
    ("GatherBackward0", "self"): "only its shape is read",
    ("L1LossBackward0", "self"): "the sign of the difference is kept",
    ("AbsBackward0", "self"): "of l1_loss, which is one op",
    ("MaxPool2DWithIndicesBackward0", "self"): "only its shape is read",
    ("NllLossBackward0", "self"): "logits, or nothing at all",
    ("NllLossBackward0", "total_weight"): "summed anew",
    ("IndexAddBackward0", "source"): "only its shape is read",
    ("CummaxBackward0", "self"): "only its shape is read",
    ("CumminBackward0", "self"): "only its shape is read",
    ("LdexpBackward0", "result"): "more than is read",
    ("AddcmulBackward0", "tensor1"): "with its factor",
    ("AddcdivBackward0", "tensor1"): "with its factor",
    ("FrexpBackward0", "exponent"): "the power of 2 is kept",
    ("LogSigmoidBackward0", "buffer"): "made anew",
    ("SpecialI1Backward0", "result"): "made anew",
    ("SgnBackward0", "result"): "which is of use for complex numbers",
    ("PowBackward0", "result"): "more than PyTorch's",
    ("PreluKernelBackward0", "weight"): "PyTorch's is reshaped",
    ("MulBackward0", "other"): "of rms_norm and dropout, which draw or divide",
}


# torch.mul(7, x) is 7 * x in PyTorch, where the number stands second; others go other ways.
OTHER_WAYS = ("mul of ", "outer", "ger", "cumprod to float64")


def saved_by(node, names):
    found = {}
    for name in names:
        value = getattr(node, f"_saved_{name}")
        if type(value) is int and value > 2**63:
            value -= 2**64  # PyTorch shows ints without their sign
        found[name] = value
    return found


@by_name([case for case in CASES if case.gradient and "float32" in case.dtypes])
def test_saved_values_are_those_of_pytorch(oracle, case):
    shapes = (case.shapes or SHAPES[case.arity])[0]
    nodes = []
    for m in (oracle, tiny_torch):
        layouts, dtypes = CONTIGUOUS[: case.arity], ["float32"] * case.arity
        inputs = operands(m, case.domains, shapes, layouts, dtypes)
        error, results = outcome(lambda m=m, xs=inputs: case(m, *[x.requires_grad_() for x in xs]))
        results = [y for y in results if is_float(y) and y.grad_fn is not None]
        if error is not None or not results:
            return
        nodes.append(results[0].grad_fn)
    theirs, ours = nodes
    if theirs.name() != ours.name() or case.name.startswith(OTHER_WAYS):
        return
    names = {name[7:] for name in dir(theirs) if name.startswith("_saved_")}
    lacking = {n for n in names if not hasattr(ours, f"_saved_{n}")}
    common = {n for n in names - lacking if (ours.name(), n) not in NOT_SAVED}
    for name, value in saved_by(theirs, common).items():
        mine, where = getattr(ours, f"_saved_{name}"), f"{ours.name()}._saved_{name}"
        if hasattr(value, "grad_fn"):
            compare(mine, value, where, ulps=2**12, strides=False)
            grad_fns = [t.grad_fn and t.grad_fn.name() for t in (mine, value)]
            assert grad_fns[0] == grad_fns[1] and mine.requires_grad == value.requires_grad, where
            assert hasattr(ours, f"_raw_saved_{name}") == hasattr(theirs, f"_raw_saved_{name}")
        elif type(value) in (int, float, bool, str) and type(mine) is type(value):
            assert mine == value or name in ("dim", "scale"), where
    tensors = {n for n, value in saved_by(theirs, lacking).items() if hasattr(value, "grad_fn")}
    assert all((ours.name(), n) in NOT_SAVED for n in tensors), (ours.name(), tensors)


def test_saved_values_of_common_nodes(torch):
    x = torch.arange(1.0, 7.0).view(2, 3).requires_grad_()
    assert x.sin().grad_fn._saved_self is x
    y = x.exp()
    assert y.grad_fn._saved_result.grad_fn is y.grad_fn and y.grad_fn._saved_result.requires_grad
    assert (x * 2).grad_fn._saved_other.item() == 2 == (2 * x).grad_fn._saved_other.item()
    assert (x * 2).grad_fn._saved_self is None and (x * x.detach()).grad_fn._saved_self is None
    assert (x / 0.5).grad_fn._saved_other.dtype is torch.float64
    assert (x**2).grad_fn._saved_exponent == 2
    node = x.sum(0).grad_fn
    assert (node._saved_dim, node._saved_keepdim, node._saved_self_sym_sizes) == (
        (0,), False, (2, 3),
    )  # fmt: skip
    assert x.view(3, 2).grad_fn._saved_self_sym_sizes == (2, 3)
    assert (x[1].grad_fn._saved_dim, x[1].grad_fn._saved_index) == (0, 1)
    assert x[torch.tensor([1])].grad_fn._saved_indices[0].tolist() == [1]
    assert x.max(1)[0].grad_fn._saved_indices.tolist() == [2, 2]
    node = torch.nn.functional.linear(x, x, x[:, 0]).grad_fn
    assert node._saved_mat1 is x and node._saved_mat2.tolist() == x.t().tolist()
    F, image = torch.nn.functional, x.view(1, 1, 2, 3)
    for y, settings in (
        (F.max_pool2d(image, 2, 1, dilation=1), {"kernel_size": (2, 2), "stride": (1, 1)}),
        (F.avg_pool2d(image, 2, 1), {"padding": (0, 0), "count_include_pad": True}),
        (F.conv2d(image, image, padding=2), {"padding": (2, 2), "groups": 1}),
        (F.conv_transpose2d(image, image, padding=1), {"stride": (1, 1), "padding": (1, 1)}),
        (F.huber_loss(x, x * 2, delta=0.5), {"delta": 0.5, "reduction": 1}),
        (F.smooth_l1_loss(x, x * 2, beta=2.0), {"beta": 2.0}),
    ):
        for name, setting in settings.items():
            assert getattr(y.grad_fn, f"_saved_{name}") == setting, name
    assert not hasattr(F.adaptive_avg_pool2d(image, 1).grad_fn, "_saved_kernel_size")
    assert not hasattr(x.sum(0).grad_fn, "_saved_result") and not hasattr(node, "_saved_self")
    with pytest.raises(AttributeError):
        node._saved_mat1 = x


def test_saved_values_after_they_were_freed_or_written(torch):
    x, z = torch.ones(2, requires_grad=True), torch.ones(2)
    y = x * z
    y.sum().backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        _ = y.grad_fn._saved_other
    y = x * z
    z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        _ = y.grad_fn._saved_other
    y = x.sum(0)
    y.backward()
    assert y.grad_fn._saved_dim == (0,)


def test_hooks_on_one_saved_tensor(torch):
    x, z = torch.tensor([1.0, 2.0], requires_grad=True), torch.ones(2)
    y = x * x
    seen = []
    place = y.grad_fn._raw_saved_self
    place.register_hooks(lambda t: seen.append(t.tolist()) or t * 3, lambda t: t / 3 + 1)
    assert seen == [[1, 2]] and y.grad_fn._saved_self.tolist() == [2, 3]
    with pytest.raises(RuntimeError, match="whose hooks have already been set"):
        place.register_hooks(print, print)
    y.sum().backward()
    assert x.grad.tolist() == [3, 5]
    with pytest.raises(RuntimeError, match="after it has been freed"):
        place.register_hooks(print, print)
    y = x * z  # PyTorch's place does not keep its node alive
    with pytest.raises(RuntimeError, match="with value None is forbidden"):
        y.grad_fn._raw_saved_self.register_hooks(print, print)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        y.grad_fn._raw_saved_other.register_hooks(3, 4)
    y = x.exp()
    with pytest.raises(RuntimeError, match="pack hook is modifying its input in place"):
        y.grad_fn._raw_saved_result.register_hooks(lambda t: t.add_(1), print)
    y = x.hypot(z.requires_grad_())  # what has no hooks is still looked after
    y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
    with torch.no_grad():
        z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
