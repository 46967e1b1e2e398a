"""Elementwise kernels on `cuda-emulated`: four elements at a time where arrays allow it, and else
one; the CPU's bits either way.
"""

from __future__ import annotations

import math
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
    "one row for all": lambda x: x[:1].expand(8, 12),
    "one column for all": lambda x: x[:, :1].expand(8, 12),
    "rows of packs": lambda x: x[:, 4:],
    "rows of no packs": lambda x: x[:, 1:9],
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


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64])
@pytest.mark.parametrize("shape", [(12,), (8, 1), (1,), (3, 1, 12), (3, 8, 1)])
def test_broadcasts(shape, dtype):
    x, y = torch.arange(3.0 * 8 * 12).reshape(3, 8, 12).to(dtype), torch.ones(shape, dtype=dtype)
    for call in torch.add, torch.lt:
        compare(call(x.to(DEVICE), y.to(DEVICE)), call(x, y), f"{call} {shape}", ulps=0)
    compare(torch.sub(y.to(DEVICE), x.to(DEVICE)), torch.sub(y, x), f"turned {shape}", ulps=0)


# whose products are rounded before they are added: nvcc is not to fuse them (CMakeLists.txt)
PRODUCTS = {
    "addcmul": torch.addcmul,
    "addcdiv": torch.addcdiv,
    "lerp": torch.lerp,
    "remainder": lambda x, y, _: torch.remainder(x, y),
    "add": lambda x, y, _: torch.add(x, y, alpha=0.3),
    "cross": lambda x, y, _: torch.linalg.cross(x, y),
}


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_products_are_rounded(name, dtype):
    x, y, z = torch.randn(3, 100, 3, dtype=dtype, generator=torch.Generator().manual_seed(0))
    call = PRODUCTS[name]
    compare(call(*(i.to(DEVICE) for i in (x, y, z))), call(x, y, z), name, ulps=0)


DTYPES = [
    *("bool", "uint8", "int8", "int16", "int32", "int64"),
    *("float16", "bfloat16", "float32", "float64"),
]


@pytest.mark.parametrize("to", DTYPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_casts(dtype, to):
    """Of each layout: from packs, from a row of them for all, and one by one."""
    x = torch.tensor([[0, 1, 3, 2.5, 100, 0.25, 7, 1]] * 4, dtype=getattr(torch, dtype))
    for layout in (lambda x: x, lambda x: x[:1].expand(4, 8), lambda x: x.t(), lambda x: x[:, 1:]):
        ours, theirs = (layout(i).to(getattr(torch, to)) for i in (x.to(DEVICE), x))
        compare(ours, theirs, f"{dtype} to {to}", ulps=0)
        compare(layout(x.to(DEVICE)).contiguous(), layout(x).contiguous(), dtype, ulps=0)


# Transposed, by tiles: whole ones, with a rest, among other dims, and what is too narrow for them.
@pytest.mark.parametrize(
    ("shape", "order"),
    [
        ((64, 64), (1, 0)), ((33, 70), (1, 0)), ((40, 15), (1, 0)), ((3, 40, 17), (0, 2, 1)),
        ((2, 40, 5, 33), (3, 2, 1, 0)), ((2, 33, 6, 7), (0, 2, 3, 1)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "int64"])
def test_transposed_copies(dtype, shape, order):
    x = torch.arange(math.prod(shape)).reshape(shape).to(getattr(torch, dtype))
    expected = x.permute(order).contiguous()
    compare(x.to(DEVICE).permute(order).contiguous(), expected, dtype, ulps=0)


def test_layouts_that_differ():
    x, y = torch.arange(64.0), torch.arange(65.0).half()
    for other in (y[:64], y[1:], y[:64].flip(0), y[3]):
        compare(x.to(DEVICE) - other.to(DEVICE), x - other, "mixed dtypes", ulps=0)
