import numpy as np

TOLERANCE = 1e-6


def cases(rng):
    def case(x, dims, keepdim=False, dtype=np.float32):
        x = np.asarray(x, dtype)
        y = np.asarray(x.max(axes(x, dims), keepdims=keepdim))
        grad = np.asarray((np.arange(y.size) + 1).reshape(y.shape) * 6, dtype)
        return {"x": x, "y": y, "dims": dims, "keepdim": keepdim, "grad": grad}

    def drawn(*shape):
        return rng.integers(0, 3, shape)  # with ties

    yield "a line", case([1, 5, 2], (0,))
    yield "a tie", case([7, 0, 7], (0,))
    yield "rows", case([[1, 5, 2], [9, 0, 7]], (1,))
    yield "rows, kept", case([[1, 5, 2], [9, 0, 7]], (1,), True)
    yield "columns", case([[1, 5, 2], [9, 0, 7]], (0,))
    yield "rows, one with a tie", case([[1, 5, 2], [7, 0, 7]], (1,))
    yield "rows of a square", case([[1, 5], [5, 1]], (-1,))
    yield "rows of a square that are alike", case([[3, 3, 1], [3, 1, 1], [3, 3, 3]], (1,))
    yield "all", case([[1, 5, 2], [5, 0, 5]], None)
    yield "all, kept", case([[1, 5, 2], [5, 0, 5]], (), True)
    yield "numbers below 0", case([-3, -1, -2], (0,))
    yield "two dims of three", case(drawn(3, 3, 3), (0, -1))
    yield "a middle dim", case(drawn(3, 3, 3), (1,))
    yield "a number of no dims", case(4, (0,))
    yield "no rows", case(np.zeros((0, 3)), (1,))
    yield "float64", case(drawn(4, 3), (0,), dtype=np.float64)
    yield "another three dims", case(drawn(2, 4, 3), (2, 0), True)


def axes(x, dims):
    return tuple(dims or range(x.ndim)) if x.ndim else ()


def answer(x, y, dims, keepdim, grad):
    passed, over = grad.astype(np.float64), axes(x, dims)
    if not keepdim:
        passed, y_there = np.expand_dims(passed, over), np.expand_dims(y, over)
    at = x == (y if keepdim else y_there)
    gradient = np.asarray(at * passed / at.sum(over, keepdims=True), x.dtype)
    return {"gradient": gradient, "x": x, "y": y, "grad": grad}


def why(got, expected, x, y, dims, keepdim, grad):
    if not isinstance(got, dict):
        return "one array is asked for, the gradient of x"
    if any(got[name].tobytes() != expected[name].tobytes() for name in ("x", "y", "grad")):
        return "nothing is written into: others still use saved and grad"
    if got["gradient"].shape != x.shape:
        return "the gradient of x has the shape of x"
    if ((got["gradient"] != 0) != (expected["gradient"] != 0)).any():
        return "those that are the largest of their dims get a gradient, all others get 0"
    return "a gradient is divided by how many share it: those along the same dims"
