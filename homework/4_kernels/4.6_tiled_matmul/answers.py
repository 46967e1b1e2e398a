import numpy as np

TOLERANCE = 2e-5
NUMBERS = 0.8  # of memory for each product: any way without a tile takes 1, one of 4 x 4 half of it


def cases(rng):
    def case(m, k, n):
        a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((m, k), (k, n)))
        return {"a": a, "b": b}

    yield "numbers", case(1, 1, 1)
    yield "three sizes", case(2, 3, 4)
    yield "no products", case(2, 0, 3)
    yield "no rows", case(0, 2, 3)
    yield "64 of each", case(64, 64, 64)
    yield "64 and 1 more columns", case(64, 64, 65)
    yield "64 and 1 more rows", case(65, 64, 64)
    yield "64 and 1 more products", case(64, 65, 64)
    yield "many products", case(8, 1500, 64)
    yield "a wide result", case(3, 5, 700)
    yield "a high result", case(700, 5, 3)
    yield "powers of two, less one", case(127, 255, 63)
    for _ in range(3):
        yield "any", case(*(int(x) for x in rng.integers(1, 300, 3)))


def counted(rng):
    """Sizes of which most tiles are a divisor."""
    a, b = rng.standard_normal((2, 384, 384), np.float32)
    return {"a": a[:, :256].copy(), "b": b[:256]}


def too_much(bytes_of_memory, a, b):
    numbers = bytes_of_memory / a.itemsize / (a.size * b.shape[1])
    if numbers <= NUMBERS:
        return ""
    return (
        f"it reads and writes {numbers:.2f} numbers of memory for each product, where the task "
        f"asks for {NUMBERS} at most: a number that is read serves a whole row or column of a "
        "tile, and the tile's sums are in registers, not in C nor in an array of variable size"
    )


def answer(a, b):
    return (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)


def why(got, expected, a, b):
    if got.shape != expected.shape:
        return ""
    wrong = ~np.isclose(got, expected, rtol=1e-3, atol=1e-3)
    rows, columns = np.flatnonzero(wrong.any(1)), np.flatnonzero(wrong.any(0))
    if np.isnan(got).any():
        return "nan stands where C has not been written, or has been added to before it was 0"
    if rows.size and (rows[0] > 0 or columns[0] > 0):
        return (
            f"rows {rows[0]} to {rows[-1]}, columns {columns[0]} to {columns[-1]} are wrong: "
            "what happens at the border, where less than a tile is left?"
        )
    if a.shape[1] > 64:
        return "all products are added: is a block of them left out, or replaced by the next?"
    return "c[i, j] is the sum of a[i, p] * b[p, j] over p"
