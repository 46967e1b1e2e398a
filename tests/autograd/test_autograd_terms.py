"""Gradients that are added where their sum is: the same numbers, fewer buffers."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest

import tiny_torch
from tiny_torch import _core

# Of a weight w (6, 6), an input x (5, 6), ints i (5, 6) below 6 and the package m.
USES = {
    "linear": lambda m, w, x, i: m.nn.functional.linear(x, w),
    "linear of stacks": lambda m, w, x, i: m.nn.functional.linear(x.expand(2, 5, 6), w, w[0]),
    "mm": lambda m, w, x, i: x @ w,
    "mm, transposed": lambda m, w, x, i: x @ w.t() + (w.transpose(0, 1) @ x.T).T + x @ w.mT,
    "mm on the left": lambda m, w, x, i: w @ x.t(),
    "matmul of stacks": lambda m, w, x, i: x.expand(2, 5, 6).transpose(1, 2).transpose(1, 2) @ w,
    "matmul with itself": lambda m, w, x, i: w @ w,
    "mv": lambda m, w, x, i: w @ x[0],
    "addmm": lambda m, w, x, i: m.addmm(x[0], x, w, alpha=2),
    "addmm of it": lambda m, w, x, i: m.addmm(w, w, w, beta=3),
    "slices": lambda m, w, x, i: w[0] * x[0] + w[-1] + w[:, 2] * w[2, 2],
    "steps": lambda m, w, x, i: w[::2] * x[0] + w[1::2],
    "diagonal": lambda m, w, x, i: w.diagonal(1) * x[0, :5],
    "index": lambda m, w, x, i: w[i[0]] * w[i[1], i[2]].sum(),
    "mask": lambda m, w, x, i: w[w > 0] * 2.0,
    "masked_select": lambda m, w, x, i: w.masked_select(w > 0) * 2.0,
    "index_select": lambda m, w, x, i: w.index_select(1, i[0]) * x[0],
    "gather": lambda m, w, x, i: w.gather(0, i) * x,
    "take": lambda m, w, x, i: w.take(i) * x,
    "max": lambda m, w, x, i: w.max(1).values * x[0],
    "sort": lambda m, w, x, i: w.sort(0, descending=True).values * x[0],
    "embedding": lambda m, w, x, i: m.nn.functional.embedding(i, w, padding_idx=1) * x[0],
    "embedding by frequency": lambda m, w, x, i: m.nn.functional.embedding(
        i, w, scale_grad_by_freq=True
    ),
    "many": lambda m, w, x, i: (
        m.nn.functional.embedding(i, w).mean(1) @ w + w[3] @ w.t() + x @ w[i[0]]
    ),
    "outputs of split": lambda m, w, x, i: sum(p[0] * p[1:].sum() for p in w.split(3)),
}


def operands(m, dtype):
    rng = np.random.default_rng(0)
    dtype = getattr(m, dtype)
    w, x = (m.tensor(rng.standard_normal(shape)).to(dtype) for shape in [(6, 6), (5, 6)])
    return w.requires_grad_(), x.requires_grad_(), m.tensor(rng.integers(0, 6, (5, 6)))


def trained(m, use, dtype, prepare=None, **options):
    """The gradients of w and x after two passes, in that order."""
    w, x, i = operands(m, dtype)
    if prepare:
        prepare(m, w)
    for _ in range(2):
        y = USES[use](m, w, x, i)
        (y * y).sum().backward(**options)
    return [g.double().detach().tolist() for g in (w.grad, x.grad) if g is not None]


DTYPES = {"float32": 1e-5, "float64": 1e-12, "bfloat16": 0.05}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("use", USES)
def test_the_sum_is_pytorchs(oracle, use, dtype):
    ours, theirs = trained(tiny_torch, use, dtype), trained(oracle, use, dtype)
    for a, b in zip(ours, theirs, strict=True):
        scale = max(1.0, np.abs(b).max())
        np.testing.assert_allclose(np.array(a) / scale, np.array(b) / scale, atol=DTYPES[dtype])


@pytest.mark.parametrize("use", [use for use in USES if "frequency" not in use])
def test_double_backward_is_as_before(oracle, use):
    """Under create_graph nothing is put off, nor added in place.

    Not of an embedding by frequency, whose scale PyTorch forgets here.
    """
    results = []
    for m in (tiny_torch, oracle):
        w, x, i = operands(m, "float64")
        w.grad = m.ones(6, 6).double()
        y = USES[use](m, w, x, i)
        (g,) = m.autograd.grad((y * y * y).sum(), w, create_graph=True)
        (g * g).sum().backward()
        results.append(w.grad.numpy())
    np.testing.assert_allclose(*results, rtol=1e-9, atol=1e-9)


PREPARED = {
    "a grad of its own": lambda m, w: setattr(w, "grad", m.ones(6, 6)),
    "a transposed grad": lambda m, w: setattr(w, "grad", m.arange(36.0).view(6, 6).t()),
    "an expanded grad": lambda m, w: setattr(w, "grad", m.zeros(1, 6).expand(6, 6).clone()),
    "part of a grad": lambda m, w: setattr(w, "grad", m.ones(12, 12)[::2, :6]),
    "a hook": lambda m, w: w.register_hook(lambda g: g.clamp(-1, 1)),
    "a hook that only looks": lambda m, w: w.register_hook(lambda g: None),
    "a hook afterwards": lambda m, w: w.register_post_accumulate_grad_hook(
        lambda p: p.grad.mul_(2) is None or None
    ),
}


@pytest.mark.parametrize("prepare", PREPARED)
@pytest.mark.parametrize("use", ["linear", "many", "slices", "addmm of it"])
def test_what_stands_there_counts(oracle, use, prepare):
    ours, theirs = (trained(m, use, "float32", PREPARED[prepare]) for m in (tiny_torch, oracle))
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-3)


def test_hooks_see_the_whole_gradient(torch):
    w, x, i = operands(torch, "float64")
    seen = []
    w.register_hook(lambda g: seen.append(g.clone()))
    for _ in range(2):
        USES["many"](torch, w, x, i).sum().backward()
    assert len(seen) == 2 and torch.allclose(seen[0] + seen[1], w.grad)


@pytest.mark.parametrize("use", USES)
def test_grad_keeps_its_identity(torch, use):
    w, x, i = operands(torch, "float32")
    w.grad = held = torch.ones(6, 6)
    place, version = held.data_ptr(), held._version
    USES[use](torch, w, x, i).sum().backward()
    assert w.grad is held and held.data_ptr() == place and held._version > version
    before = held.tolist()
    torch.autograd.grad(USES[use](torch, w, x, i).sum(), (w, x), allow_unused=True)
    assert held.tolist() == before  # which only answers
    USES[use](torch, w, x, i).sum().backward(inputs=[x] if use == "linear" else [w])
    assert (held.tolist() == before) is (use == "linear")


def test_grad_as_an_operand_of_the_product(torch):
    w, _, _ = operands(torch, "float64")
    w.grad = torch.arange(36.0).double().view(6, 6)
    expected = w.grad + w.grad.t() @ torch.ones(6, 6).double()
    (w.grad @ w).backward(torch.ones(6, 6).double())
    assert torch.allclose(w.grad, expected)
    expected = w.grad + torch.ones(6, 6).double().t() @ w.grad
    (torch.ones(6, 6).double() @ w).backward(w.grad)
    assert torch.allclose(w.grad, expected)


def test_a_product_that_saved_a_grad_which_it_then_changes_is_refused(torch):
    w, x, _ = operands(torch, "float64")
    w.grad = torch.ones(6, 6).double()
    y = (x @ w.grad) @ w  # backward of x needs w.grad as it was
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_anomaly_mode_sees_each_gradient(torch):
    w, x, _ = operands(torch, "float32")
    w.grad = torch.zeros(6, 6)
    x.data[0, 0] = float("nan")
    with pytest.raises(RuntimeError, match="nan values"), torch.autograd.detect_anomaly():
        (x @ w).sum().backward()


def test_two_threads_add_to_one_weight(torch):
    w = torch.zeros(256, 256, requires_grad=True)
    x = torch.ones(8, 256)
    w.grad = torch.zeros(256, 256)

    def work():
        for _ in range(30):
            (x @ w).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert w.grad.min().item() == w.grad.max().item() == 2 * 30 * 8


# ------------------------------------------------------------------------------------- memory


def peak_of(function) -> int:
    """How many bytes of array memory it takes beyond what is held before."""
    before = _core.memory_statistics()["allocated"]
    _core.reset_peak_memory()
    function()
    return _core.memory_statistics()["peak_allocated"] - before


SIDE = 512
WHOLE = SIDE * SIDE * 4
REPEATED = {
    "linear": lambda m, w, x: sum(m.nn.functional.linear(x, w).sum() for _ in range(4)),
    "mm": lambda m, w, x: ((x @ w) @ w).sum() + (x @ w).sum(),
    "embedding": lambda m, w, x: sum(
        m.nn.functional.embedding(m.arange(4) + k, w).sum() for k in range(4)
    ),
    "slices": lambda m, w, x: sum(w[k].sum() for k in range(0, SIDE, 64)),
    "narrow": lambda m, w, x: sum(p.sum() for p in [w.narrow(0, k, 8) for k in range(5)]),
    "index_select": lambda m, w, x: sum(w.index_select(0, m.arange(4)).sum() for _ in range(4)),
}


@pytest.mark.parametrize("use", REPEATED)
def test_no_second_buffer(use):
    """One for the weight's gradient, none where there is a .grad."""
    m = tiny_torch
    w = m.ones(SIDE, SIDE, requires_grad=True)
    x = m.ones(4, SIDE)
    room = 0.4  # what products pack
    assert peak_of(REPEATED[use](m, w, x).backward) < (1 + room) * WHOLE
    assert peak_of(REPEATED[use](m, w, x).backward) < room * WHOLE


