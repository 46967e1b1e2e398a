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
    "cross_entropy": lambda m, x: m.nn.functional.cross_entropy(x, targets(m)),
    "cross_entropy of each": lambda m, x: m.nn.functional.cross_entropy(
        x.view(ROWS, SMALL, -1), m.zeros(ROWS, SIDE // SMALL).long(), reduction="none"
    ),
    "cross_entropy, smooth": lambda m, x: m.nn.functional.cross_entropy(
        x, targets(m), label_smoothing=0.1, weight=m.arange(SIDE).to(x.dtype) / SIDE
    ),
    "cross_entropy of shares": lambda m, x: m.nn.functional.cross_entropy(x, m.softmax(x * 0.5, 1)),
}


def targets(m):
    return m.arange(ROWS) * 5 % SIDE


def operand(m, dtype="float32"):
    values = np.random.default_rng(0).standard_normal((ROWS, SIDE))
    return m.tensor(values).to(getattr(m, dtype)).requires_grad_()


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


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("name", OPS)
def test_the_gradient_is_the_same_and_nothing_else_changes(oracle, name, around):
    results = []
    for m in (tiny_torch, oracle):
        x = operand(m)
        z = x * 2.0
        y = OPS[name](m, z)
        kept = AROUND[around](m, z, y)
        read = [np.array(k.tolist() if hasattr(k, "tolist") else bytes(k)) for k in kept]
        loss = (y * 3.0).sum()
        del z, y
        loss.backward()
        for k, before in zip(kept, read, strict=True):
            after = np.array(k.tolist() if hasattr(k, "tolist") else bytes(k))
            assert (after == before).all()
        results.append(x.grad.numpy())
    np.testing.assert_allclose(*results, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("layout", ["contiguous", "transposed", "expanded"])
@pytest.mark.parametrize("name", OPS)
def test_layouts_and_dtypes(oracle, name, layout, dtype):
    results = []
    for m in (tiny_torch, oracle):
        x = operand(m, dtype)
        z = x * 2
        if layout == "transposed":
            z = z.view(SIDE, ROWS).t()
            if " of each" in name:
                z = z.clone()  # to be viewed
        y = OPS[name](m, z)
        loss = y.sum() if layout == "expanded" else (y * 3.0).sum()
        del z, y
        loss.backward()
        results.append(x.grad.double().numpy())
        results.append(x.grad.stride())
    assert results[1] == results[3]
    tolerance = {"float32": 1e-5, "float64": 1e-12}.get(dtype, 0.03)
    np.testing.assert_allclose(results[0], results[2], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", OPS)
def test_twice_through_a_graph(torch, name):
    x = operand(torch)
    loss = OPS[name](torch, x * 2.0).sum()
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
        x = operand(m)
        z = x * 2.0
        loss = OPS[name](m, z).sum() + (z * z).sum() + OPS[name](m, z).exp().sum()
        del z
        loss.backward()
        results.append(x.grad.numpy())
    np.testing.assert_allclose(*results, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", OPS)
def test_double_backward(oracle, name):
    results = []
    for m in (tiny_torch, oracle):
        x = operand(m, "float64")
        y = OPS[name](m, x * 2.0).mean()
        (g,) = m.autograd.grad(y * y, x, create_graph=True)
        (g * g).sum().backward()
        results.append(x.grad.numpy())
    np.testing.assert_allclose(*results, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("name", [name for name in OPS if "shares" not in name])
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
    assert peak < 0.2 * x.numel() * 4 and x.grad is not None
