import numpy as np


def cases(rng):
    def case(shape, dims, strides=None, offset=0):
        strides = strides or tuple(s // 8 for s in np.empty(shape).strides)
        return {"shape": shape, "strides": strides, "offset": offset, "dims": dims}

    yield "a matrix as it is", case((2, 3), (0, 1))
    yield "a matrix transposed", case((2, 3), (1, 0))
    yield "a matrix with an offset", case((2, 3), (1, 0), offset=7)
    yield "no dims", case((), ())
    yield "three dims in a circle", case((2, 3, 4), (1, 2, 0))
    yield "images to channels last", case((2, 3, 4, 5), (0, 2, 3, 1))
    yield "dims from the end", case((2, 3, 4), (-1, 0, -2))
    yield "a view with steps and a repeated dim", case((2, 3, 4), (2, 0, 1), (50, 0, 2), 3)
    yield "no elements", case((2, 0, 3), (2, 0, 1))
    yield "too few dims", case((2, 3), (1,))
    yield "too many dims", case((2, 3), (1, 0, 2))
    yield "a dim twice", case((2, 3), (0, 0))
    yield "a dim twice, once from the end", case((2, 3), (1, -1))
    yield "a dim that is not there", case((2, 3), (0, 2))
    yield "a dim that is not there, from the end", case((2, 3), (0, -3))
    for ndim in range(3, 6):
        shape = tuple(rng.integers(1, 4, ndim).tolist())
        dims = rng.permutation(ndim) - ndim * rng.integers(0, 2, ndim)
        yield f"{ndim} dims", case(shape, tuple(dims.tolist()), offset=ndim)


def answer(shape, strides, offset, dims):
    ndim = len(shape)
    if len(dims) != ndim:
        raise RuntimeError(f"{len(dims)} dims for an array of {ndim} dims")
    if any(not -ndim <= d < ndim for d in dims):
        raise IndexError(f"dims are from {-ndim} to {ndim - 1}")
    if len({d % ndim for d in dims}) < ndim:
        raise RuntimeError("one dim comes twice")
    memory = np.lib.stride_tricks.as_strided(np.arange(1000.0), shape, [8 * s for s in strides])
    view = memory.transpose(dims)
    facts = {"shape": view.shape, "strides": tuple(s // 8 for s in view.strides)}
    return {**facts, "offset": offset, "shares the memory": True}


def rule(got, expected, shape, strides, offset, dims):
    if not got["shares the memory"]:
        return "permute moves no elements: it answers a view, not a copy"
    if got["offset"] != offset:
        return "a view begins where the array begins"
    if got["shape"] == expected["shape"]:
        return "each stride goes with its size: strides[k] is the old strides[dims[k]]"
    return "dim k of the result is dim dims[k] of the array"


def why(got, expected, **inputs):
    if not isinstance(got, dict):
        return "an array is asked for: self.as_strided(shape, strides, offset)"
    sides = [
        f"shape {x['shape']}, strides {x['strides']}, offset {x['offset']}" for x in (got, expected)
    ]
    return f"{rule(got, expected, **inputs)}\ngot      {sides[0]}\nexpected {sides[1]}"
