"""Losses next to PyTorch's: values, gradients, extremes, arguments."""

from __future__ import annotations

import pytest

import tiny_torch
from tiny_torch.nn import functional as F

# ---- sums without a temporary --------------------------------------------------------------------

PAIRS = {
    "mse_loss": {}, "l1_loss": {}, "smooth_l1_loss": {"beta": 0.3}, "huber_loss": {"delta": 0.3},
    "binary_cross_entropy": {}, "binary_cross_entropy_with_logits": {},
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", PAIRS)
def test_totals_are_those_of_the_elements(name, dtype):
    """Bit for bit, whatever the layout and the number of threads."""
    tiny_torch.manual_seed(0)
    before = tiny_torch.get_num_threads()
    for shape in ((5,), (16384,), (16385,), (100, 1031)):
        x, y = (tiny_torch.rand(shape, dtype=getattr(tiny_torch, dtype)) for _ in range(2))
        loss = getattr(F, name)(x, y, reduction="none", **PAIRS[name])
        apart = x.unsqueeze(-1).expand(*shape, 2).contiguous()[..., 0]  # not contiguous
        for threads in (1, 2):
            tiny_torch.set_num_threads(threads)
            for a in (x, apart):
                for reduction in ("sum", "mean"):
                    total = getattr(F, name)(a, y, reduction=reduction, **PAIRS[name])
                    assert total.item() == getattr(loss, reduction)().item()
    tiny_torch.set_num_threads(before)
