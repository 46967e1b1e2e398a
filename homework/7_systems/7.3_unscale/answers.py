import numpy as np

TOLERANCE = 1e-6


def cases(rng):
    def numbers(*shape, dtype=np.float32, put=None):
        memory = rng.standard_normal(shape).astype(dtype)
        if put is not None:
            memory.reshape(-1)[int(rng.integers(memory.size))] = put
        return memory

    def case(*memories, part="all", factor=0.25):
        return {"memories": list(memories), "parts": [part] * len(memories), "factor": factor}

    yield "a number", case(numbers(1))
    yield "three numbers", case(numbers(3))
    yield "an inf", case(numbers(3, put=np.inf))
    yield "-inf", case(numbers(3, put=-np.inf))
    yield "nan", case(numbers(3, put=np.nan))
    yield "no dims", case(numbers())
    yield "no elements", case(numbers(0))
    yield "no gradients", case()
    yield "two gradients", case(numbers(3), numbers(2, 2))
    yield "an inf in the first of three", case(numbers(2, put=np.inf), numbers(3), numbers(1))
    yield "an inf in the last of three", case(numbers(2), numbers(3), numbers(1, put=np.inf))
    yield "inf in two of three", case(numbers(2, put=np.inf), numbers(3), numbers(4, put=np.nan))
    yield "a matrix", case(numbers(3, 4))
    yield "a transpose", case(numbers(3, 4), part="transposed")
    yield "every second row", case(numbers(5, 2), numbers(4, 3), part="every second")
    others = np.float32([[1, 2], [np.inf, 3]])
    yield "an inf in a row of others", case(others, part="first row", factor=0.5)
    yield "a factor of 1", case(numbers(3), factor=1.0)
    yield "inf, and a factor of 1", case(numbers(3, put=np.inf), factor=1.0)
    yield "float64", case(numbers(3, dtype=np.float64), numbers(2))
    large = np.float32([3e38, -3e38, 3e38])
    yield "large numbers, none of them inf", case(large, factor=0.5)
    yield "inf only afterwards", case(np.float32([1e38, 1]), factor=16.0)
    yield "inf, and a factor of 0", case(numbers(4, put=np.inf), factor=0.0)
    yield "many, and one inf", case(numbers(200, 30, put=np.inf))


def gradients_of(memories, parts):
    rows = {"every second": slice(0, None, 2), "first row": slice(1)}
    return [memory[rows.get(part, ...)] for memory, part in zip(memories, parts, strict=True)]


def answer(memories, parts, factor):
    held = [memory.copy() for memory in memories]
    found = 0.0
    for grad in gradients_of(held, parts):
        found = max(found, float(not np.isfinite(grad).all()))
        with np.errstate(over="ignore", invalid="ignore"):
            grad *= factor
    return {"found": found, "memories": held}


def why(got, expected, memories, parts, factor):
    if isinstance(got["found"], str):
        return "the answer is a tensor of float32 without dims"
    if got["found"] != expected["found"]:
        has = "one has inf or nan" if expected["found"] else "all are finite"
        return f"before the gradients are multiplied, {has}: the answer is {expected['found']:g}"
    if all(map(same, got["memories"], memories)) and not all(
        map(same, expected["memories"], memories)
    ):
        return "gradients are changed where they lie: others hold the same tensors"
    return "all elements of all gradients, and no others, are multiplied"


def same(one, other):
    return np.array_equal(one, other, equal_nan=True)
