import numpy as np


def cases(rng):
    yield "one function", {"segments": 1, "count": 1}
    yield "one segment", {"segments": 1, "count": 4}
    yield "two of a kind", {"segments": 2, "count": 4}
    yield "the last takes the rest", {"segments": 2, "count": 5}
    yield "a rest as long as a segment", {"segments": 4, "count": 7}
    yield "a segment for each function", {"segments": 3, "count": 3}
    yield "the root", {"segments": "sqrt", "count": 16}
    yield "a root rounded down", {"segments": "sqrt", "count": 12}
    yield "a root rounded up", {"segments": "sqrt", "count": 13}
    yield "the root of 1", {"segments": "sqrt", "count": 1}
    yield "more segments than functions", {"segments": 5, "count": 4}
    yield "fewer than none", {"segments": -1, "count": 4}
    yield "none", {"segments": 0, "count": 4}
    for _ in range(3):
        count = int(rng.integers(20, 100))
        yield "longer", {"segments": int(rng.integers(2, count)), "count": count}


def answer(segments, count):
    if segments == "sqrt":
        segments = int(np.rint(np.sqrt(count)))
    if segments == 0:
        raise ZeroDivisionError("no segments: the size of each is a division by 0")
    if not 1 <= segments <= count:
        raise ValueError(f"segments are between 1 and {count}")
    bounds = [k * (count // segments) for k in range(segments)] + [count]
    return [(bounds[k], bounds[k + 1], k + 1 < segments) for k in range(segments)]


def why(got, expected, segments, count):
    if got and isinstance(got[-1], tuple) and got[-1][-1:] == (True,):
        return "backward begins with the last segment: to compute it again at once saves nothing"
    if [pair[:2] for pair in got] == [pair[:2] for pair in expected]:
        return "all segments but the last are computed again"
    if segments == "sqrt":
        return 'for "sqrt" there are round(count ** 0.5) segments'
    return "all have count // segments functions, but for the last, which takes the rest, too"
