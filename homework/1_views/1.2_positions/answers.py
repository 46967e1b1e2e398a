import itertools


def cases(rng):
    def case(shape, strides, offset=None):
        return {"shape": shape, "strides": strides, "offset": offset}

    yield "a line", case((3,), (1,))
    yield "a line with an offset", case((3,), (1,), 4)
    yield "every second element", case((3,), (2,), 0)
    yield "a matrix", case((2, 3), (3, 1))
    yield "a transposed matrix, with an offset", case((2, 3), (1, 2), 1)
    yield "no dims", case((), (), 5)
    yield "a stride of 0 repeats", case((2, 2), (0, 1))
    yield "lists", case([2, 1, 2], [4, 9, 1])
    yield "no elements", case((2, 0, 3), (3, 3, 1), 7)
    for dims in range(3, 6):
        shape, strides = rng.integers(1, 4, dims), rng.integers(0, 20, dims)
        yield f"{dims} dims", case(tuple(shape.tolist()), tuple(strides.tolist()), dims)


def answer(shape, strides, offset):
    indices = itertools.product(*map(range, shape))
    return [
        (offset or 0) + sum(i * s for i, s in zip(index, strides, strict=True)) for index in indices
    ]


def why(got, expected, shape, strides, offset):
    if not isinstance(got, list) or len(got) != len(expected):
        return f"a list of {len(expected)} places is asked for: one per element"
    if sorted(got) == sorted(expected):
        return "the places are right, their order is not: the last dim is the fastest"
    if len({a - b for a, b in zip(got, expected, strict=True)}) == 1:
        return "all places are shifted alike: the offset counts once"
    return "place = offset + i * strides[0] + j * strides[1] + ..."
