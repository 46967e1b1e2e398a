import numpy as np

TOLERANCE = 1e-5


def numbers(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def cases(rng):
    def case(m, k, n):
        a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((m, k), (k, n)))
        return {"a": (a.view(np.uint32) >> 16).astype(np.uint16),
                "b": (b.view(np.uint32) >> 16).astype(np.uint16)}  # fmt: skip

    yield "a tile of each", case(16, 32, 16)
    yield "one number", case(1, 1, 1)
    yield "two steps", case(16, 64, 16)
    yield "an odd number of products", case(16, 33, 16)
    yield "two tiles down", case(32, 32, 16)
    yield "two tiles across", case(16, 32, 32)
    yield "four tiles, three steps", case(32, 96, 32)
    yield "one more row", case(33, 32, 32)
    yield "one more column", case(32, 32, 33)
    yield "no products", case(3, 0, 5)
    yield "no rows", case(0, 4, 5)
    yield "few loads", case(64, 96, 64)
    yield "a wide result", case(2, 5, 300)
    yield "a high result", case(300, 5, 2)
    for _ in range(3):
        yield "any", case(*(int(x) for x in rng.integers(1, 150, 3)))


def answer(a, b):
    c = numbers(a).astype(np.float64) @ numbers(b).astype(np.float64)
    return {"c": c.astype(np.float32), "the unit does as little as it can": True}


def why(got, expected, a, b):
    c, right = got["c"], expected["c"]
    if c.shape != right.shape:
        return ""
    wrong = ~np.isclose(c, right, rtol=1e-3, atol=1e-3)
    if not wrong.any():
        return (
            "C is right. For m = n = 64 and k = 96 there are 48 products of tiles, and at most 1.1 "
            "loads for each: two tiles of A meet two of B"
        )
    if np.isnan(c).any():
        return "nan: elements of C that are not written, or a tile that has not been set to 0"
    if a.shape == (16, 32) and b.shape == (32, 16):
        return "word (q, j) of a tile of B is the pair B[2q, j], B[2q + 1, j]"
    rows, columns = np.flatnonzero(wrong.any(1)), np.flatnonzero(wrong.any(0))
    return (
        f"rows {rows[0]} to {rows[-1]}, columns {columns[0]} to {columns[-1]} are wrong: which "
        "tiles do they lie in, and what is beside the last numbers along k?"
    )
