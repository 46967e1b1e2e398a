"""Backward that writes a gradient over what only its node has: only the memory tells."""

from __future__ import annotations

import numpy as np
import pytest

import tiny_torch
from tiny_torch import _core

ROWS, SIDE = 64, 512  # large enough for backward to care
SMALL = 16

# y of x (ROWS, SIDE), in the package m: ops that write over what they have saved.
OPS = {
    "relu": lambda m, x: m.relu(x),
    "relu_": lambda m, x: (x + 0.0).relu_(),
    "tanh": lambda m, x: m.tanh(x),
    "sigmoid": lambda m, x: m.sigmoid(x),
    "gelu": lambda m, x: m.nn.functional.gelu(x),
    "gelu by tanh": lambda m, x: m.nn.functional.gelu(x, approximate="tanh"),
    "silu": lambda m, x: m.nn.functional.silu(x),
    "mish": lambda m, x: m.nn.functional.mish(x),
    "elu": lambda m, x: m.nn.functional.elu(x, 0.7),
    "leaky_relu": lambda m, x: m.nn.functional.leaky_relu(x, 0.2),
    "leaky_relu_": lambda m, x: m.nn.functional.leaky_relu_(x + 0.0, 0.2),
    "relu6": lambda m, x: m.nn.functional.relu6(x),
    "hardtanh_": lambda m, x: m.nn.functional.hardtanh_(x + 0.0),
    "hardswish": lambda m, x: m.nn.functional.hardswish(x),
    "mul by a constant": lambda m, x: x * (m.ones(ROWS, SIDE).to(x.dtype) + 0.5),
    "mul from a constant": lambda m, x: (m.ones(ROWS, SIDE).to(x.dtype) + 0.5) * x,
    "mul": lambda m, x: (x + 1.0) * (x - 1.0),
    "mul by a row": lambda m, x: (x + 1.0) * x[0],
    "mul_": lambda m, x: (x + 1.0).mul_(x),
    "square": lambda m, x: x * x,
    "softmax": lambda m, x: m.softmax(x, 1),
    "softmax of columns": lambda m, x: m.softmax(x, 0),
    "log_softmax": lambda m, x: m.log_softmax(x, 1),
    "layer_norm": lambda m, x: m.nn.functional.layer_norm(x, (SIDE,), *scale(m, x, SIDE)),
    "rms_norm": lambda m, x: m.nn.functional.rms_norm(x, (SIDE,)),
    "batch_norm of rows": lambda m, x: m.nn.functional.batch_norm(x, None, None, training=True),
    "batch_norm": lambda m, x: m.nn.functional.batch_norm(
        images(x), None, None, *scale(m, x, 8), training=True
    ),
    "batch_norm of small images": lambda m, x: m.nn.functional.batch_norm(
        x.reshape(16, 128, 4, 4), None, None, *scale(m, x, 128), training=True
    ),
    "batch_norm, channels last": lambda m, x: m.nn.functional.batch_norm(
        x.reshape(4, 32, 32, 8).permute(0, 3, 1, 2), None, None, *scale(m, x, 8), training=True
    ),
    "batch_norm, fixed": lambda m, x: m.nn.functional.batch_norm(
        images(x), *(m.ones(8).to(x.dtype) * k for k in (0.1, 2.0))
    ),
    "group_norm": lambda m, x: m.nn.functional.group_norm(images(x), 4, *scale(m, x, 8)),
    "instance_norm": lambda m, x: m.nn.functional.instance_norm(images(x)),
    "cross_entropy": lambda m, x: m.nn.functional.cross_entropy(x, targets(m)),
    "cross_entropy of each": lambda m, x: m.nn.functional.cross_entropy(
        x.view(ROWS, SMALL, -1), m.zeros(ROWS, SIDE // SMALL).long(), reduction="none"
    ),
    "cross_entropy, smooth": lambda m, x: m.nn.functional.cross_entropy(
        x, targets(m), label_smoothing=0.1, weight=m.arange(SIDE).to(x.dtype) / SIDE
    ),
    "cross_entropy of shares": lambda m, x: m.nn.functional.cross_entropy(x, m.softmax(x * 0.5, 1)),
}


def images(x):
    return x.reshape(4, 8, 32, 32)


def scale(m, x, size):
    """A weight and a bias."""
    return [m.arange(size).to(x.dtype) / size + k for k in (1.0, 0.5)]


def targets(m):
    return m.arange(ROWS) * 5 % SIDE


def operand(m, dtype="float32"):
    values = np.random.default_rng(0).standard_normal((ROWS, SIDE))
    return m.tensor(values).to(getattr(m, dtype)).requires_grad_()


TWO = ("mul", "mul by a row", "mul_", "square")  # gradients: not without a buffer


def weighted(m, y):
    """A sum whose gradient for y differs from place to place."""
    return (y * (m.arange(y.numel()).view(y.shape) % 7).to(y.dtype)).sum()


# What else has to do with z, which the op reads, or y, which it answers.
AROUND = {
    "nobody": lambda m, z, y: [],
    "z is kept": lambda m, z, y: [z],
    "y is kept": lambda m, z, y: [y],
    "views are kept": lambda m, z, y: [z[0], y.reshape(-1)[0]],
    "detached": lambda m, z, y: [z.detach(), y.detach()],
    "data": lambda m, z, y: [z.data, y.data],
    "NumPy": lambda m, z, y: [z.detach().numpy(), y.detach().numpy()],
    "storages": lambda m, z, y: [z.untyped_storage(), y.untyped_storage()],
}


def contents(kept):
    """A copy of a tensor's or an array's elements, or of a storage's first bytes."""
    if isinstance(kept, np.ndarray):
        return kept.copy()
    if hasattr(kept, "detach"):
        return kept.detach().numpy().copy()
    return [kept[i] for i in range(min(64, len(kept)))]


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("name", OPS)
def test_the_gradient_is_the_same_and_nothing_else_changes(oracle, name, around):
    results = []
    for m in (tiny_torch, oracle):
        x = operand(m)
        z = x * 2.0
        y = OPS[name](m, z)
        kept = AROUND[around](m, z, y)
        before = [contents(k) for k in kept]
        loss = weighted(m, y)
        del z, y
        loss.backward()
        for k, expected in zip(kept, before, strict=True):
            np.testing.assert_array_equal(contents(k), expected)
        results.append(x.grad.numpy())
    np.testing.assert_allclose(*results, rtol=1e-4, atol=5e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("layout", ["contiguous", "transposed", "a gradient that is expanded"])
@pytest.mark.parametrize("name", OPS)
def test_no_bit_nor_stride_changes(name, layout, dtype):
    results = []
    for keep in (False, True):
        m = tiny_torch
        x = operand(m, dtype)
        z = x * 2
        if layout == "transposed":
            z = (x.view(SIDE, ROWS) * 2).t()
            z = z.clone() if " of each" in name else z  # to be viewed
        y = OPS[name](m, z)
        loss = y.sum() if "expanded" in layout else weighted(m, y)
        kept = (z, y) if keep else ()
        del z, y
        loss.backward()
        results.append((x.grad.double().numpy(), x.grad.stride()))
        del kept
    (ours, strides), (expected, expected_strides) = results
    np.testing.assert_array_equal(ours, expected)
    assert strides == expected_strides


@pytest.mark.parametrize("name", OPS)
def test_twice_through_a_graph(torch, name):
    x = operand(torch)
    loss = weighted(torch, OPS[name](torch, x * 2.0))
    loss.backward(retain_graph=True)
    first = x.grad.clone()
    loss.backward()
    assert torch.allclose(x.grad, first + first)
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


@pytest.mark.parametrize("name", OPS)
def test_two_readers(oracle, name):
    """What another node has saved, too, is left alone, whichever runs first."""
    results = []
    for m in (tiny_torch, oracle):
        x = operand(m, "float64")
        z = x * 2.0
        loss = weighted(m, OPS[name](m, z)) + (z * z).sum() + OPS[name](m, z).exp().mean()
        del z
        loss.backward()
        results.append(x.grad.numpy())
    np.testing.assert_allclose(*results, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", OPS)
def test_double_backward(oracle, name):
    results = []
    for m in (tiny_torch, oracle):
        x = operand(m, "float64")
        y = weighted(m, OPS[name](m, x * 2.0)) / x.numel()
        (g,) = m.autograd.grad(y * y, x, create_graph=True)
        (g * g).sum().backward()
        results.append(x.grad.numpy())
    np.testing.assert_allclose(*results, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("name", [n for n in OPS if "shares" not in n and n not in TWO])
def test_no_buffer_beside_what_was_saved(name):
    m = tiny_torch
    x = operand(m)
    y = OPS[name](m, x + 0.0)
    y = y + 0.0
    upstream = m.ones_like(y)
    before = _core.memory_statistics()["allocated"]
    _core.reset_peak_memory()
    y.backward(upstream)
    peak = _core.memory_statistics()["peak_allocated"] - before
    assert peak < 0.7 * x.numel() * 4 and x.grad is not None


def test_numpys_memory_is_left_alone(torch):
    array = np.ones((ROWS, SIDE), "float32")
    x = operand(torch)
    z = x + 0.0
    z.data = torch.from_numpy(array)
    loss = weighted(torch, torch.nn.functional.gelu(z))
    del z
    loss.backward()
    assert (array == 1).all() and x.grad is not None
