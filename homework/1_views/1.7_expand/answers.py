import numpy as np


def cases(rng):
    def case(own, own_strides, wanted):
        return {"own": own, "own_strides": own_strides, "wanted": wanted}

    yield "as it is", case((2, 3), (3, 1), (2, 3))
    yield "a transposed matrix as it is", case((2, 3), (1, 2), (2, 3))
    yield "a column", case((2, 1), (1, 1), (2, 3))
    yield "a row", case((1, 3), (3, 1), (2, 3))
    yield "a new dim in front", case((3,), (1,), (2, 3))
    yield "a new dim of size 1", case((3,), (2,), (1, 3))
    yield "a number", case((), (), (2, 3))
    yield "a number as it is", case((), (), ())
    yield "sizes that stay", case((2, 1, 3), (3, 3, 1), (-1, 4, -1))
    yield "lists", case([1, 2], [2, 1], [3, -1])
    yield "to no elements", case((2, 1), (1, 1), (2, 0))
    yield "of no elements", case((0, 1), (1, 1), (0, 3))
    yield "an expanded array once more", case((1, 4), (7, 0), (5, 4))
    yield "a size that does not fit", case((2, 3), (3, 1), (4, 3))
    yield "to a smaller size", case((2, 3), (3, 1), (2, 1))
    yield "from 0 to 3", case((0,), (1,), (3,))
    yield "too few dims", case((2, 3), (3, 1), (3,))
    yield "a new dim of -1", case((3,), (1,), (-1, 3))
    yield "a size of -2", case((1,), (1,), (-2,))
    for ndim in range(2, 6):
        wanted = rng.integers(2, 5, ndim)
        keep = int(rng.integers(1, ndim + 1))
        own = np.where(rng.random(keep) < 0.5, 1, wanted[-keep:])
        strides = tuple(rng.integers(1, 50, keep).tolist())
        yield f"to {ndim} dims", case(tuple(own.tolist()), strides, tuple(wanted.tolist()))


def answer(own, own_strides, wanted):
    new = len(wanted) - len(own)
    if new < 0 or -1 in wanted[:new]:
        raise RuntimeError(f"{list(own)} cannot become {list(wanted)}")
    full = [1] * new + list(own)
    shape = tuple(m if n == -1 else n for m, n in zip(full, wanted, strict=True))
    if min(shape, default=0) < 0:
        raise RuntimeError(f"a negative size in {list(wanted)}")
    pairs = zip(full, shape, strict=True)
    if not all(m in (1, n) for m, n in pairs):
        raise RuntimeError(f"{list(own)} does not fit to {list(wanted)}")
    place = np.lib.stride_tricks.as_strided(np.int8(0), own, own_strides)
    view = np.broadcast_to(place, shape)  # whose strides are in bytes, as large as ours
    return shape, tuple(0 if n == 1 else s for n, s in zip(shape, view.strides, strict=True))


def why(got, expected, own, own_strides, wanted):
    if not isinstance(got, tuple) or len(got) != 2:
        return "a pair is asked for: (shape, strides)"
    if got[0] != expected[0]:
        return "the shape is the wanted one, and -1 stands for the array's own size"
    return "a repeated dim has stride 0, one whose size stays has its own stride"
