"""Matrix products: the bits of an element depend on its row and column, not on what is around."""

import numpy as np
import pytest
from helpers import layouts, same_bits

import tiny_torch as torch

ROWS = [2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 16, 20, 25, 64, 110]
COLUMNS = [2, 5, 8, 15, 16, 17, 31, 32, 33, 48, 70, 130]


def draw(*shape, dtype="float32", seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype(dtype))


def inside_nan(x):
    """The same values, in memory that holds NaN on all sides."""
    frame = torch.full((x.shape[0] + 2, x.shape[1] + 2), float("nan"), dtype=x.dtype)
    inner = frame[1:-1, 1:-1]
    inner.copy_(x)
    return inner


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("k", [1, 3, 24, 40, 384, 400])
def test_a_part_of_a_product_has_the_bits_of_the_whole(dtype, k):
    a, b = draw(max(ROWS), k, dtype=dtype), draw(k, max(COLUMNS), dtype=dtype, seed=1)
    whole = a @ b
    for m in ROWS:
        for n in COLUMNS:
            left, right = inside_nan(a[:m]), inside_nan(b[:, :n])
            for x in (left, left.mT.contiguous().mT):
                for y in (right, right.mT.contiguous().mT):
                    assert same_bits(x @ y, whole[:m, :n]), (m, n, x.stride(), y.stride())


SHAPES = [
    ((1, 1), (1, 1)),
    ((700,), (700,)),
    ((1, 5000), (5000, 90)),
    ((50, 800), (800, 1)),
    ((2, 3), (3, 4)),
    ((13, 400), (400, 33)),
    ((64, 784), (784, 10)),
    ((130, 1000), (1000, 130)),
    ((600, 30), (30, 70)),
    ((38, 1024), (1024, 70)),  # rows a page apart
    ((110, 1024), (1024, 5)),
    ((300, 600), (600, 37)),  # by columns, in several blocks and parts
    ((4, 1, 50), (50, 20)),
    ((3, 5, 8, 8), (5, 8, 40)),
    ((2, 3, 20, 33), (33, 7)),
]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("left, right", SHAPES)
def test_the_bits_are_those_of_the_definition(left, right, dtype):
    a = draw(*left).mul(9).to(getattr(torch, dtype))
    b = draw(*right, seed=1).mul(9).to(a.dtype)
    biases = [None, b.sum(0, dtype=b.dtype).array] if len(right) == 2 else [None]
    for x in layouts(a):
        for y in layouts(b):
            for bias in biases:
                fast, naive = (f(y.array, bias) for f in (x.array.matmul, x.array.matmul_naive))
                assert fast.numpy().tobytes() == naive.numpy().tobytes(), (x.stride(), y.stride())


@pytest.mark.parametrize("m, k, n", [(4, 50, 40), (16, 400, 100), (128, 784, 10), (600, 30, 70)])
def test_a_bias_is_added_last_in_every_layout(m, k, n):
    x, w, bias = draw(m, k), draw(n, k, seed=1), draw(n, seed=2)
    expected = x @ w.t() + bias
    for left in layouts(x):
        for right in layouts(w):
            for b in layouts(bias):
                assert same_bits(torch.nn.functional.linear(left, right, b), expected)


@pytest.mark.parametrize("shape", [(3, 5, 8, 8, 8), (2, 3, 16, 40, 20), (2, 2, 50, 400, 33)])
def test_a_stack_of_products_has_the_bits_of_each(shape):
    *batch, m, k, n = shape
    a, b = draw(*batch, m, k), draw(*batch, k, n, seed=1)
    swapped = a.transpose(0, 1).contiguous().transpose(0, 1)  # as heads of attention lie
    for left in (a, swapped, a.mT.contiguous().mT):
        for right in (b, b.mT.contiguous().mT):
            product = left @ right
            for i in range(batch[0]):
                for j in range(batch[1]):
                    assert same_bits(product[i, j], a[i, j] @ b[i, j])


@pytest.mark.parametrize(
    "m, k, n", [(20, 4096, 30), (64, 784, 512), (300, 2000, 40), (1, 5000, 90)]
)
def test_the_error_is_no_larger_than_pytorchs(m, k, n, oracle):
    a, b = draw(m, k), draw(k, n, seed=1)
    exact = a.numpy().astype("float64") @ b.numpy().astype("float64")
    theirs = (oracle.from_numpy(a.numpy()) @ oracle.from_numpy(b.numpy())).numpy()
    error, limit = (np.sqrt(np.mean((x - exact) ** 2)) for x in ((a @ b).numpy(), theirs))
    assert error <= 1.2 * limit
