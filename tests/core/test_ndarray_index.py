"""Reading and writing arrays of both devices by tensors of indices; joining and making them."""

from itertools import product

import numpy as np
import pytest
from cases.ndarray_cases import BOTH, CUBE, DTYPES, INDICES, LAYOUTS, MODULES, compare, values_of

from tiny_torch import _core

# --------------------------------------------------------------------------------------- indexing
ROWS = np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
@pytest.mark.parametrize("shape", [(2, 3), (1, 1), (0, 3), (3, 4), (4, 4), (3,)])
def test_gather_and_scatter(dim, dtype, shape):
    i = np.random.default_rng(0).integers(0, 3, shape).astype(dtype)
    s = np.random.default_rng(1).integers(0, 9, (3, 4)).astype("float64")
    compare(lambda m, x, i: x.gather(dim, i), ROWS, i)
    compare(lambda m, x, i: LAYOUTS["permuted"](x).gather(dim, i), ROWS, i)
    for place in range(5):  # set, add, multiply, maximum, minimum

        def scattered(m, x, i, s, place=place):
            x.scatter_(dim, i, s, place, True)
            return x

        compare(scattered, ROWS.copy(), i, s)
        compare(
            lambda m, x, i, s, f=scattered: f(m, x, i, LAYOUTS["permuted"](s)), ROWS.copy(), i, s
        )


def zero_d(x):
    return x.select(0, 0)


@pytest.mark.parametrize(
    ("x", "i", "s"),
    [
        ((3,), (1,), (0,)),
        ((3,), (1,), ()),
        ((3,), (2,), ()),
        ((3,), (), (1,)),
        ((3,), (), (0,)),
        ((), (1,), (1,)),
        ((), (), ()),
        ((), (2,), (2,)),
        ((0,), (), (1,)),
        ((3,), (1, 1), (1, 1)),
    ],
)
def test_gather_and_scatter_between_0_and_1_dims(x, i, s):
    x, i, s = np.ones(x), np.zeros(i, np.int64), np.full(s, 5.0)
    compare(lambda m, x, i, s: x.gather(0, i), x, i, s)
    for place in (0, 1):
        compare(lambda m, x, i, s, p=place: (x.scatter_(0, i, s, p, True), x)[1], x.copy(), i, s)


@pytest.mark.parametrize("at", range(len(INDICES)))
def test_index_and_index_put(at):
    raw = INDICES[at]
    given = [a for a in raw if a is not None]

    def places(arrays):
        arrays = iter(arrays)
        return tuple(None if a is None else next(arrays) for a in raw)

    compare(lambda m, x, *a: x.index(places(a)), CUBE, *given)
    compare(
        lambda m, x, *a: x.permute((0, 2, 1)).contiguous().permute((0, 2, 1)).index(places(a)),
        CUBE,
        *given,
    )
    for accumulate, shape in product((False, True), ((), (1,), (4,), (1, 1, 1, 4), (5,))):

        def put(m, x, v, *a, accumulate=accumulate):
            x.index_put_(places(a), v, accumulate)
            return x

        compare(put, CUBE.copy(), np.full(shape, 100.0), *given)
    try:
        same = CUBE[
            tuple(slice(None) if a is None else a != 0 if a.dtype == np.uint8 else a for a in raw)
        ]
    except IndexError:
        return
    x = _core.from_numpy(CUBE)
    assert np.array_equal(
        x.index(tuple(None if a is None else _core.from_numpy(a) for a in raw)).numpy(), same
    )


def test_index_put_adds_up_repeated_places():
    for m in MODULES.values():
        x = m.full((3,), 0, _core.int64)
        x.index_put_((m.from_numpy(np.array([0, 2, 0])),), m.full((3,), 5, _core.int64), True)
        assert x.numpy().tolist() == [10, 0, 5]


@pytest.mark.parametrize("dtype", DTYPES)
def test_nonzero_where_and_cat(dtype):
    a, b = values_of("real", dtype, 0), values_of("real", dtype, 1)
    mask = values_of("real", "bool", 2)
    for layout in LAYOUTS.values():
        compare(lambda m, x, at=layout: at(x).nonzero(), a)
        compare(
            lambda m, c, x, y, at=layout: (
                m.where(c, at(x), y) if at(x).ndim != 2 else m.where(at(c), at(x), at(y))
            ),
            mask,
            a,
            b,
        )
    compare(lambda m, c, x: m.where(c, x, 2), mask, a)
    compare(lambda m, c, x: m.where(c, 1.5, x), mask, a)
    compare(lambda m, c, x: c.where(True, 2), mask, a)
    compare(lambda m, x, y: m.where(x, y, y), a, b)
    for dim in (0, 1, -1, 2):
        compare(lambda m, x, y, d=dim: m.cat((x, y), d), a, b)
        compare(lambda m, x, y, d=dim: m.cat([x, y.slice(0, 0, 1, 1)], d), a, b)
        compare(lambda m, x, y, d=dim: m.cat((m.empty((0,), _core.float64), x), d), a, b)
    compare(lambda m, x: m.cat((), 0), a)
    compare(lambda m, x: m.cat((x, x.select(0, 0)), 0), a)
    compare(lambda m, x: m.cat((x.select(0, 0).select(0, 0),), 0), a)


@BOTH
def test_creation(m):
    assert m.arange(3, -1, 4, _core.float32).numpy().tolist() == [3, 2, 1, 0]
    assert m.arange(0.5, 0.25, 3, _core.float64).numpy().tolist() == [0.5, 0.75, 1.0]
    assert m.full((2, 0), 1, _core.bool).shape == (2, 0)
    assert m.full((), 300, _core.uint8).item() == 44
    assert m.empty((2, 3, 4), _core.bool).strides == (12, 4, 1)
    assert m.empty((2, 0, 4), _core.bool).strides == (4, 4, 1)
    assert m.empty_strided((2, 3), (1, 2), _core.bool).strides == (1, 2)
