import numpy as np


def cases(rng):
    yield "equal shapes", {"a": (2, 3), "b": (2, 3)}
    yield "a row", {"a": (2, 3), "b": (3,)}
    yield "a column", {"a": (2, 3), "b": (2, 1)}
    yield "the first one stretches", {"a": (1, 3), "b": (2, 3)}
    yield "both stretch", {"a": (4, 1), "b": (3,)}
    yield "more dims in the second", {"a": (3,), "b": (5, 2, 3)}
    yield "a number", {"a": (), "b": (2, 3)}
    yield "two numbers", {"a": (), "b": ()}
    yield "lists", {"a": [2, 1], "b": [3]}
    yield "0 and 1", {"a": (2, 0), "b": (2, 1)}
    yield "1 and 0", {"a": (1,), "b": (4, 0)}
    yield "0 and 3", {"a": (0,), "b": (3,)}
    yield "2 and 3", {"a": (2,), "b": (3,)}
    yield "3 and 2 in an outer dim", {"a": (3, 4), "b": (2, 4)}
    yield "a row of the wrong length", {"a": (2, 3), "b": (2,)}
    yield "the outer dim fits only on the left", {"a": (2, 3), "b": (2, 1, 1, 4)}
    for _ in range(6):
        shape = rng.integers(0, 5, 4)
        a, b = (np.where(rng.random(4) < 0.4, 1, shape) for _ in range(2))
        yield "any", {"a": tuple(a.tolist()), "b": tuple(b[rng.integers(0, 4) :].tolist())}


def answer(a, b):
    try:
        return np.broadcast_shapes(tuple(a), tuple(b))
    except ValueError:
        raise RuntimeError(f"{tuple(a)} and {tuple(b)} do not fit") from None


def why(got, expected, a, b):
    if not isinstance(got, tuple) or len(got) != len(expected):
        return "a tuple is asked for, with as many dims as the longer shape"
    if 0 in expected:
        return "a size of 1 stretches to 0, too"
    return "compare from the last dim on: a size of 1 takes the other's size"
