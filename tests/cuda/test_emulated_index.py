"""The device `cuda-emulated`: what indexes, sorts, searches and finds again does as on the CPU.

index_cases.py has the expressions of indexing, which here meet tensors of either device. Then there
are arrays that take several blocks, and several tiles of a sort.
"""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from cases.index_cases import READS, SHAPES, WRITES, cases, tensors
from helpers import CUDA as DEVICE
from helpers import agreed, compare

import tiny_torch as torch

HALVES = ["float16", "bfloat16"]
INTEGERS = ["uint8", "int8", "int16", "int32", "int64"]
NUMBERS = [*INTEGERS, *HALVES, "float32", "float64"]
EVERY_DTYPE = pytest.mark.parametrize("dtype", ["bool", *NUMBERS])


def same(call, where, ulps=0):
    """call(device) gives on the device what it gives on the CPU, or raises what it raises."""

    def result(device):
        with torch.device(device):
            return call(device)

    for ours, theirs in zip(*agreed(result), strict=True):
        compare(ours, theirs, where, ulps=ulps)


def tensors_on(device, layout, dtype="float32"):
    names = tensors(torch, layout, dtype)
    return {
        k: v.to(device, copy=True) if isinstance(v, torch.Tensor) else v for k, v in names.items()
    }


@pytest.mark.parametrize("layout", ["contiguous", "permuted"])
@pytest.mark.parametrize("case", cases(READS))
def test_read(case, layout):
    same(lambda device: eval(case, tensors_on(device, layout)), case)


@pytest.mark.parametrize("layout", ["contiguous", "permuted"])
@pytest.mark.parametrize("case", cases(WRITES))
def test_write(case, layout):
    def written(device):
        names = tensors_on(device, layout)
        exec(case, names)
        return [names[name] for name in (*SHAPES, "n", "u")]

    same(written, case)


@pytest.mark.parametrize("layout", ["contiguous", "permuted"])
@pytest.mark.parametrize("case", [*cases(READS), *cases(WRITES)])
def test_gradients(case, layout):
    def gradients(device):
        names = tensors_on(device, layout, "float64")
        leaves = [names[name].requires_grad_() for name in SHAPES]
        names.update({name: x * 1 for name, x in zip(SHAPES, leaves, strict=True)})
        if case in cases(READS):
            found = eval(case, names)
            results = found if isinstance(found, tuple) else (found,)
        else:
            exec(case, names)
            results = [names[name] for name in SHAPES]
        results = [r for r in results if getattr(r, "requires_grad", False)]
        weights = [torch.arange(1.0, r.numel() + 1).to(r.dtype).view(r.shape) for r in results]
        return torch.autograd.grad(results, leaves, weights, allow_unused=True)

    same(gradients, case, ulps=16)  # of sums