def test_parts_of_an_activation_share_a_buffer():
    m = tiny_torch
    w = m.ones(SIDE, SIDE, requires_grad=True)
    y = w * 1.0
    loss = sum((y[k] * 2.0).sum() for k in range(0, SIDE, 16))
    assert peak_of(loss.backward) < 2.1 * WHOLE  # of y, and of w


def test_a_product_with_a_transposed_weight_is_laid_out_for_the_weight():
    m = tiny_torch
    w = m.ones(SIDE, SIDE, requires_grad=True)
    loss = (m.ones(4, SIDE) @ w.t()).sum()
    assert peak_of(loss.backward) < 1.4 * WHOLE  # no copy
    assert w.grad.is_contiguous()


def test_a_residual_adds_in_place():
    """x + f(x): two gradients of x, of which the first is added to."""
    m = tiny_torch
    w = m.ones(SIDE, SIDE, requires_grad=True)
    y = w * 1.0
    for _ in range(8):
        y = y + y.sin()
    loss = y.sum()
    held = [_core.memory_statistics()["allocated"]]
    w.register_hook(lambda g: held.append(_core.memory_statistics()["allocated"]))
    assert peak_of(loss.backward) < 3.1 * WHOLE
    assert held[0] - held[1] > 6.9 * WHOLE  # 8 saved, and the gradient


def test_training_frees_activations_as_backward_goes():
    m = tiny_torch
    layers = [layer for _ in range(20) for layer in (m.nn.Linear(64, 64), m.nn.ReLU())]
    model = m.nn.Sequential(*layers)
    x = m.randn(8192, 64)
    held = []
    for layer in model[::2]:
        layer.bias.register_hook(lambda g: held.append(_core.memory_statistics()["allocated"]))
    loss = model(x).sum()
    buffer = x.numel() * 4
    assert peak_of(loss.backward) < 2.2 * buffer
    falls = [a - b for a, b in itertools.pairwise(held)]
    assert min(falls) > 0.9 * buffer  # each layer lets go of its own


def test_a_grad_over_the_memory_of_an_input_is_seen():
    memory = np.arange(16, dtype=np.float32).reshape(4, 4)
    expected = memory + memory.T @ np.ones((4, 4), np.float32)
    x, w = tiny_torch.from_numpy(memory), tiny_torch.ones(4, 4, requires_grad=True)
    w.grad = tiny_torch.from_numpy(memory)  # two storages, one memory
    (x @ w).backward(tiny_torch.ones(4, 4))
    np.testing.assert_array_equal(w.grad.numpy(), expected)
