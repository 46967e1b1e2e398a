import numpy as np


def cases(rng):
    def case(shape, dim, size, step, strides=None, offset=0):
        strides = strides or tuple(s // 8 for s in np.empty(shape).strides)
        facts = {"shape": shape, "strides": strides, "offset": offset}
        return {**facts, "dim": dim, "size": size, "step": step}

    yield "windows side by side", case((6,), 0, 3, 3)
    yield "windows that overlap", case((6,), 0, 3, 1)
    yield "elements in no window", case((6,), 0, 3, 2)
    yield "every second element, with an offset", case((6,), 0, 3, 1, (2,), 5)
    yield "one window of all", case((4,), 0, 4, 1)
    yield "a step beyond the end", case((4,), 0, 2, 9)
    yield "the last dim of a matrix", case((2, 5), 1, 3, 1)
    yield "the first dim of a matrix", case((5, 2), 0, 3, 2)
    yield "a dim from the end", case((2, 5, 3), -2, 2, 1)
    yield "a transposed matrix", case((5, 4), 0, 2, 2, (1, 5), 3)
    yield "windows of no elements", case((4,), 0, 0, 1)
    yield "no dims", case((), 0, 1, 1, offset=4)
    yield "no dims, windows of no elements", case((), -1, 0, 1)
    yield "a window too large", case((4,), 0, 5, 1)
    yield "no dims, a window too large", case((), 0, 2, 1)
    yield "a size below 0", case((4,), 0, -1, 1)
    yield "a step of 0", case((4,), 0, 2, 0)
    yield "a dim that is not there", case((4, 4), 2, 1, 1)
    for ndim in range(2, 5):
        shape, dim = tuple(rng.integers(3, 6, ndim).tolist()), int(rng.integers(-ndim, ndim))
        yield f"{ndim} dims", case(shape, dim, int(rng.integers(1, 4)), 2, offset=ndim)


def answer(shape, strides, offset, dim, size, step):
    if not -max(len(shape), 1) <= dim < max(len(shape), 1):
        raise IndexError(f"an array of {len(shape)} dims has no dim {dim}")
    dim %= max(len(shape), 1)
    n, stride = (shape[dim], strides[dim]) if shape else (1, 1)
    if not 0 <= size <= n:
        raise RuntimeError(f"the size is {size}, the dim has {n} elements")
    if step < 1:
        raise RuntimeError(f"the step is {step}")
    starts = range(0, n - size + 1, step)  # of the windows
    sizes, steps = [*shape, size], [*strides, stride]
    if shape:
        sizes[dim], steps[dim] = len(starts), stride * step
    steps = tuple(0 if n < 2 else s for n, s in zip(sizes, steps, strict=True))
    facts = {"shape": tuple(sizes), "strides": steps, "offset": offset}
    return {**facts, "shares the memory": True}


def rule(got, expected, shape, strides, offset, dim, size, step):
    if not got["shares the memory"]:
        return "windows are a view: no element is copied"
    if got["offset"] != offset:
        return "the first window begins where the array begins"
    if got["shape"] != expected["shape"]:
        starts = list(range(0, (shape[dim] if shape else 1) - size + 1, step))
        return f"windows begin at {starts} of the dim; their elements are the last dim"
    return "a step inside a window is the dim's old stride, one to the next window `step` of these"


def why(got, expected, **inputs):
    if not isinstance(got, dict):
        return "an array is asked for: self.as_strided(shape, strides, offset)"
    sides = [
        f"shape {x['shape']}, strides {x['strides']}, offset {x['offset']}" for x in (got, expected)
    ]
    return f"{rule(got, expected, **inputs)}\ngot      {sides[0]}\nexpected {sides[1]}"
