"""Derivatives where functions have kinks, poles or ends: at 0 of either sign, at ties, at infinity.

Every line of the table of ops and every loss is tried there: recorded gradients have the values of
plain ones; where a function is smooth, its second derivative is that of its gradient's differences;
where it is not, PyTorch's.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from cases.all_cases import CASES
from helpers import flatten

import tiny_torch

inf, nan = math.inf, math.nan
SOME = (0.0, -0.0, 0.5, -0.5, 1.0, 2.0)
POINTS = {  # by the number of operands
    1: [*SOME, -1.0, 3.0, -3.0, 6.0, 12.0, -12.0, 20.0, 88.0, -104.0, 1e4, -1e4, inf, -inf, nan],
    2: [*SOME, 12.0, 20.0, 1e4, inf, -inf, nan],
    3: [0.0, 0.5, -0.5, 1.0, inf, nan],
}
FINITE = {1: [*SOME, -1.0, -2.0, 0.25], 2: [*SOME, -1.0], 3: [0.0, 0.5, -0.5, 1.0]}

ACTIVATIONS = """
gelu(x)|gelu(x, approximate="tanh")|silu(x)|mish(x)|logsigmoid(x)|hardsigmoid(x)|hardswish(x)
relu(x)|relu6(x)|selu(x)|elu(x)|elu(x, 1.5)|elu(x, -1.5)|celu(x)|celu(x, 0.5)|softplus(x)
softplus(x, 2, 3)|leaky_relu(x, 0.1)|hardtanh(x)|hardshrink(x)|softshrink(x)|threshold(x, 0.5, 2)
softsign(x)|tanhshrink(x)|softmax(x, 0)|log_softmax(x, 0)|normalize(x, dim=0)|softmin(x, 0)
layer_norm(x, x.shape)|rms_norm(x, x.shape)|elu(x * 1, 1.5, True)|silu(x * 1, True)
hardtanh(x * 1, -1, 1, True)|max_pool1d(x.reshape(1, 1, -1), 2)|max_pool2d(x.reshape(1, 1, -1), 1)
embedding_bag(m.arange(len(x)).repeat(2), x.reshape(-1, 1), m.tensor([0, 3, 4, 9]), mode="max")
"""
REDUCTIONS = """
m.logsumexp(x, 0)|m.logcumsumexp(x, 0)|x.std()|x.var()|x.prod()|x.cumprod(0)|x.amax()|x.amin()
x.max()|x.min(0).values|x.median()|x.cummax(0).values|x.sort().values|x.nansum()
m.cdist(x[:, None], x[:3, None] + 0.3)|m.pdist(x[:, None] ** 2 + m.arange(len(x))[:, None])
"""
LOSSES = """
mse_loss|l1_loss|smooth_l1_loss|smooth_l1_loss beta=0.5|smooth_l1_loss beta=0.0|huber_loss
huber_loss delta=0.5|binary_cross_entropy|binary_cross_entropy_with_logits|soft_margin_loss
binary_cross_entropy_with_logits pos_weight=m.tensor(3.0, dtype=x.dtype)|poisson_nll_loss
poisson_nll_loss log_input=False|poisson_nll_loss full=True|kl_div|kl_div log_target=True
hinge_embedding_loss|multilabel_soft_margin_loss
"""


def parts(text):
    return text.replace("\n", "|").strip("|").split("|")


def calls():
    """{name: (number of operands, call(module, *tensors))}"""
    found = {}
    for text in parts(ACTIVATIONS):
        found[text] = 1, eval(f"lambda m, x: m.nn.functional.{text}")
    for text in parts(REDUCTIONS):
        found[text] = 1, eval(f"lambda m, x: {text}")
    pairs = [(loss, r) for loss in parts(LOSSES) for r in ("none", "mean", "sum")]
    pairs = [(loss, "batchmean" if "kl" in loss and r == "mean" else r) for loss, r in pairs]
    for loss, reduction in pairs:
        name, _, more = loss.partition(" ")
        text = f"{name}(x, y, reduction={reduction!r}, {more})"
        found[text] = 2, eval(f"lambda m, x, y: m.nn.functional.{text}")
    found["glu"] = 2, lambda m, x, y: m.nn.functional.glu(m.stack([x, y]), 0)
    found["gaussian_nll_loss"] = 3, lambda m, x, y, z: m.nn.functional.gaussian_nll_loss(x, y, z**2)
    for p in (1, 1.5, 2, 2.5, 3, 4, inf, -1):
        found[f"vector_norm {p}"] = 1, lambda m, x, p=p: m.linalg.vector_norm(x, p)
    for case in CASES:
        if case.gradient and case.shapes is None and "float32" in case.dtypes:
            found.setdefault(f"case {case.name}", (case.arity, case))
    return found


CALLS = calls()


def columns(arity, table):
    return list(zip(*itertools.product(table[arity], repeat=arity), strict=True))


def tensor_of(module, values, dtype):
    wide = module.tensor(values, dtype=module.float64)
    return wide.to(getattr(module, dtype)).requires_grad_()


def array_of(tensor, like):
    """Of a missing gradient, and of PyTorch's ZeroTensor, zeros."""
    if tensor is None:
        return np.zeros(like.shape)
    return np.array((tensor.detach().double() + like.detach().double() * 0).numpy(), copy=True)


