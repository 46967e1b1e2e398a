import numpy as np

TOLERANCE = 1e-6


def cases(rng):
    def case(of, shape, dtype="float32", kind="array", given="float32"):
        gradient = (np.arange(np.prod(of)) + 1).reshape(of).astype(given)
        return {"gradient": gradient, "kind": kind, "shape": shape, "dtype": dtype}

    yield "not broadcast", case((2, 3), (2, 3))
    yield "a row", case((2, 3), (1, 3))
    yield "a column", case((2, 3), (2, 1))
    yield "a dim that was missing", case((2, 3), (3,))
    yield "a dim that was missing, of a square", case((3, 3), (3,))
    yield "one number", case((2, 3), (1,))
    yield "no dims", case((2, 3), ())
    yield "no dims on both sides", case((), ())
    yield "leading and inner dims", case((2, 3, 4, 5), (3, 1, 5))
    yield "sizes of 1 that stay", case((1, 3, 1), (1, 1))
    yield "a leading dim of 1", case((1, 3), (3,))
    yield "from no elements", case((0, 3), (3,))
    yield "to no elements", case((2, 0), (1, 0))
    yield "another dtype", case((3,), (3,), "float64")
    yield "summed, then cast", case((4, 2), (2,), "float32", given="float64")
    large = case((2, 1), (1,), "float32", given="float64")
    yield (
        "a sum that only float64 has",
        {**large, "gradient": np.array([[2.0**24 + 1], [-(2.0**24)]])},
    )
    yield "a tensor", case((2, 3), (3,), kind="tensor")
    yield "a tensor that is cast", case((2, 3), (2, 1), "float64", "tensor")
    yield "a tensor that stays", case((2, 3), (2, 3), kind="tensor")
    for ndim in range(2, 6):
        of = rng.integers(1, 5, ndim)
        shape = np.where(rng.random(ndim) < 0.5, 1, of)[rng.integers(0, ndim) :]
        yield f"from {ndim} dims", case(tuple(of.tolist()), tuple(shape.tolist()))


def answer(gradient, kind, shape, dtype):
    missing = gradient.ndim - len(shape)
    inner = tuple(d for d, n in enumerate(shape) if n == 1)
    total = gradient.sum(tuple(range(missing))).sum(inner, keepdims=True)
    same = total.shape == gradient.shape and dtype == str(gradient.dtype)
    facts = {"kind": kind, "the gradient itself": same, "gradient": gradient}
    return {"sum": np.asarray(total.astype(dtype)), **facts}


def why(got, expected, gradient, kind, shape, dtype):
    if not isinstance(got, dict):
        return "a gradient is asked for, with .sum, .reshape and .astype of the one given"
    if got["sum"].shape != shape:
        return "the gradient of an input has the input's shape"
    if got["gradient"].tobytes() != gradient.tobytes():
        return "the gradient is not written into: the other input may get it, too"
    if expected["the gradient itself"] and not got["the gradient itself"]:
        return "where nothing is to do, the gradient itself is the answer"
    if expected["sum"].dtype == got["sum"].dtype:
        return "dims in which the input has 1, or that it lacks, are summed; the sum comes first"
    return ""
