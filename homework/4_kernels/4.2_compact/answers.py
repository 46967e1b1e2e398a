from itertools import pairwise

import numpy as np


def cases(rng):
    def case(shape, strides, dtype=np.float32):
        extent = 1 + sum((n - 1) * step for n, step in zip(shape, strides, strict=True) if n)
        x = rng.permutation(extent).astype(dtype)
        return {"x": x, "shape": tuple(shape), "strides": tuple(strides)}

    yield "one element", case((1,), (1,))
    yield "side by side", case((4,), (1,))
    yield "every second", case((3,), (2,))
    yield "a matrix's transpose", case((3, 2), (1, 3))
    yield "no dims", case((), ())
    yield "no elements", case((2, 0), (1, 1))
    yield "rows of a wider matrix", case((3, 2), (5, 1))
    yield "one row for all", case((3, 2), (0, 2))
    yield "one column for all", case((2, 3), (2, 0))
    yield "three dims", case((2, 3, 4), (1, 8, 2))
    yield "windows that overlap", case((4, 3), (1, 1))
    yield "four dims", case((2, 3, 2, 3), (3, 1, 40, 9))
    for dtype in (np.float64, np.int16, np.uint8):
        yield f"{np.dtype(dtype)}", case((3, 5), (1, 3), dtype)
    for _ in range(3):
        order = rng.permutation(4)
        shape = rng.integers(1, 8, 4)
        strides = np.ones(4, int)
        for before, d in pairwise(order):
            strides[d] = strides[before] * shape[before] + rng.integers(0, 2)
        yield "dims in any order", case(shape.tolist(), strides.tolist())


def answer(x, shape, strides):
    places = np.zeros(shape, int)
    for d, (n, step) in enumerate(zip(shape, strides, strict=True)):
        places += (np.arange(n) * step).reshape(-1, *[1] * (len(shape) - d - 1))
    return np.asarray(x[places])


def why(got, expected, x, shape, strides):
    if got.shape != expected.shape or not got.size:
        return ""
    if np.array_equal(got.ravel(), x[: got.size]) and not np.array_equal(got, expected):
        return "this is x as it lies in memory: element i of y is not element i of x"
    if sorted(got.ravel().tolist()) == sorted(expected.ravel().tolist()):
        return "the elements are right, their order is not: the last dim is the fastest"
    return "element (i, j, ...) of x lies at i * strides[0] + j * strides[1] + ..."
