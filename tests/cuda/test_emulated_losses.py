"""Norms, losses, histograms and CTC on `cuda-emulated`: the CPU's values and gradients, rounded."""

from __future__ import annotations

import pytest
from helpers import CUDA as DEVICE
from helpers import agreed, compare

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.nn import functional as F
from tiny_torch.tensor import wrap

DOUBLE, HALF = torch.float64, torch.bfloat16
INF = float("inf")


def floats(*shape, dtype=DOUBLE):
    return lambda: torch.randn(shape, dtype=DOUBLE).to(dtype).requires_grad_()


def numbers(*shape, low=0, below=7):
    return lambda: torch.randint(low, below, shape)


def chances(*shape):
    return lambda: torch.rand(shape, dtype=DOUBLE)


def values(*list, **options):
    return lambda: torch.tensor(list, **options)


def channels_last(make):
    return lambda: make().detach().contiguous(memory_format=torch.channels_last).requires_grad_()


def turned(make):
    return lambda: make().detach().transpose(0, 1).requires_grad_()


def module(make, *arguments, **options):
    return lambda: make(*arguments, dtype=DOUBLE, **options)


def option(function, **options):
    return lambda *inputs: function(*inputs, **options)


def call(module, x):
    return module(x)


def both_modes(module, x):
    """In training, which moves running statistics, then with them."""
    return module(x), module.eval()(x), *module.buffers()


def fixed(module, x):
    module(x)
    return module.eval()(x)


def ctc(x, targets):
    return F.ctc_loss(x.log_softmax(2), targets, (9, 8, 9), (4, 0, 3), reduction="none")


def ctc_without_room(x, targets):
    return F.ctc_loss(
        x.log_softmax(2), targets, (2, 9, 0), (4, 2, 0), reduction="none", zero_infinity=True
    )


def binned(exact):
    """Equal bins, of edges that the CPU made."""

    def histogram(x, weight=None):
        edges = torch.linspace(-1, 1.5, 8, dtype=DOUBLE).to(x.device)
        weights = None if weight is None else weight.array
        return wrap(x.detach().array.histogram(edges.array, weights, True, exact))

    return histogram


def binned_by_edges(x, weight=None):
    edges = torch.tensor([-1.0, 0, 0.25, 3], dtype=DOUBLE, device=x.device)
    return torch.histogram(x.detach(), edges, weight=weight)


X, C, W = floats(5, 7), numbers(5), chances(7)
LONG, CHUNKS = floats(2, 2100), floats(1, 4, 47, 48)  # more than a block holds
FAR_APART = floats(2, 40, 19, 20)
WIDE, IMAGES = floats(3, 700), floats(4, 6, 5, 5)
LARGE = (floats(40000), floats(40000))

