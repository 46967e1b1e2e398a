import numpy as np

TOLERANCE = 1e-5


def cases(rng):
    def case(y, grad, dim=-1, overwrite=False, dtype=np.float32):
        y, grad = np.asarray(y, dtype), np.asarray(grad, dtype)
        return {"y": y, "dim": dim, "grad": grad, "overwrite": overwrite}

    def drawn(*shape, dim=-1, **options):
        powers = np.exp(rng.standard_normal(shape) * 2)
        y = powers / powers.sum(dim, keepdims=True)
        return case(y, rng.standard_normal(shape).round(2), dim, **options)

    yield "a gradient that is the same everywhere", case([0.25, 0.25, 0.5], [1, 1, 1])
    yield "one row", case([0.2, 0.3, 0.5], [1, 0, 0])
    yield "a share of 1", case([0, 1, 0], [3, 4, 5])
    yield "one element", case([1], [7])
    yield "two rows", case([[0.25, 0.75], [0.5, 0.5]], [[1, 0], [0, 4]])
    yield "columns", case([[0.25, 0.75], [0.75, 0.25]], [[1, 0], [0, 4]], 0)
    yield "a square", drawn(3, 3)
    yield "columns of a square", drawn(3, 3, dim=-2)
    yield "a middle dim", drawn(3, 3, 3, dim=1)
    yield "a number of no dims", case(1, 5, 0)
    yield "y may be written over", drawn(2, 5, overwrite=True)
    yield "float64", drawn(4, 5, dim=0, dtype=np.float64)
    yield "rows of no elements", drawn(3, 0)
    yield "no rows", drawn(0, 3)
    yield "many", drawn(20, 300)


def answer(y, dim, grad, overwrite):
    wide, passed = y.astype(np.float64), grad.astype(np.float64)
    total = (wide * passed).sum(dim if y.ndim else (), keepdims=True)
    gradient = np.asarray(wide * (passed - total), y.dtype)
    if not y.ndim:
        gradient = np.zeros_like(y)  # the only share is 1, and stays
    found = {"gradient": gradient, "grad": grad}
    return found if overwrite else {**found, "y": y}


def why(got, expected, y, dim, grad, overwrite):
    if not isinstance(got, dict):
        return "one array is asked for, the gradient of x"
    if got["grad"].tobytes() != grad.tobytes():
        return "grad is not written into: other inputs may get the same array"
    if not overwrite and got["y"].tobytes() != y.tobytes():
        return "y is written over only where overwrite is True"
    if got["gradient"].shape != y.shape:
        return "the gradient of x has the shape of x, which is that of y"
    if y.ndim and not np.allclose(got["gradient"].sum(dim), 0, atol=1e-4 * (1 + abs(grad).sum())):
        return f"along dim {dim}, the gradient of x sums to 0: shares grow at each other's cost"
    return "y * (grad - the sum of grad * y along dim)"