# ---- arrays of several blocks and tiles ---------------------------------------------------------
def drawn(dtype, *shape, below=50, seed=0):
    """Whole numbers, so that many are equal and sums are exact; of floats also -0 and NaN."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0 if dtype in ("bool", "uint8") else -below, below, shape).astype("float64")
    if dtype in (*HALVES, "float32", "float64"):
        x[rng.random(shape) < 0.02] = np.nan
        x[rng.random(shape) < 0.02] = -0.0
        x[rng.random(shape) < 0.02] = -np.inf
    return torch.from_numpy(x).to(getattr(torch, dtype))


SORTS = {
    "sort": lambda x: x.sort(),
    "sort, descending": lambda x: x.sort(descending=True),
    "sort of columns": lambda x: x.sort(0),
    "topk": lambda x: x.topk(300),
    "topk, smallest": lambda x: x.topk(7, largest=False),
    "kthvalue": lambda x: x.kthvalue(333),
    "median": lambda x: x.median(1),
    "nanmedian": lambda x: x.nanmedian(1),
    "mode": lambda x: x.mode(1),
    "unique": lambda x: x.unique(return_inverse=True, return_counts=True),
    "unique rows": lambda x: x[:, :1].unique(dim=0, return_inverse=True, return_counts=True),
    "unique, consecutive": lambda x: x.sort()[0].unique_consecutive(return_inverse=True),
    "isin": lambda x: torch.isin(x, x[0, :300] + 3),
}


@pytest.mark.parametrize("name", SORTS)
@EVERY_DTYPE
def test_sorting(name, dtype):
    x = drawn(dtype, 3, 700)
    same(lambda device: SORTS[name](x.to(device)), name)


@pytest.mark.parametrize("size", [1, 2, 255, 256, 257, 511, 513, 1024, 1500])
def test_sizes_around_a_tile(size):
    x = drawn("float32", 2, size)
    same(lambda device: x.to(device).sort(), f"sort of {size}")
    same(lambda device: x.to(device).unique(return_counts=True), f"unique of {size}")


@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_rows_of_several_elements(dtype):
    x = drawn(dtype, 300, 3, below=3)
    for consecutive in False, True:
        call = torch.unique_consecutive if consecutive else torch.unique
        same(
            lambda device, call=call: call(
                x.to(device), dim=0, return_inverse=True, return_counts=True
            ),
            "rows",
        )


@EVERY_DTYPE
def test_masks_of_several_blocks(dtype):
    x = drawn(dtype, 3, 5000)
    mask = drawn("bool", 3, 5000, below=2, seed=1)
    same(lambda device: x.to(device)[mask.to(device)], "pick")
    same(lambda device: mask.to(device).nonzero(), "positions")
    same(lambda device: x.to(device).masked_scatter(mask.to(device), x.to(device)), "place")


PLACES = {
    "sum": lambda x, i, y: x.scatter_reduce(1, i, y, "sum"),
    "prod": lambda x, i, y: x.scatter_reduce(1, i, y, "prod"),
    "amax": lambda x, i, y: x.scatter_reduce(1, i, y, "amax"),
    "amin": lambda x, i, y: x.scatter_reduce(1, i, y, "amin"),
    "set": lambda x, i, y: x.scatter(1, i, y),
    "columns": lambda x, i, y: x.index_add(0, i[0] % 3, y.t()[:, :40].contiguous()),
    "index_put": lambda x, i, y: x.index_put((i[:2] % 3, i[1:]), y[:2], accumulate=True),
}


@pytest.mark.parametrize("name", PLACES)
@EVERY_DTYPE
def test_elements_that_are_written_often(name, dtype):
    x, y = drawn(dtype, 3, 40), drawn(dtype, 3, 600, seed=1)
    i = torch.from_numpy(np.random.default_rng(2).integers(0, 40, (3, 600)))
    same(lambda device: PLACES[name](*(t.to(device) for t in (x, i, y))), name)


BLOCKING = """
import tiny_torch as torch
from tiny_torch.nn import functional as F
x, i = torch.ones(3, 4), torch.tensor([[0, 1], [2, 7]])
for call in (
    lambda x, i: x.gather(0, i), lambda x, i: x.index_select(1, i[1]), lambda x, i: x[i],
    lambda x, i: x[i[0], i[1]], lambda x, i: x.clone().scatter_(0, i, 1.0),
    lambda x, i: F.embedding(i, x), lambda x, i: F.embedding_bag(i, x),
    lambda x, i: F.nll_loss(x[:2], i[1]), lambda x, i: F.ctc_loss(x[:, None], i[1:], (3,), (2,)),
):
    errors = []
    for device in ("cpu", DEVICE):
        try:
            call(x.to(device), i.to(device))
        except Exception as error:
            errors.append(repr(error))
    assert len(errors) == 2 and errors[0] == errors[1], errors
"""


def test_the_call_tells_of_it_where_launches_block():
    program = BLOCKING.replace("DEVICE", repr(DEVICE))
    environment = {**os.environ, "CUDA_LAUNCH_BLOCKING": "1"}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)


def test_a_position_outside_is_told():
    x, i = torch.zeros(3, 4), torch.tensor([[0, 1], [2, 7]])
    same(lambda device: x.to(device).gather(0, i.to(device)), "gather")
    same(lambda device: x.to(device).index_select(1, i[1].to(device)), "index_select")
    same(lambda device: x.to(device)[i.to(device)], "brackets")


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("dtype", NUMBERS)
def test_searchsorted(dtype, right):
    boundaries, values = drawn(dtype, 3, 300).sort()[0], drawn(dtype, 3, 500, seed=1)
    same(
        lambda device: torch.searchsorted(
            boundaries.to(device), values.to(device), right=right, out_int32=right
        ),
        "searchsorted",
    )


@pytest.mark.parametrize("dtype", NUMBERS)
def test_ranges(dtype):
    options = {"dtype": getattr(torch, dtype)}
    of_powers = 8 if dtype == "float64" else 0  # ulps: of an exponent that may be rounded once
    same(lambda device: torch.arange(-3, 97, 2, **options), "arange")
    same(lambda device: torch.arange(0, 10, 0.3, **options), "arange of floats")
    for count in 0, 1, 2, 7, 300:
        same(lambda device, n=count: torch.linspace(-3, 90, n, **options), "linspace")
        same(lambda device, n=count: torch.logspace(0, 2, n, **options), "logspace", of_powers)


@EVERY_DTYPE
def test_arrangements(dtype):
    x = drawn(dtype, 20, 30)
    counts = torch.from_numpy(np.random.default_rng(0).integers(0, 4, 600))
    same(lambda device: torch.cat([x.to(device)[:, k : k + 1] for k in range(20)], 1), "cat")
    same(lambda device: x.to(device).flip(0, 1), "flip")
    same(lambda device: (x.to(device).tril(2), x.to(device).triu(-3)), "triangles")
    same(lambda device: x.to(device).flatten().repeat_interleave(counts.to(device)), "repeated")
