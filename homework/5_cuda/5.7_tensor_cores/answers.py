import numpy as np

TOLERANCE = 1e-5


def cases(rng):
    def case(m, k, n):
        a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((m, k), (k, n)))
        return {"a": a, "b": b}

    ones, zeros = np.ones((16, 16), np.float16), np.zeros((16, 8), np.float16)
    yield "ones", {"a": ones, "b": ones[:, :8]}
    rows = np.arange(16, dtype=np.float16)[:, None] * ones
    yield "row i of A holds i, B ones", {"a": rows, "b": ones[:, :8]}
    columns = zeros + np.arange(8, dtype=np.float16)
    yield "A ones, column j of B holds j", {"a": ones, "b": columns}
    depth = zeros.copy()
    depth[:, 0] = 1
    yield "column p of A holds p, B one column of ones", {"a": rows.T.copy(), "b": depth}
    yield "any numbers", case(16, 16, 8)
    yield "two steps", case(16, 32, 8)
    yield "two tiles down", case(32, 16, 8)
    yield "two tiles across", case(16, 16, 16)
    yield "no steps", case(16, 0, 8)
    yield "large and small ones", {
        "a": np.float16([[60000, 2.0**-24] * 8] * 16), "b": np.float16([[60000] * 8, [1] * 8] * 8),
    }  # fmt: skip
    for _ in range(2):
        yield "more", case(*(int(x) for x in rng.integers(1, 5, 3) * (16, 16, 8)))


def answer(a, b):
    (m, k), n = a.shape, b.shape[1]
    c = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)
    count = m / 16 * (n / 8) * (k / 16)
    return {
        "c": c,
        "bytes_of_a_thread": 5 * k + 64,
        "mma_of_warps": count,
        "products are those of A and B": True,
    }


def why(got, expected, a, b):
    c, right = got["c"], expected["c"]
    if got["bytes_of_a_thread"] > expected["bytes_of_a_thread"]:
        return (
            f"a lane reads and writes {got['bytes_of_a_thread']} bytes, "
            f"{expected['bytes_of_a_thread']} are enough: it takes its own words, mma does the rest"
        )
    if np.allclose(c, right, rtol=1e-3, atol=1e-3):
        if got["mma_of_warps"] == expected["mma_of_warps"]:
            return "mma's products are those of other numbers than A's and B's"
        return "each tile of C takes k / 16 products of tensor cores: mma<Half>(sums, of_a, of_b)"
    if np.isnan(c).any():
        return "nan: elements of C that are not written"
    if a.shape[1] > 16:
        return "is each step added to the sums, and does it take its own 16 columns of A?"
    if np.allclose(np.sort(c, None), np.sort(right, None), rtol=1e-3, atol=1e-3):
        return "the numbers are right, and lie elsewhere: see the layout of D"
    return "a lane's words come from other places: see the layouts of A and B, and the pairs"
