import math

import numpy as np


def cases(rng):
    def case(old, old_strides, shape):
        return {"old": old, "old_strides": old_strides, "shape": shape}

    yield "a matrix to a line", case((2, 3), (3, 1), (6,))
    yield "a line to a matrix", case((6,), (1,), (3, 2))
    yield "every second element", case((6,), (2,), (3, 2))
    yield "a transposed matrix to a line", case((3, 2), (1, 3), (6,))
    yield "a transposed matrix as it is", case((3, 2), (1, 3), (3, 2))
    yield "a transposed matrix with a dim of 1", case((3, 2), (1, 3), (3, 1, 2))
    yield "the left part of a matrix to a line", case((2, 3), (5, 1), (6,))
    yield "the left part of a matrix, its rows cut", case((2, 4), (9, 1), (2, 2, 2))
    yield "two runs, cut up each", case((4, 3, 2), (24, 2, 1), (2, 2, 6))
    yield "two runs, a dim across both", case((4, 3, 2), (24, 2, 1), (8, 3))
    yield "two runs, other sizes across both", case((4, 6), (30, 1), (6, 4))
    yield "a dim of 1 with any stride", case((2, 1, 3), (3, 77, 1), (6,))
    yield "a dim of 1 at the end", case((2, 3, 1), (3, 1, 50), (3, 2))
    yield "a dim of 1 in front", case((1, 4), (99, 2), (2, 2))
    yield "one element to no dims", case((1, 1), (5, 9), ())
    yield "no dims to one element", case((), (), (1, 1))
    yield "lists", case([2, 2], [2, 1], [4])
    yield "an expanded row", case((2, 3), (0, 1), (6,))
    yield "an expanded row, cut", case((2, 4), (0, 1), (2, 2, 2))
    yield "an expanded number", case((2, 3), (0, 0), (6,))
    yield "no elements", case((0, 3), (3, 1), (0,))
    yield "no elements, to several dims", case((2, 0, 3), (3, 3, 1), (3, 0, 5))
    for _ in range(12):
        yield "any", case(*drawn(rng))


def drawn(rng):
    """An array that may be permuted, sliced or expanded, and sizes cut from the same number."""
    factors = [int(n) for n in rng.choice([1, 2, 2, 3], 5)]
    cuts = sorted(int(n) for n in rng.choice(6, 3))
    whole = np.zeros([n + int(n == 3 and rng.random() < 0.3) for n in factors], np.int8)
    view = whole[tuple(map(slice, factors))]
    if rng.random() < 0.4:
        view = view.transpose(*(int(d) for d in rng.permutation(5)))
    pieces = np.split(np.array(view.shape), cuts)
    return view.shape, view.strides, tuple(math.prod(p.tolist()) for p in pieces)


def answer(old, old_strides, shape):
    """From the places themselves: each new stride is what one step along its dim does."""
    if 0 in old:
        return (0,) * len(shape)
    places = np.zeros(old, int)
    for index, stride in zip(np.indices(old), old_strides, strict=True):
        places += index * stride
    places = places.reshape(tuple(shape))
    steps = [int(places.take(1, d).flat[0]) if n > 1 else 0 for d, n in enumerate(shape)]
    again = sum(
        (index * step for index, step in zip(np.indices(places.shape), steps, strict=True)), 0
    )
    return tuple(steps) if (again == places).all() else None


def why(got, expected, old, old_strides, shape):
    if expected is None:
        return "a new dim would reach from one run into another: only a copy shows that"
    if got is None:
        return f"the strides {expected} show the elements in their order: no copy is needed"
    if not isinstance(got, tuple) or len(got) != len(expected):
        return "a tuple is asked for, with one stride per new dim"
    return "a stride is the step of its run times the sizes inside it in this run"
