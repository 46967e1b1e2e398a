"""nn against PyTorch: first weights, random draws, texts, values and gradients."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.nn import functional as F

oracle = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def test_linear_starts_as_in_torch():
    torch.manual_seed(0)
    ours = nn.Sequential(nn.Linear(7, 5), nn.PReLU(), nn.Linear(5, 2, bias=False))
    oracle.manual_seed(0)
    o = oracle.nn
    theirs = o.Sequential(o.Linear(7, 5), o.PReLU(), o.Linear(5, 2, bias=False))
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=False):
        assert p.tolist() == q.tolist()


def world(namespace):
    """The package that a namespace `nn` or `functional` belongs to."""
    return torch if namespace in (nn, F) else oracle


def t_of(functional, array):
    return world(functional).tensor(array)


REPRS = [
    lambda nn: nn.Linear(2, 3, bias=False),
    lambda nn: nn.Identity(4),
    lambda nn: nn.Dropout(0.1, inplace=True),
    lambda nn: nn.Sequential(nn.Flatten(), nn.Unflatten(1, (2, 3)), nn.Sequential()),
    lambda nn: nn.Sequential(nn.Sequential(nn.Linear(1, 1), nn.ReLU(inplace=True)), nn.ReLU()),
    lambda nn: nn.ModuleList([nn.Sequential(nn.ReLU()) for _ in range(2)] + [nn.Tanh()] * 2),
    lambda nn: nn.ModuleList(),
    lambda nn: nn.ModuleDict({"a": nn.LeakyReLU(0.2), "b": nn.ELU(2.0, inplace=True)}),
    lambda nn: nn.Sequential(nn.GELU("tanh"), nn.Softmax(1), nn.LogSoftmax(-1), nn.Softplus(2)),
    lambda nn: nn.Sequential(nn.Hardtanh(0, 2), nn.ReLU6(True), nn.PReLU(3), nn.GLU(), nn.SELU()),
    lambda nn: nn.Sequential(nn.Hardswish(True), nn.Hardsigmoid(), nn.LogSigmoid(), nn.Mish(True)),
    lambda nn: nn.Sequential(nn.SiLU(), nn.Sigmoid(), nn.Tanh(), nn.Softmax()),
    lambda nn: nn.ModuleList([nn.CrossEntropyLoss(), nn.MSELoss(), nn.BCELoss(), nn.KLDivLoss()]),
    lambda nn: nn.ParameterList([1, nn.Parameter(world(nn).ones(2, 3))]),
    lambda nn: nn.ParameterDict({"w": world(nn).ones(2, 3), "n": None}),
]


@pytest.mark.parametrize("build", REPRS)
def test_repr(build):
    assert repr(build(nn)) == repr(build(oracle.nn))


def same(function, arrays, **settings):
    """One function in both worlds: value, dtype, and the gradients of the floating inputs."""
    results = []
    for package in (torch, oracle):
        inputs = [package.tensor(a, requires_grad=a.dtype.kind == "f") for a in arrays]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out = function(package.nn.functional)(*inputs, **settings)
        weights = np.cos(np.arange(out.numel(), dtype=np.float64)).reshape(tuple(out.shape))
        grads = []
        if out.requires_grad:
            out.backward(package.tensor(weights).to(out.dtype))
            grads = [None if x.grad is None else x.grad.numpy() for x in inputs]
        results.append((out.detach().numpy(), grads))
    (ours, our_grads), (theirs, their_grads) = results
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-6)
    for a, b in zip(our_grads, their_grads, strict=False):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)


POINTS = np.array([[-200.0, -3.0, -1.0, -1e-3], [0.0, 0.5, 1.0, 2.0], [3.0, 6.0, 25.0, 200.0]])

ACTIVATIONS = [
    ("relu", {}),
    ("tanh", {}),
    ("sigmoid", {}),
    ("gelu", {}),
    ("gelu", {"approximate": "tanh"}),
    ("silu", {}),
    ("mish", {}),
    ("leaky_relu", {}),
    ("leaky_relu", {"negative_slope": 0.3}),
    ("elu", {}),
    ("elu", {"alpha": 2.0}),
    ("selu", {}),
    ("softplus", {}),
    ("softplus", {"beta": 2.0, "threshold": 5.0}),
    ("logsigmoid", {}),
    ("glu", {}),
    ("glu", {"dim": 1}),
    ("hardtanh", {}),
    ("hardtanh", {"min_val": 0.5, "max_val": 2.0}),
    ("relu6", {}),
    ("hardsigmoid", {}),
    ("hardswish", {}),
    ("softmax", {"dim": 1}),
    ("softmax", {"dim": -2}),
    ("log_softmax", {"dim": 1}),
    ("normalize", {}),
    ("normalize", {"p": 1.0, "dim": 0}),
    ("pad", {"pad": (1, 2, 0, 1), "value": 3.0}),
    ("pad", {"pad": (-1, 1)}),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name, settings", ACTIVATIONS)
def test_activation(name, settings, dtype):
    same(lambda F: getattr(F, name), [POINTS.astype(dtype)], **settings)


def test_functions_of_two_tensors():
    rng = np.random.default_rng(0)
    x, w, b = (rng.standard_normal(s).astype("float32") for s in ((2, 4, 3), (5, 3), (5,)))
    same(lambda F: F.linear, [x, w, b])
    same(lambda F: F.linear, [x[0], w])
    same(lambda F: F.linear, [x[0, 0], w, b])
    same(lambda F: F.prelu, [x, x[0, :, 0].copy()])
    same(lambda F: F.prelu, [x, b[:1]])
    same(lambda F: F.cosine_similarity, [x, x[::-1].copy()])
    same(lambda F: F.cosine_similarity, [x, x[:1] * 2], dim=-1)


CLASS_SHAPES = [((4,), ()), ((3, 4), (3,)), ((3, 4, 2), (3, 2)), ((2, 4, 3, 2), (2, 3, 2))]


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape, target_shape", CLASS_SHAPES)
def test_losses_of_classes(shape, target_shape, weighted, reduction):
    rng = np.random.default_rng(1)
    x = rng.standard_normal(shape).astype("float32")
    target = rng.integers(0, 4, target_shape).astype("int64")
    weight = np.array([0.5, 1.0, 2.0, 0.25], dtype="float32")

    def loss(name, **settings):
        def build(F):
            w = t_of(F, weight) if weighted else None
            function = getattr(F, name)
            return lambda *args: function(*args, weight=w, reduction=reduction, **settings)

        return build

    probabilities = np.abs(x) / np.abs(x).sum()
    for ignore in (-100, 1):
        same(loss("nll_loss", ignore_index=ignore), [x, target])
        for smoothing in (0.0, 0.3):
            settings = {"ignore_index": ignore, "label_smoothing": smoothing}
            same(loss("cross_entropy", **settings), [x, target])
    same(loss("cross_entropy", label_smoothing=0.2), [x, probabilities])


PAIR_LOSSES = [
    ("mse_loss", {}),
    ("l1_loss", {}),
    ("smooth_l1_loss", {}),
    ("smooth_l1_loss", {"beta": 0.3}),
    ("smooth_l1_loss", {"beta": 0.0}),
    ("huber_loss", {}),
    ("huber_loss", {"delta": 0.5}),
    ("kl_div", {}),
    ("kl_div", {"log_target": True}),
    ("binary_cross_entropy_with_logits", {}),
]


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("name, settings", PAIR_LOSSES)
def test_losses_of_pairs(name, settings, reduction):
    rng = np.random.default_rng(2)
    x = rng.standard_normal((3, 4)).astype("float32")
    y = rng.random((3, 4)).astype("float32")
    y[0, 0] = x[0, 0]
    if name != "binary_cross_entropy_with_logits":
        same(lambda F: getattr(F, name), [x, y[:1]], reduction=reduction, **settings)
    same(lambda F: getattr(F, name), [x, y], reduction=reduction, **settings)
    if name == "kl_div":
        same(lambda F: F.kl_div, [x, y], reduction="batchmean", **settings)
    if name in ("mse_loss", "l1_loss", "huber_loss"):
        same(
            lambda F: (
                lambda a, b, w: getattr(F, name)(a, b, weight=w, reduction=reduction, **settings)
            ),
            [x, y, np.abs(x)],
        )


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_binary_losses(reduction):
    p = np.array([[0.0, 1e-20, 0.25], [0.5, 1.0, 0.0]], dtype="float32")
    t = np.array([[0.0, 1.0, 0.75], [0.5, 1.0, 1.0]], dtype="float32")
    w = np.array([1.0, 2.0, 3.0], dtype="float32")

    def bce(F):
        return lambda p: F.binary_cross_entropy(p, t_of(F, t), reduction=reduction)

    def weighted_bce(F):
        return lambda p: F.binary_cross_entropy(p, t_of(F, t), t_of(F, w), reduction=reduction)

    def with_logits(F):
        settings = {"weight": t_of(F, w), "pos_weight": t_of(F, w), "reduction": reduction}
        return lambda x: F.binary_cross_entropy_with_logits(x, t_of(F, t), **settings)

    same(bce, [p])
    same(weighted_bce, [p])
    same(with_logits, [(p - 0.5) * 300])


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_draws(p):
    x = np.linspace(-1, 1, 64, dtype="float32")
    torch.manual_seed(5)
    ours = F.dropout(torch.tensor(x), p).numpy()
    oracle.manual_seed(5)
    theirs = oracle.nn.functional.dropout(oracle.tensor(x), p).numpy()
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
