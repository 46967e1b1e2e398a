"""Reductions and scans on `cuda-emulated` of sizes that take several blocks, and of what is not
finite: the op table holds small and finite arrays.
"""

from __future__ import annotations

import pytest
from helpers import CUDA as DEVICE
from helpers import compare

import tiny_torch as torch

INF, NAN = float("inf"), float("nan")


def agree(call, *inputs, ulps=4):
    """The call gives on the device what it gives on the CPU."""
    expected, found = call(*inputs), call(*(x.to(DEVICE) for x in inputs))
    for ours, theirs in zip(tuple_of(found), tuple_of(expected), strict=True):
        compare(ours, theirs, str(call), ulps=ulps)


def tuple_of(answer):
    return (answer,) if isinstance(answer, torch.Tensor) else tuple(answer)


def drawn(*shape, dtype=torch.float64):
    torch.manual_seed(0)
    if not dtype.is_floating_point:
        return torch.randint(-9, 9, shape).to(dtype)
    return torch.randn(shape).to(dtype)


# Longer than a chunk; rows and columns; more outputs than a block; several dims between others.
SHAPES = [
    ((20000,), 0),
    ((3, 9000), 1),
    ((9000, 3), 0),
    ((700, 40), 0),
    ((300, 33), 1),
    ((400, 5), 1),
    ((3, 40, 5, 50), (1, 3)),
]
REDUCTIONS = {
    "sum": torch.sum,
    "mean": torch.mean,
    "prod of signs": lambda x, dim: x.sign().prod(dim if isinstance(dim, int) else dim[0]),
    "amax": torch.amax,
    "any": lambda x, dim: (x > 3).any(dim),
    "logsumexp": torch.logsumexp,
}


@pytest.mark.parametrize(("shape", "dim"), SHAPES)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_of_many_blocks(name, shape, dim):
    agree(lambda x: REDUCTIONS[name](x, dim=dim), drawn(*shape), ulps=64)


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int32, torch.bfloat16])
def test_sums_of_other_dtypes(dtype):
    agree(lambda x: x.sum(0), drawn(5000, 3, dtype=dtype))
    agree(lambda x: x.sum(), drawn(5000, 3, dtype=dtype))


def test_a_sum_has_the_same_bits_each_time():
    x = drawn(30000, dtype=torch.float32).to(DEVICE)
    assert len({x.sum().item() for _ in range(3)}) == 1


@pytest.mark.parametrize("extreme", [torch.max, torch.min])
@pytest.mark.parametrize(("shape", "dim"), [case for case in SHAPES if case[1] in (0, 1)])
def test_the_first_of_equal_extremes(extreme, shape, dim):
    for dtype in torch.uint8, torch.int64, torch.bfloat16, torch.float32:
        agree(lambda x: extreme(x, dim), drawn(*shape, dtype=dtype))


def test_a_nan_is_the_extreme():
    x = drawn(9000)
    x[[40, 4000]] = NAN
    agree(lambda x: (x.argmax(), x.argmin(), x.amax(), x.amin()), x)


@pytest.mark.parametrize(
    "values",
    [(INF, 1), (-INF, 1), (INF, INF), (-INF, -INF), (INF, -INF), (NAN, INF), (-INF, NAN)],
)
def test_logsumexp_of_what_is_not_finite(values):
    x = torch.tensor(values, dtype=torch.float64)
    agree(lambda x: x.logsumexp(0), x)
    agree(lambda x: x.logcumsumexp(0), x)
    agree(lambda x: x.logsumexp(0), torch.cat([x, drawn(9000)]), ulps=16)
    agree(lambda x: x.logcumsumexp(0), torch.cat([x, drawn(300)]), ulps=16)


SCANS = {
    "cumsum": lambda x, dim: x.cumsum(dim),
    "cumprod": lambda x, dim: (x / 4).exp().cumprod(dim),
    "cummax": lambda x, dim: x.cummax(dim),
    "cummin": lambda x, dim: x.cummin(dim),
    "logcumsumexp": lambda x, dim: x.logcumsumexp(dim),
}


# Lines of one chunk and of several, which have chunks in turn; lines side by side, 32 of a block.
@pytest.mark.parametrize(
    ("shape", "dim"),
    [
        ((700,), 0), ((2048,), 0), ((2049,), 0), ((3, 300), 1), ((2, 5000), 1), ((300, 3), 0),
        ((2, 65, 4), 1), ((2, 4200, 33), 1), ((9, 40, 5), 1), ((70, 3), 1), ((300, 12), 1),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", SCANS)
def test_scans_of_several_tiles(name, shape, dim):
    scan = SCANS[name]
    agree(lambda x: scan(x, dim), drawn(*shape), ulps=256)
    agree(lambda x: scan(x.transpose(0, -1), -1 - dim), drawn(*shape), ulps=256)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int64, torch.bfloat16, torch.float16])
def test_scans_of_other_dtypes(dtype):
    agree(lambda x: (*x.cummax(1), *x.cummin(1), x.cumsum(1)), drawn(3, 300, dtype=dtype))


def test_scans_have_the_same_bits_each_time():
    x = drawn(6000, dtype=torch.float32).to(DEVICE)
    assert len({x.cumsum(0).cpu().numpy().tobytes() for _ in range(3)}) == 1


def test_a_scan_of_chunks_of_chunks():
    x = torch.ones((1 << 22) + 3, dtype=torch.uint8)  # more than 2048 chunks of 2048
    assert torch.equal(x.to(DEVICE).cumsum(0).cpu(), torch.arange(1, len(x) + 1))


def test_extremes_so_far_keep_a_nan():
    x = drawn(300)
    x[[40, 200]] = NAN
    agree(lambda x: (*x.cummax(0), *x.cummin(0)), x)


@pytest.mark.parametrize("call", [lambda x: x.cumsum(0), lambda x: x.cumprod(0)])
def test_gradients_of_scans(call):
    def gradient(x):
        leaf = x.detach().requires_grad_()
        call(leaf).square().sum().backward()
        return leaf.grad

    agree(gradient, (drawn(200) / 20).exp(), ulps=256)


# Of one bin; of the most that threads have sums of; of more, which are sorted. Several blocks.
@pytest.mark.parametrize("bins", [1, 7, 96, 97])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("count", [0, 3, 9000])
def test_weights_of_bins(bins, dtype, count):
    x, edges = drawn(count, dtype=dtype), torch.linspace(-2, 2.5, bins + 1, dtype=dtype)

    def histogram(x, edges, weight):
        return torch.histogram(x, edges, weight=weight)

    weight = drawn(count, dtype=dtype).exp()
    agree(histogram, x, edges, weight, ulps=64)
    there = [i.to(DEVICE) for i in (x, edges, weight)]
    assert torch.equal(histogram(*there).hist, histogram(*there).hist)