CASES = {
    "cross_entropy": (F.cross_entropy, X, C),
    "cross_entropy, wide": (F.cross_entropy, WIDE, numbers(3, below=700)),
    "cross_entropy, longer than registers": (F.cross_entropy, LONG, numbers(2, below=2100)),
    "cross_entropy, weights": (option(F.cross_entropy, ignore_index=2), X, C, W),
    "cross_entropy, none": (option(F.cross_entropy, reduction="none"), X, C, W),
    "cross_entropy, smooth": (option(F.cross_entropy, label_smoothing=0.1), X, C),
    "cross_entropy, smooth, weights": (
        *(option(F.cross_entropy, label_smoothing=0.1, ignore_index=2), X, C, W),
    ),
    "cross_entropy, half": (F.cross_entropy, floats(5, 7, dtype=HALF), C),
    "cross_entropy, planes": (F.cross_entropy, floats(2, 7, 3), numbers(2, 3)),
    "cross_entropy, probabilities": (F.cross_entropy, X, chances(5, 7)),
    "cross_entropy, smooth probabilities": (
        *(option(F.cross_entropy, label_smoothing=0.2), X, chances(5, 7), W),
    ),
    "cross_entropy, impossible classes": (
        *(F.cross_entropy, values([1.0, -INF, 2], requires_grad=True), values(2)),
    ),
    "cross_entropy, no lines": (option(F.cross_entropy, reduction="sum"), floats(0, 7), numbers(0)),
    "nll_loss": (F.nll_loss, X, C),
    "nll_loss, many": (F.nll_loss, floats(900, 7), numbers(900), W),
    "nll_loss, weights": (option(F.nll_loss, ignore_index=2), X, C, W),
    "nll_loss, none": (option(F.nll_loss, reduction="none"), X, C, W),
    "nll_loss, sum": (option(F.nll_loss, reduction="sum"), floats(2, 7, 3), numbers(2, 3)),
    "nll_loss, half": (F.nll_loss, floats(5, 7, dtype=HALF), C),
    "batch_norm": (both_modes, module(nn.BatchNorm2d, 6), IMAGES),
    "batch_norm, many": (both_modes, module(nn.BatchNorm2d, 3), floats(5, 3, 12, 12)),
    "batch_norm, chunks": (both_modes, module(nn.BatchNorm2d, 2), floats(2, 2, 50, 45)),
    "batch_norm, channels last": (both_modes, module(nn.BatchNorm2d, 6), channels_last(IMAGES)),
    "batch_norm, channels last, many": (
        *(both_modes, module(nn.BatchNorm2d, 40), channels_last(FAR_APART)),
    ),
    "batch_norm, rows": (both_modes, module(nn.BatchNorm1d, 7), X),
    "batch_norm, turned": (both_modes, module(nn.BatchNorm1d, 5), turned(X)),
    "batch_norm, fixed": (fixed, module(nn.BatchNorm2d, 6), IMAGES),
    "batch_norm, average": (both_modes, module(nn.BatchNorm1d, 7, momentum=None), X),
    "instance_norm": (
        *(both_modes, module(nn.InstanceNorm2d, 6, affine=True, track_running_stats=True)),
        IMAGES,
    ),
    "group_norm": (call, module(nn.GroupNorm, 3, 6), IMAGES),
    "group_norm, chunks": (call, module(nn.GroupNorm, 2, 4), CHUNKS),
    "group_norm, channels last": (call, module(nn.GroupNorm, 3, 6), channels_last(IMAGES)),
    "layer_norm": (call, module(nn.LayerNorm, 7), X),
    "layer_norm, wide": (call, module(nn.LayerNorm, 700), WIDE),
    "layer_norm, many": (call, module(nn.LayerNorm, 7), floats(300, 7)),
    "layer_norm, longer than registers": (call, module(nn.LayerNorm, 2100), LONG),
    "layer_norm, no rows": (call, module(nn.LayerNorm, 7), floats(0, 7)),
    "layer_norm, no bias": (call, module(nn.LayerNorm, (6, 5), bias=False), floats(4, 6, 5)),
    "layer_norm, turned": (call, module(nn.LayerNorm, 5), turned(X)),
    "softmax": (option(F.softmax, dim=1), X),
    "softmax, a block": (option(F.softmax, dim=1), floats(3, 257)),
    "softmax, longer than registers": (option(F.softmax, dim=1), LONG),
    "log_softmax, nine warps": (option(F.log_softmax, dim=1), floats(9, 33)),
    "log_softmax, longer than registers": (option(F.log_softmax, dim=1), LONG),
    "softmax, half": (option(F.softmax, dim=1), floats(5, 300, dtype=HALF)),
    "rms_norm": (call, module(nn.RMSNorm, 7), X),
    "multilabel_margin_loss": (F.multilabel_margin_loss, X, numbers(5, 7, low=-1)),
    "multilabel_margin_loss, wide": (F.multilabel_margin_loss, WIDE, numbers(3, 700, low=-1)),
    "ctc_loss": (ctc, floats(9, 3, 7), numbers(3, 4, low=1)),
    "ctc_loss, together": (ctc, floats(9, 3, 7), numbers(7, low=1)),
    "ctc_loss, without room": (ctc_without_room, floats(9, 3, 7), numbers(3, 4, low=1)),
    "mse_loss": (F.mse_loss, *LARGE),
    "smooth_l1_loss": (option(F.smooth_l1_loss, reduction="sum"), *LARGE),
    "bce_with_logits": (F.binary_cross_entropy_with_logits, LARGE[0], chances(40000)),
    "cross": (torch.linalg.cross, floats(4, 3), floats(4, 3)),
    "cross, broadcast": (option(torch.linalg.cross, dim=0), floats(3, 5, 2), floats(3, 1, 2)),
}
WITHOUT_GRADIENT = {
    "cross, integers": (torch.linalg.cross, numbers(4, 3), numbers(4, 3)),
    "cross, half": (
        torch.linalg.cross,
        lambda: torch.randn(4, 3).to(HALF),
        lambda: torch.randn(4, 3).to(HALF),
    ),
    "bincount": (torch.bincount, numbers(900)),
    "bincount, longer": (option(torch.bincount, minlength=12), numbers(5)),
    "bincount, of many blocks": (torch.bincount, numbers(40000)),
    "bincount, more than a block counts": (option(torch.bincount, minlength=5000), numbers(900)),
    "histogram, of many blocks": (binned(True), floats(40000)),
    "histogram of weights, of many blocks": (binned(True), floats(3000), floats(3000)),
    "histogram": (binned(True), floats(900)),
    "histogram, by width": (binned(False), floats(900)),
    "histogram, weights": (binned(True), floats(900), chances(900)),
    "histogram, edges": (binned_by_edges, floats(900)),
    "histogram, edges, weights": (binned_by_edges, floats(900), chances(900)),
    "histogram, nothing": (binned(True), floats(0)),
}


