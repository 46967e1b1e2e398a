import numpy as np

TOLERANCE = 1e-6


def cases(rng):
    def case(*shape, part="all", factor=0.25, dtype=np.float32, put=None):
        memory = rng.standard_normal(shape).astype(dtype)
        if put is not None:
            memory.reshape(-1)[int(rng.integers(memory.size))] = put
        return {"memory": memory, "part": part, "factor": factor}

    yield "a number", case(1)
    yield "three numbers", case(3)
    yield "an inf", case(3, put=np.inf)
    yield "-inf", case(3, put=-np.inf)
    yield "nan", case(3, put=np.nan)
    yield "no dims", case()
    yield "no elements", case(0)
    yield "a matrix", case(3, 4)
    yield "a transpose", case(3, 4, part="transposed")
    yield "every second row", case(5, 2, part="every second")
    yield "an inf in a row of others", {
        "memory": np.float32([[1, 2], [np.inf, 3]]), "part": "first row", "factor": 0.5,
    }  # fmt: skip
    yield "a factor of 1", case(3, factor=1.0)
    yield "inf, and a factor of 1", case(3, factor=1.0, put=np.inf)
    yield "float64", case(3, dtype=np.float64)
    yield "large numbers, none of them inf", {
        "memory": np.float32([3e38, -3e38, 3e38]), "part": "all", "factor": 0.5,
    }  # fmt: skip
    yield "inf only afterwards", {
        "memory": np.float32([1e38, 1]), "part": "all", "factor": 16.0,
    }  # fmt: skip
    yield "inf, and a factor of 0", case(4, factor=0.0, put=np.inf)
    yield "many, and one inf", case(200, 30, put=np.inf)


def answer(memory, part, factor):
    held = memory.copy()
    rows = {"every second": slice(0, None, 2), "first row": slice(1)}
    grad = held[rows.get(part, ...)]
    found = not np.isfinite(grad).all()
    with np.errstate(over="ignore", invalid="ignore"):
        grad *= factor
    return {"found": bool(found), "memory": held}


def why(got, expected, memory, part, factor):
    if got["found"] != expected["found"]:
        finite = "is finite" if not expected["found"] else "has inf or nan"
        return f"the gradient {finite} before it is multiplied; the answer is a bool"
    if np.array_equal(got["memory"], memory, equal_nan=True):
        return "the gradient is changed where it lies: others hold the same tensor"
    return "all elements of the gradient, and no others, are multiplied"
