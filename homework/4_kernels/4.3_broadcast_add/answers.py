import numpy as np


def cases(rng):
    def case(one, other, transposed=False, into="a new array"):
        x, y = (rng.standard_normal(shape).astype(np.float32) for shape in (one, other))
        return {"x": x, "y": y, "transposed": transposed, "into": into}

    yield "one element each", case((1,), (1,))
    yield "two lines", case((3,), (3,))
    yield "no dims", case((), ())
    yield "no elements", case((0, 3), (3,))
    yield "a row for all rows", case((2, 3), (3,))
    yield "a column for all columns", case((2, 3), (2, 1))
    yield "a number for all", case((2, 3), (1, 1))
    yield "a column and a row", case((3, 1), (1, 4))
    yield "a transpose", case((3, 2), (2, 3), transposed=True)
    yield "into x itself", case((2, 3), (3,), into="x")
    yield "every second row of x", case((5, 3), (3, 3), into="every second of x")
    yield "three dims", case((2, 1, 4), (3, 1))
    yield "four dims", case((2, 1, 3, 1), (4, 1, 5))
    for _ in range(3):
        shape, ones = rng.integers(1, 6, 4), rng.integers(0, 2, (2, 4))
        yield "any", case(*(tuple(np.where(mask, 1, shape).tolist()) for mask in ones))


def answer(x, y, transposed, into):
    wide = (x.T if transposed else x).astype(np.float64)
    if into == "every second of x":
        wide[::2] += y
        return wide.astype(np.float32)
    return np.asarray(wide + y, np.float32)


def why(got, expected, x, y, transposed, into):
    if into == "every second of x":
        return "the result has strides of its own; what lies between its elements is kept"
    if np.isnan(got).any():
        return "nan stands where nothing has been written, or where out was read"
    if x.shape != y.shape:
        return "a stride of 0 repeats an element: each of the three has its own strides"
    return ""
