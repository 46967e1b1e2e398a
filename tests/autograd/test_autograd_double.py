"""Second and higher derivatives, and what an op must declare for them."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import leaf

import tiny_torch
from tiny_torch.autograd.apply import apply_many
from tiny_torch.autograd.graph import Op

FREED = "Trying to backward through the graph a second time"


def test_higher_derivatives(torch):
    x = leaf(torch, 2.0)
    y = x**5
    found = []
    for _ in range(6):
        (y,) = torch.autograd.grad(y, x, create_graph=True, allow_unused=True)
        if y is None or not y.requires_grad:
            break
        found.append(y.tolist()[0])
    assert found[:4] == [80, 160, 240, 240]


def test_a_penalty_on_the_gradient(torch):
    x, w = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    (g,) = torch.autograd.grad((w * x * x).sum(), x, create_graph=True)
    (g * g).sum().backward()  # g = 2 w x
    assert x.grad.tolist() == [8 * 9 * 1, 8 * 16 * 2] and w.grad.tolist() == [8 * 3, 8 * 4 * 4]
    x.grad = w.grad = None


def test_saved_values_keep_their_history_under_create_graph(torch):
    """Inputs, outputs, broadcast and cast operands: none may be taken for a constant."""
    x = leaf(torch, 0.5, 0.25)
    s = torch.tensor(0.75, dtype=torch.float64, requires_grad=True)
    y = (x * s).exp() / (x + s).sqrt()
    (gx,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    gxs, gxx = torch.autograd.grad(gx.sum(), [s, x])
    assert gxs.dtype is torch.float64 and gxx.dtype is torch.float32
    h = 1e-3

    def slope(x, s):
        x = x.detach().double().requires_grad_()
        y = (x * s).exp() / (x + s).sqrt()
        return torch.autograd.grad(y.sum(), x)[0].sum().item()

    with torch.no_grad():
        numeric = (slope_at(torch, slope, x, s, h) - slope_at(torch, slope, x, s, -h)) / (2 * h)
    assert gxs.item() == pytest.approx(numeric, rel=1e-4)


def slope_at(torch, slope, x, s, h):
    with torch.enable_grad():
        return slope(x, s.detach() + h)


UNARY = (
    "abs neg square reciprocal sqrt rsqrt exp exp2 expm1 log log2 log10 log1p sin cos tan atan "
    "tanh sigmoid erf relu sign floor"
)
BINARY = "add sub mul div pow remainder fmod atan2 maximum minimum"


@pytest.mark.torch
@pytest.mark.parametrize("name", f"{UNARY} {BINARY} lerp addcmul addcdiv clamp where".split())
def test_first_and_second_gradients_of_elementwise_ops_are_pytorchs(name):
    oracle = pytest.importorskip("torch")
    count = 1 if name in UNARY.split() else 2 if name in BINARY.split() else 3
    values = [[0.3, 0.9, 1.7, 2.4], [1.3, 0.9, 0.4, 2.2], [0.2, 1.9, 1.1, 3.0]][:count]

    def answers(torch):
        inputs = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in values]
        arguments = [inputs[0] > 1, *inputs[1:]] if name == "where" else inputs
        y = getattr(torch, name)(*arguments)
        weight = torch.tensor([1.0, -2.0, 0.5, 3.0], dtype=torch.float64, requires_grad=True)
        options = {"create_graph": True, "allow_unused": True, "materialize_grads": True}
        first = torch.autograd.grad((y * weight).sum(), inputs, **options)
        total = sum((g * g).sum() * (i + 1) for i, g in enumerate(first))
        options["create_graph"] = False
        second = [torch.zeros(4)] * (count + 1)
        if total.requires_grad:
            second = torch.autograd.grad(total, [*inputs, weight], **options)
        zero = torch.zeros(4)  # tolist() of PyTorch's ZeroTensor raises
        return [(zero + t).tolist() for t in (*first, *second)]

    for ours, theirs in zip(answers(tiny_torch), answers(oracle), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-12)


class Half(Op):
    """x y / 2 with a composite, and a backward whose own derivative nobody has written."""

    arity = 2
    saves = (0, 1)

    @staticmethod
    def forward(x, y, scale):
        return x * y * scale, (x, y)

    @staticmethod
    def backward(saved, grad, needs):
        x, y = saved
        return grad * y * 0.5, grad * x * 0.5

    @staticmethod
    def composite(x, y, scale):
        return x * y * scale


def test_a_fused_op_is_differentiated_twice_through_its_composite():
    torch = tiny_torch
    x = leaf(torch, 3.0)
    calls = []
    y = x * 1
    y.register_hook(lambda g: calls.append("y"))
    x.register_hook(lambda g: calls.append("x"))
    z = apply_many(Half, (y, y), 0.5)  # the same tensor twice: not counted double
    (g,) = torch.autograd.grad(z, x, create_graph=True)
    assert g.tolist() == [3] and calls == ["y", "x"]
    assert torch.autograd.grad(g, x)[0].tolist() == [1]


@pytest.mark.parametrize("kept", [True, False], ids=["view kept", "view gone"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_hooks_of_a_view_that_was_written_see_the_second_derivative(oracle, kept, when):
    def derivatives(torch):
        x = torch.tensor([0.3, -0.7], dtype=torch.float64, requires_grad=True)
        z = x * 1
        v = z[0:1]
        if when == "before":
            v.register_hook(lambda g: g * 2)
        v.tanh_()
        if when == "after":
            v.register_hook(lambda g: g * 2)
        y = v * v if kept else z * z
        if not kept:
            del v
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        return [g.detach().numpy(), torch.autograd.grad((g * g).sum(), x)[0].numpy()]

    for ours, theirs in zip(derivatives(tiny_torch), derivatives(oracle), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


# Calls of x (4, 6), image (1, 4, 5, 6), line (1, 4, 7), cube (1, 2, 3, 4, 3); k are classes.
IN_STEPS = """
F.relu(x)|F.relu6(x)|F.hardtanh(x)|F.hardshrink(x)|F.softshrink(x)|F.threshold(x, 0.1, 2.0)
F.leaky_relu(x, 0.1)|F.prelu(x, x.new_ones(1))|F.rrelu(x, 0.1, 0.3)|F.rrelu(x, 0.1, 0.3, True)
F.relu6(x * 1, True)|F.hardtanh(x * 1, -1.0, 1.0, True)|F.threshold(x * 1, 0.1, 2.0, True)
x.clamp(-0.5, 0.5)|x.abs()|x.sign()|x.maximum(x.detach())|x.floor()|x.frac()|x.fmod(1.0)
x.amax(1)|x.max()|x.max(1)[0]|x.min(1)[0]|x.median(1)[0]|x.kthvalue(2, 1)[0]|x.topk(2)[0]
x.sort()[0]|x.cummax(0)[0]|x.mode(1)[0]|x.quantile(0.3)|x.msort()|x.median()
F.max_pool1d(line, 2)|F.max_pool2d(image, 2)|F.max_pool3d(cube, 2)|F.avg_pool1d(line, 2)
F.max_pool2d(image, 2, return_indices=True)[0]|F.avg_pool2d(image, 2)|F.avg_pool3d(cube, 2)
F.adaptive_avg_pool2d(image, 2)|F.adaptive_avg_pool2d(image, 1)|F.adaptive_max_pool2d(image, 2)
F.adaptive_avg_pool3d(cube, 2)|F.adaptive_avg_pool3d(cube, 1)|F.adaptive_avg_pool1d(line, 2)
F.pad(image, (1, 1))|F.pad(image, (1, 1, 1, 1), "reflect")|F.pad(line, (1, 1), "replicate")
F.pad(line, (1, 1), "circular")|F.pad(cube, (1, 1, 1, 1, 0, 0), "reflect")|F.nll_loss(x, k)
F.nll_loss(x, k, reduction="none")|F.nll_loss(image, k[:1].expand(1, 5, 6))|x * 2|x.t()|x[1]
F.multilabel_margin_loss(x, k[:, None].expand(4, 6))|F.mse_loss(x, x.detach() + 1)
F.ctc_loss(cube[0, 0], k[:, None] % 2 + 1, (3,) * 4, (1,) * 4)
F.dropout(x, 0.5)|F.interpolate(image, scale_factor=2)|F.unfold(image, 2)|x.std()|x.square()
"""


@pytest.mark.torch
@pytest.mark.parametrize("learned", [False, True], ids=["constant", "learned"])
@pytest.mark.parametrize("call", "|".join(IN_STEPS.strip().splitlines()).split("|"))
def test_a_second_derivative_is_zeros_or_absent_or_refused_as_in_pytorch(oracle, call, learned):
    """Of a constant gradient that comes in, and of one that needs a gradient itself."""

    def answers(torch):
        def values(*shape):
            random = np.random.default_rng(len(shape))
            return torch.from_numpy(random.standard_normal(shape)).requires_grad_()

        leaves = {
            "x": values(4, 6), "image": values(1, 4, 5, 6), "line": values(1, 4, 7),
            "cube": values(1, 2, 3, 4, 3),
        }  # fmt: skip
        torch.manual_seed(0)
        y = eval(call, {"F": torch.nn.functional, "k": torch.tensor([2, 0, 1, 2]), **leaves})
        weights = torch.ones_like(y).requires_grad_(learned)
        x = next(leaf for name, leaf in leaves.items() if f"({name}" in call or name == call[0])
        (first,) = torch.autograd.grad(y, x, weights, create_graph=True)
        if not first.requires_grad:
            return first, "no graph"
        ones = torch.ones_like(first)
        try:
            (second,) = torch.autograd.grad(first, x, ones, allow_unused=True)
        except RuntimeError as error:
            return first, str(error)
        return first, "unused" if second is None else second

    for ours, theirs in zip(answers(tiny_torch), answers(oracle), strict=True):
        if isinstance(theirs, str) or isinstance(ours, str):
            assert ours == theirs
        else:
            theirs = (theirs.detach() + 0).numpy()  # PyTorch's zeros may be a ZeroTensor
            np.testing.assert_allclose(ours.detach().numpy(), theirs, rtol=1e-9, atol=1e-12)
