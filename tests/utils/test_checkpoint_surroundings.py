"""The second run of a checkpointed call has the random numbers and the autocast of the first."""

from __future__ import annotations

import pytest
from helpers import CUDA

import tiny_torch


def step(torch, device, dtype, **how):
    """Gradients of a model in half precision, and what is drawn after; with `how`, checkpointed."""
    nn = torch.nn
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(8, 8), nn.Dropout(0.5), nn.ReLU(), nn.Linear(8, 8), nn.Dropout(0.3)
    )
    model.to(device)
    x = torch.randn(5, 8).to(device).requires_grad_()
    with torch.autocast(device, dtype):
        y = torch.utils.checkpoint.checkpoint(model, x, **how) if how else model(x)
        drawn = torch.rand(3, device=device)
    assert y.dtype is dtype
    y.float().sum().backward()
    later = torch.rand(3, device=device)
    return [t.cpu() for t in (x.grad, *(p.grad for p in model.parameters()), drawn, later)]


def assert_same_as_plain(torch, device, half, reentrant):
    dtype = getattr(torch, half)
    plain = step(torch, device, dtype)
    again = step(torch, device, dtype, use_reentrant=reentrant)
    assert all(torch.equal(a, b) for a, b in zip(plain, again, strict=True))


@pytest.mark.parametrize("half", ["bfloat16", "float16"])
@pytest.mark.parametrize("reentrant", [False, True])
def test_autocast_and_dropout(torch, half, reentrant):
    assert_same_as_plain(torch, "cpu", half, reentrant)


@pytest.mark.parametrize("reentrant", [False, True])
def test_autocast_and_dropout_on_a_gpu(reentrant):
    assert_same_as_plain(tiny_torch, CUDA, "float16", reentrant)


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_block_around_backward_casts_nothing_of_a_plain_run(torch, reentrant):
    checkpoint = torch.utils.checkpoint.checkpoint
    seen = []

    def product(x):
        y = x @ x
        seen.append((y.dtype, torch.is_autocast_enabled("cpu")))
        return y

    x = torch.ones(2, 2, requires_grad=True)
    y = checkpoint(product, x, use_reentrant=reentrant, early_stop=False)
    with torch.autocast("cpu"):
        y.sum().backward()
        assert torch.is_autocast_enabled("cpu")
    assert seen == [(torch.float32, False)] * 2
