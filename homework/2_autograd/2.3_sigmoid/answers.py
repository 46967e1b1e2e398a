import numpy as np

TOLERANCE = 1e-6


def cases(rng):
    def case(y, grad=None, overwrite=False, dtype=np.float32):
        y = np.asarray(y, dtype)
        grad = np.ones_like(y) if grad is None else np.asarray(grad, dtype)
        return {"y": y, "grad": grad, "overwrite": overwrite}

    def drawn(*shape, **options):
        return case(
            rng.uniform(0, 1, shape).round(3), rng.standard_normal(shape).round(2), **options
        )

    yield "the middle", case([0.5])
    yield "a gradient of 1", case([0.1, 0.5, 0.9])
    yield "a gradient", case([0.1, 0.5, 0.9], [2, -1, 0])
    yield "0 and 1", case([0, 1], [3, 3])
    yield "a number of no dims", case(0.2, 4)
    yield "a matrix", drawn(2, 3)
    yield "y may be written over", drawn(2, 3, overwrite=True)
    yield "float64", drawn(5, dtype=np.float64)
    yield "no elements", drawn(0, 3)
    yield "no elements to write over", drawn(0, overwrite=True)
    yield "many", drawn(30, 40)


def answer(y, grad, overwrite):
    wide = y.astype(np.float64)
    gradient = np.asarray(grad.astype(np.float64) * wide * (1 - wide), y.dtype)
    found = {"gradient": gradient, "grad": grad}
    return found if overwrite else {**found, "y": y}


def why(got, expected, y, grad, overwrite):
    if not isinstance(got, dict):
        return "one array is asked for, the gradient of x"
    if got["grad"].tobytes() != grad.tobytes():
        return "grad is not written into: other inputs may get the same array"
    if not overwrite and got["y"].tobytes() != y.tobytes():
        return "y is written over only where overwrite is True"
    if (y == 0.5).any() and (grad == 1).all():
        return "at y = 1/2 the slope is 1/4, and grad is 1"
    return "dL/dx = dL/dy * y * (1 - y): y is sigmoid's result"