def gradients(module, call, inputs, create_graph, **options):
    outputs = [y for y in flatten(call(module, *inputs)) if y.requires_grad]
    weights = [module.full(tuple(y.shape), 1.5, dtype=y.dtype) for y in outputs]
    return outputs and module.autograd.grad(
        outputs, inputs, weights, create_graph=create_graph, allow_unused=True, **options
    )


@pytest.mark.parametrize("name", CALLS)
def test_recorded_gradients_have_the_values_of_plain_ones(name):
    torch = tiny_torch
    arity, call = CALLS[name]
    for dtype in ("float16", "bfloat16", "float32", "float64"):
        inputs = [tensor_of(torch, c, dtype) for c in columns(arity, POINTS)]
        try:
            plain = gradients(torch, call, inputs, False)
        except (RuntimeError, TypeError, ValueError) as error:
            with pytest.raises(type(error)):
                gradients(torch, call, inputs, True)
            continue
        for a, b in zip(plain, gradients(torch, call, inputs, True), strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                assert a.dtype is b.dtype
                np.testing.assert_array_equal(a.double().numpy(), b.detach().double().numpy())


def second(module, call, inputs, k):
    """Of the gradient of input k, the gradients of all inputs; each weighed alike."""
    found = gradients(module, call, inputs, True)
    if not found or found[k] is None or not found[k].requires_grad:
        return [np.zeros(x.shape) for x in inputs]
    weight = module.ones_like(found[k])
    rows = module.autograd.grad(found[k], inputs, weight, allow_unused=True)
    return [array_of(row, x) for row, x in zip(rows, inputs, strict=True)]


def slopes(call, table, k, step):
    """The first gradients, where input k is moved by a step."""
    moved = [[v + step * (i == k) for v in c] for i, c in enumerate(table)]
    inputs = [tensor_of(tiny_torch, c, "float64") for c in moved]
    found = gradients(tiny_torch, call, inputs, False) or [None] * len(inputs)
    return [array_of(g, x) for g, x in zip(found, inputs, strict=True)]


OUTSIDE = {  # whose points are partly where the function is not defined
    "case fmod": "y = 0", "case xlogy": "y < 0", "case pow": "x = 0", "case float_power": "x = 0",
    "case lgamma": "poles", "case lgamma below zero": "poles",
}  # fmt: skip
DEFINED = [name for name in CALLS if name not in OUTSIDE]
IN_TORCH = [name for name in DEFINED if getattr(CALLS[name][1], "in_torch", True)]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_gradients_of_nan_are_those_that_pytorchs_vectors_have(dtype):
    """Its single elements have others in some functions."""
    torch, F = tiny_torch, tiny_torch.nn.functional
    zero = [F.relu6, F.hardtanh, F.hardshrink, F.softshrink, F.hardsigmoid]
    for function in [*zero, F.hardswish, F.elu, F.selu, F.celu, F.softplus, F.logsigmoid, F.mish]:
        x = torch.full((37,), nan, dtype=getattr(torch, dtype), requires_grad=True)
        (gradient,) = torch.autograd.grad(function(x).sum(), x)
        expected = torch.full_like(x, 0 if function in zero else nan)
        assert gradient.equal(expected) or (function not in zero and gradient.isnan().all())


def test_logit_rises_at_minus_0_too():
    x = tiny_torch.tensor([-0.0, 0.0, 1.0], requires_grad=True)
    (gradient,) = tiny_torch.autograd.grad(x.logit().sum(), x)
    assert gradient.tolist() == [inf] * 3


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_limits_next_to_halves_are_not_rounded(dtype):
    oracle = pytest.importorskip("torch")
    calls = {"threshold": (0.1, 0.2), "softshrink": (0.1,), "hardshrink": (0.1,)}

    def answers(module, name):
        x = tensor_of(module, [0.1, -0.1, 0.2, 0.3], dtype)
        y = getattr(module.nn.functional, name)(x, *calls[name])
        return y.tolist(), module.autograd.grad(y.sum(), x)[0].tolist()

    for name in calls:
        assert answers(tiny_torch, name) == answers(oracle, name), name


def test_the_slope_of_sinc_near_0_keeps_its_digits():
    for x in (1e-12, 1e-6, 1e-3, 0.1):
        point = tiny_torch.tensor(x, dtype=tiny_torch.float64, requires_grad=True)
        (slope,) = tiny_torch.autograd.grad(point.sinc(), point)
        series = -(math.pi**2) * x / 3 + math.pi**4 * x**3 / 30 - math.pi**6 * x**5 / 840
        assert slope.item() == pytest.approx(series, rel=1e-14 + x**6 * 0.1)


@pytest.mark.parametrize("name", DEFINED)
def test_second_derivatives_are_those_of_differences_where_these_agree(name):
    arity, call = CALLS[name]
    table, h = columns(arity, FINITE), 1e-5
    for k in range(arity):
        try:
            before, here, after = (slopes(call, table, k, step) for step in (-h, 0.0, h))
        except (RuntimeError, TypeError, ValueError):
            return  # the case is refused
        inputs = [tensor_of(tiny_torch, c, "float64") for c in table]
        for j, found in enumerate(second(tiny_torch, call, inputs, k)):
            with np.errstate(invalid="ignore"):
                left, right = (here[j] - before[j]) / h, (after[j] - here[j]) / h
                between = (left + right) / 2
                smooth = (abs(left - right) < 1e-3 * (1 + abs(left))) & (abs(left) < 100)
            np.testing.assert_allclose(
                found[smooth], between[smooth], 1e-3, 1e-3, err_msg=f"{k}, {j}"
            )


@pytest.mark.torch
@pytest.mark.parametrize("name", IN_TORCH)
def test_second_derivatives_at_kinks_are_pytorchs(name):
    oracle = pytest.importorskip("torch")
    arity, call = CALLS[name]
    table = columns(arity, FINITE)

    def answers(module):
        inputs = [tensor_of(module, c, "float64") for c in table]
        return [second(module, call, inputs, k) for k in range(arity)]

    try:
        theirs = answers(oracle)
    except (RuntimeError, TypeError, ValueError):
        return
    for ours, wanted in zip(answers(tiny_torch), theirs, strict=True):
        there = ~np.isnan(wanted)
        np.testing.assert_allclose(np.array(ours)[there], np.array(wanted)[there], 1e-6, 1e-9)
