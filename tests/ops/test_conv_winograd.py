"""Convolutions of 3 x 3 taps by Winograd's minimal filtering: next to float64, and bit by bit."""

from __future__ import annotations

import pytest

import tiny_torch
from tiny_torch.nn.functional import conv2d, conv_transpose2d

# Channels of x and y, batch, size of an image, padding: tiles are whole, or reach outside.
SHAPES = [
    (16, 16, 4, (16, 16), 1),
    (64, 48, 3, (17, 14), 0),
    (24, 37, 8, (11, 9), 2),
    (19, 80, 2, (33, 5), (1, 0)),
    (300, 33, 2, (20, 20), 1),
    (32, 16, 16, (4, 4), 1),
    (130, 140, 1, (40, 23), 1),
]
LAYOUTS = ("plain", "last", "strided", "turned")


def laid_out(x, layout):
    if layout == "last":
        return x.contiguous(memory_format=tiny_torch.channels_last)
    if layout == "strided":
        return tiny_torch.stack([x, x], -1)[..., 0]
    if layout == "turned":
        return x.transpose(2, 3).contiguous().transpose(2, 3)
    return x.clone(memory_format=tiny_torch.contiguous_format)


def draw(shape):
    """x, w, a bias, and the gradient of y."""
    channels, rows, batch, size, padding = shape
    tiny_torch.manual_seed(0)
    x, w = tiny_torch.randn(batch, channels, *size), tiny_torch.randn(rows, channels, 3, 3)
    y = conv2d(x, w, padding=padding)
    return x, w, tiny_torch.randn(rows), tiny_torch.randn(*y.shape)


def results(x, w, bias, grad, padding, layout="plain"):
    """y, and the gradients of x and w."""
    x, w, grad = (laid_out(a, layout) for a in (x, w, grad))
    x.requires_grad_()
    w.requires_grad_()
    y = conv2d(x, w, bias, padding=padding)
    return [y.detach(), *tiny_torch.autograd.grad(y, (x, w), grad)]


def bits(tensors):
    return [t.contiguous().numpy().tobytes() for t in tensors]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_error_is_that_of_a_sum(shape, layout):
    x, w, bias, grad = draw(shape)
    wide = [a.double() for a in (x, w, bias, grad)]
    exact = results(*wide, shape[-1])
    sizes = results(*(a.abs() for a in wide), shape[-1])
    for name, a, b, size in zip(
        "yxw", results(x, w, bias, grad, shape[-1], layout), exact, sizes, strict=True
    ):
        error = ((a.double() - b).abs() / size).max().item()
        assert error < 1e-6, (name, error)


@pytest.mark.parametrize("shape", SHAPES)
def test_bits_depend_on_no_layout_and_no_threads(shape):
    arrays, threads, seen = draw(shape), tiny_torch.get_num_threads(), set()
    try:
        for number in (1, 2, 3):
            tiny_torch.set_num_threads(number)
            for layout in LAYOUTS:
                seen.add(tuple(bits(results(*arrays, shape[-1], layout))))
    finally:
        tiny_torch.set_num_threads(threads)
    assert len(seen) == 1


def test_an_image_does_not_see_its_batch():
    x, w, bias, grad = draw((64, 48, 4, (16, 16), 1))
    y, of_x, _ = results(x, w, bias, grad, 1)
    first = results(x[:1], w, bias, grad[:1], 1)
    assert bits([y[:1], of_x[:1]]) == bits(first[:2])


@pytest.mark.parametrize("number", [float("inf"), -float("inf"), float("nan")])
@pytest.mark.parametrize("where", ["x", "w", "grad"])
@pytest.mark.parametrize("layout", ["plain", "last"])
def test_numbers_that_are_not_finite_stay_where_they_are(number, where, layout):
    x, w, bias, grad = draw((25, 24, 4, (11, 14), 1))
    for at in {"x": x, "w": w, "grad": grad}[where], bias:
        at.view(-1)[at.numel() // 2] = number if at is not bias else 1.0
    made = results(x, w, bias, grad, 1, layout)
    exact = results(x.double(), w.double(), bias.double(), grad.double(), 1)
    for a, b in zip(made, exact, strict=True):
        tiny_torch.testing.assert_close(a, b.float(), equal_nan=True, rtol=1e-4, atol=1e-4)


def test_what_overflows_in_transforms_alone_is_finite():
    large = tiny_torch.tensor([3e38, 1.0, -3e38])
    x, w, bias, grad = (a * 1e-3 for a in draw((25, 24, 4, (11, 14), 1)))
    for number, rows in enumerate((x[1, 2, 4:7, 4:7], grad[1, 2, 4:7, 4:7], w[1, 2])):
        kept = rows.clone()
        rows.copy_(large.expand(3, 3))
        made = results(x, w, bias, grad, 1)
        exact = results(x.double(), w.double(), bias.double(), grad.double(), 1)
        rows.copy_(kept)
        for of, a, b in zip("yxw", made, exact, strict=True):
            assert a.isfinite().all(), (number, of)
            tiny_torch.testing.assert_close(a, b.float(), rtol=1e-4, atol=1e-4)


def test_integers_stay_exact():
    x, w, bias, grad = (a.mul(2).round() for a in draw((64, 48, 4, (17, 14), 1)))
    made = results(x, w, bias, grad, 1)
    exact = results(x.double(), w.double(), bias.double(), grad.double(), 1)
    assert all(a.double().equal(b) for a, b in zip(made, exact, strict=True))


def test_backends_nnpack_turns_it_off():
    x, w, bias, grad = draw((32, 32, 4, (16, 16), 1))
    fast = results(x, w, bias, grad, 1)
    with tiny_torch.backends.nnpack.flags(enabled=False):
        direct = results(x, w, bias, grad, 1)
        assert tiny_torch.backends.nnpack.set_flags(False) == (False,)
    assert tiny_torch.backends.nnpack.set_flags(True) == (True,)
    for a, b, c in zip(fast, direct, results(x, w, bias, grad, 1), strict=True):
        assert a.equal(c)
        assert not a.equal(b)


def test_transposed():
    x, w, _, _ = draw((32, 40, 4, (16, 15), 1))
    y = conv_transpose2d(x, w.transpose(0, 1), padding=1)
    exact = conv_transpose2d(x.double(), w.transpose(0, 1).double(), padding=1)
    tiny_torch.testing.assert_close(y, exact.float(), rtol=1e-4, atol=1e-4)