def results(case, device, with_gradient):
    """What the call answers on a device, and the gradients of its first answer."""
    torch.manual_seed(0)
    function, *makers = case
    inputs = [make() for make in makers]
    grads = torch.randn(100000, dtype=DOUBLE)
    for k, i in enumerate(inputs):
        moved = i.to(device) if isinstance(i, nn.Module) else i.detach().to(device)
        inputs[k] = moved.requires_grad_(isinstance(i, nn.Module) or i.requires_grad)
    answer = function(*inputs)
    answer = tuple(answer) if isinstance(answer, tuple) else (answer,)
    if not with_gradient:
        return answer
    leaves = [p for i in inputs if isinstance(i, nn.Module) for p in i.parameters()]
    leaves += [i for i in inputs if isinstance(i, torch.Tensor) and i.requires_grad]
    first = answer[0]
    grad = grads[: first.numel()].view(first.shape).to(first.dtype).to(device)
    return *answer, *torch.autograd.grad(first, leaves, grad)


def agree(case, with_gradient):
    expected, found = (results(case, device, with_gradient) for device in ("cpu", DEVICE))
    for k, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        compare(ours.detach(), theirs.detach(), f"result {k}", ulps=128)


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name):
    agree(CASES[name], with_gradient=True)


@pytest.mark.parametrize("name", WITHOUT_GRADIENT)
def test_values(name):
    agree(WITHOUT_GRADIENT[name], with_gradient=False)


@pytest.mark.parametrize("scale", [1.0, 1e-25, 1e25])
@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_sums_of_floats_are_as_exact_as_those_of_doubles(offset, scale):
    """A mean far from 0 does not eat the variance; squares may leave the range of floats."""
    torch.manual_seed(0)
    x = ((torch.randn(2, 2, 50, 45, dtype=DOUBLE) + offset) * scale).float()
    found, expected = (
        F.batch_norm(x.to(device, dtype), None, None, training=True, eps=1e-60).cpu()
        for device, dtype in ((DEVICE, torch.float32), ("cpu", DOUBLE))
    )
    assert (found - expected).abs().max() < 2e-6 * (1 + offset)


@pytest.mark.parametrize(
    "loss",
    [
        lambda x: F.cross_entropy(x, torch.tensor([1, 7], device=x.device)),
        lambda x: F.nll_loss(x, torch.tensor([1, -1], device=x.device)),
        lambda x: F.multilabel_margin_loss(x, torch.full((2, 7), 7, device=x.device)),
        lambda x: F.ctc_loss(x[:, None], torch.tensor([[9]], device=x.device), (2,), (1,)),
    ],
)
def test_labels_out_of_range_are_refused(loss):
    with pytest.raises((IndexError, RuntimeError)):
        loss(torch.zeros(2, 7))
    assert agreed(lambda device: loss(torch.zeros(2, 7, device=device))) == ([], [])
