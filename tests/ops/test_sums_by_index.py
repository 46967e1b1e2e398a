"""What adds up by an index: a thousand ones are a thousand, in every dtype.

A half holds whole numbers up to 256 (bfloat16) or 2048 (float16) only, so a sum that is rounded
after every addition stops there. PyTorch's does, for some of these.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers import CUDA

import tiny_torch as torch
import tiny_torch.nn.functional as F

N = 3000
HALVES = (torch.bfloat16, torch.float16)
P = 1 + 2**-7


def zeros_index():
    return torch.zeros(N, dtype=torch.int64)


# Expressions over `one(*shape)`, `zero(*shape)` and `index`, N zeros. Every element is the answer.
SUMS = [
    "zero(1).scatter_add(0, index, one(N))",
    "zero(1, 4).scatter_add(0, index[:, None].expand(N, 4), one(N, 4))",
    "zero(40, 1).scatter_add(1, index.expand(40, N), one(40, N))",
    "zero(1, 2).t().scatter_add_(1, index.expand(2, N), one(2, N))",
    "zero(2, 4)[:, ::3].t().scatter_add_(1, index.expand(2, N), one(2, N))[:, 0]",
    "zero(1).scatter(0, index, one(N), reduce='add')",
    "zero(1).scatter_reduce(0, index, one(N), 'sum')",
    "one(1).scatter_reduce(0, index, one(N), 'sum', include_self=False)",
    "zero(1).index_add(0, index, one(N))",
    "zero(1, 70).index_add(0, index, one(N, 70))",
    "zero(2, 1, 3).index_add(1, index, one(2, N, 3))",
    "zero(4, 3).index_add(0, index + 2, one(N, 3))[2]",
    "zero(10**6).index_add(0, index + 9, one(N))[9]",
    "zero(1, 5).index_add(0, index, one(N, 5), alpha=2) / 2",
    "zero(1).put(index, one(N), accumulate=True)",
    "zero(1).index_put((index,), one(N), accumulate=True)",
    "zero(1, 2, 3).index_put((index, index), one(N, 3), accumulate=True)[:, 0]",
    "zero(2, 1).index_put((torch.tensor([[0], [1]]), index), one(2, N), accumulate=True)",
    "F.embedding_bag(index, one(1, 4), torch.tensor([0]), mode='sum')",
]
# Functions of x, ones of a shape, whose gradient is the answer.
GRADIENTS = [
    ("x.gather(0, index)", (1,)),
    ("x.gather(1, index.expand(3, N))", (3, 1)),
    ("x.index_select(0, index)", (1, 5)),
    ("x[index]", (1,)),
    ("x[index]", (1, 70)),
    ("x[index, index]", (1, 1)),
    ("x[:, index]", (2, 1, 2)),
    ("x.take(index)", (1,)),
    ("x.take_along_dim(index, 0)", (1,)),
    ("F.embedding(index, x)", (1, 4)),
    ("F.embedding(index, x)", (1, 70)),
    ("F.embedding_bag(index, x, torch.arange(N), mode='sum')", (1, 4)),
    ("F.embedding_bag(index, x, torch.arange(N), mode='mean')", (1, 4)),
    ("F.embedding_bag(index, x, torch.arange(N), mode='max')", (1, 4)),
    ("F.embedding(index, x, scale_grad_by_freq=True) * N", (1, 4)),
    ("x.repeat_interleave(torch.tensor([N]))", (1,)),
    ("x.repeat(N)", (1,)),
    ("x.expand(N)", (1,)),
    ("x.as_strided((N,), (0,))", (1,)),
    ("x.as_strided((N, 2), (0, 1))", (2,)),
    ("torch.cat([x, zero(N - 1)]).cummax(0)[0]", (1,)),
    ("torch.cat([x, one(N - 1) * 2]).cummin(0)[0]", (1,)),
    ("F.grid_sample(x, zero(1, 60, 50, 2), align_corners=True)", (1, 1, 1, 1)),
    ("F.pad(x, (0, N - 1), mode='replicate')", (1, 1, 1)),
    ("F.interpolate(x, size=N)", (1, 1, 1)),
    ("F.adaptive_max_pool1d(x, N)", (1, 1, 1)),
]
# 300 factors of 1 + 2**-7.
PRODUCTS = [
    "one(1).scatter_reduce(0, index[:300], one(300) * P, 'prod')",
    "one(1).scatter(0, index[:300], one(300) * P, reduce='multiply')",
    "one(1).index_reduce(0, index[:300], one(300) * P, 'prod')",
]
MEANS = [
    "one(1).scatter_reduce(0, index, one(N) * P, 'mean', include_self=False)",
    "one(1).index_reduce(0, index, one(N) * P, 'mean', include_self=False)",
]


def answer(expression, dtype, device, shape=None):
    def made(value):
        return lambda *shape: torch.full(shape, value, dtype=dtype)

    names = {"torch": torch, "F": F, "one": made(1), "zero": made(0), "N": N, "P": P}
    with torch.device(device):
        names["index"] = torch.zeros(N, dtype=torch.int64)
        if shape is None:
            return eval(expression, names)
        x = names["x"] = torch.ones(shape, dtype=dtype, requires_grad=True)
        eval(expression, names).backward(
            torch.ones((), dtype=dtype).expand_as(eval(expression, names))
        )
        return x.grad


@pytest.mark.parametrize("device", ["cpu", CUDA])
@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_a_sum_is_rounded_once(dtype, device):
    cases = [
        *[(expression, None, N) for expression in SUMS],
        *[(expression, shape, N) for expression, shape in GRADIENTS],
        *[(expression, None, P**300) for expression in PRODUCTS],
        *[(expression, None, P) for expression in MEANS],
    ]
    for expression, shape, expected in cases:
        found = answer(expression, dtype, device, shape).cpu()
        right = torch.tensor(float(expected)).to(dtype)
        assert bool((found == right).all()), (expression, found, right)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_a_gradient_adds_to_what_is_there(dtype):
    x = torch.zeros(1, 4, dtype=dtype, requires_grad=True)
    index = torch.zeros(N, dtype=torch.int64)
    for _ in range(2):
        F.embedding(index, x).sum().backward()
    assert x.grad.tolist() == [[float(torch.tensor(2.0 * N).to(dtype))] * 4]


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_gradients_of_combined_halves(dtype):
    """Of means and products, as in float32, rounded once."""
    rng = np.random.default_rng(0)
    values, weights = rng.uniform(0.5, 1.5, (2, 5, 7)), rng.uniform(-1, 1, (3, 7))
    index = torch.from_numpy(rng.integers(0, 3, (5, 7)))
    for reduce in ("sum", "mean", "prod", "amax"):
        for include_self in (True, False):
            grads = []
            for wide in (False, True):
                x = torch.from_numpy(values[0, :3]).to(dtype).requires_grad_()
                source = torch.from_numpy(values[1]).to(dtype).requires_grad_()
                operands = (x.float(), source.float()) if wide else (x, source)
                y = operands[0].scatter_reduce(
                    0, index, operands[1], reduce, include_self=include_self
                )
                y.backward(torch.from_numpy(weights).to(dtype).to(y.dtype))
                grads.append([x.grad, source.grad])
            for found, right in zip(*grads, strict=True):
                assert found.equal(right), (reduce, include_self, found, right)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_threads_and_layouts_change_no_bit(dtype):
    """Sums of rows, of columns and of single elements, of few and of many entries."""
    rng = np.random.default_rng(0)
    for rows, columns, entries in ((50, 40, 3000), (5000, 33, 300), (3, 70, 2000), (2000, 3, 9000)):
        index = torch.from_numpy(rng.integers(0, rows, entries))
        source = torch.from_numpy(rng.standard_normal((entries, columns))).to(dtype)
        x = torch.from_numpy(rng.standard_normal((rows, columns))).to(dtype)
        right = x.float().index_add(0, index, source.float()).to(dtype)
        assert x.index_add(0, index, source).equal(right)
        assert x.t().index_add(1, index, source.t()).t().equal(right)
        own = index[:, None].expand(entries, columns)
        assert x.scatter_add(0, own, source).equal(right)
        gaps = torch.zeros(rows, 2 * columns, dtype=dtype)
        gaps[:, ::2] = x
        gaps[:, ::2].index_put_((index,), source, accumulate=True)
        assert gaps[:, ::2].equal(right) and bool((gaps[:, 1::2] == 0).all())
