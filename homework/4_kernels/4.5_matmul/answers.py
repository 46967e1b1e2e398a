import numpy as np

TOLERANCE = 1e-5


def cases(rng):
    def case(m, k, n, transposed="", batch=(), bias=False):
        one, other = (*batch, m, k), (*batch, k, n)
        one = (*batch, k, m) if "a" in transposed else one
        other = (*batch, n, k) if "b" in transposed else other
        a, b = (rng.standard_normal(shape).astype(np.float32) for shape in (one, other))
        added = rng.standard_normal(n).astype(np.float32) if bias else None
        return {"a": a, "b": b, "transposed": transposed, "bias": added}

    yield "numbers", case(1, 1, 1)
    yield "a row and a column", case(1, 3, 1)
    yield "a column and a row", case(3, 1, 2)
    yield "small", {
        "a": np.float32([[1, 2, 3], [4, 5, 6]]), "b": np.float32([[1, 0], [0, 1], [1, 1]]),
        "transposed": "", "bias": None,
    }  # fmt: skip
    yield "three sizes", case(2, 3, 4)
    yield "A transposed", case(2, 3, 4, "a")
    yield "B transposed", case(2, 3, 4, "b")
    yield "both transposed", case(4, 2, 3, "ab")
    yield "no products", case(2, 0, 3)
    yield "a bias, which the caller adds", case(2, 4, 3, bias=True)
    yield "a bias, and no products", case(2, 0, 3, bias=True)
    yield "no rows", case(0, 2, 3)
    yield "a batch", case(2, 3, 2, batch=(3,))
    yield "an inf times 0", {
        "a": np.float32([[np.inf, 1]]), "b": np.float32([[0, 1], [2, 3]]), "transposed": "",
        "bias": None,
    }  # fmt: skip
    for _ in range(3):
        m, k, n = (int(x) for x in rng.integers(1, 60, 3))
        yield "larger", case(m, k, n, str(rng.choice(["", "a", "b", "ab"])))


def answer(a, b, transposed, bias):
    x, y = (array.astype(np.float64) for array in (a, b))
    x = x.swapaxes(-1, -2) if "a" in transposed else x
    y = y.swapaxes(-1, -2) if "b" in transposed else y
    with np.errstate(invalid="ignore"):
        return (x @ y + (0 if bias is None else bias)).astype(np.float32)


def why(got, expected, a, b, transposed, bias):
    if np.isnan(got).any() and not np.isnan(expected).any():
        return "nan stands where C has not been written: it is (m, n), and all of it is written"
    if transposed:
        return "element (i, p) of A lies at i * a_row + p * a_col, whatever A is a view of"
    return "c[i, j] is the sum of a[i, p] * b[p, j] over p"
