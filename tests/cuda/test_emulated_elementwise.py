"""Elementwise kernels on `cuda-emulated`: four elements at a time where arrays allow it, and else
one; the CPU's bits either way.
"""

from __future__ import annotations

import operator

import pytest
from helpers import CUDA as DEVICE
from helpers import compare

import tiny_torch as torch

# name: (inputs, the call)
CALLS = {
    "sqrt": (1, torch.sqrt),
    "relu": (1, torch.relu),
    "isnan": (1, torch.isnan),
    "add": (2, operator.add),
    "add a number": (1, lambda x: x + 3),
    "less": (2, operator.lt),
    "where": (2, lambda x, y: torch.where(x > 0, x, y)),
    "addcmul": (3, torch.addcmul),
    "in place": (2, lambda x, y: x.clone().mul_(y)),
}
LAYOUTS = {
    "whole packs": lambda x: x.flatten()[:64],
    "an odd number": lambda x: x.flatten()[:63],
    "between packs": lambda x: x.flatten()[1:65],
    "behind a pack": lambda x: x.flatten()[4:12],
    "every other": lambda x: x.flatten()[::2][:32],
    "transposed": lambda x: x.t(),
    "one": lambda x: x[0, 0],
    "none": lambda x: x[:0],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int32"])
def test_layouts(name, layout, dtype):
    count, call = CALLS[name]
    bases = torch.randint(-4, 9, (3, 8, 12), generator=torch.Generator().manual_seed(0))
    bases = bases.to(getattr(torch, dtype))[:count]

    def result(device):
        return call(*(LAYOUTS[layout](x) for x in bases.to(device).unbind()))

    compare(result(DEVICE), result("cpu"), f"{name} {layout}", ulps=0)


def test_layouts_that_differ():
    x, y = torch.arange(64.0), torch.arange(65.0).half()
    for other in (y[:64], y[1:], y[:64].flip(0), y[3]):
        compare(x.to(DEVICE) - other.to(DEVICE), x - other, "mixed dtypes", ulps=0)
