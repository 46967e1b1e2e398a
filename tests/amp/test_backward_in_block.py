"""Backward within an autocast block: what it casts, and what it writes over."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.nn import functional as F

pytestmark = pytest.mark.torch


def test_functions_of_users_alone_are_cast(oracle):
    def seen(module):
        class Product(module.autograd.Function):
            @staticmethod
            def forward(ctx, a, b):
                ctx.save_for_backward(a, b)
                return a @ b

            @staticmethod
            def backward(ctx, grad):
                a, b = ctx.saved_tensors
                return (grad @ b.t()).float(), a.t().float() @ grad.float()

        a, b = (module.linspace(0, 1, 6).reshape(n, 6 // n).requires_grad_() for n in (2, 3))
        with module.autocast("cpu"):
            y = Product.apply(a, b)
            y.float().square().sum().backward()
        return str((y.dtype, a.grad, b.grad))

    assert seen(torch).replace("tiny_torch", "torch") == seen(oracle)


@pytest.mark.parametrize("within", [False, True])
def test_the_gradient_of_logits_takes_their_memory(within):
    logits = torch.randn(256, 4096, dtype=torch.bfloat16, requires_grad=True) * 1  # 2 MiB
    with torch.autocast("cpu"):
        loss = F.cross_entropy(logits, torch.zeros(256, dtype=torch.int64))
    edge = torch.autograd.graph.get_gradient_edge(logits)
    del logits
    before = _core.memory_statistics()["allocated"]
    _core.reset_peak_memory()
    with torch.autocast("cpu") if within else nullcontext():
        torch.autograd.grad(loss, edge)
    assert _core.memory_statistics()["peak_allocated"] - before < 1 << 20
