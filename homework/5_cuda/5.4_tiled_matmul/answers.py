import numpy as np

TOLERANCE = 1e-5
TILE = 16


def cases(rng):
    def case(m, k, n):
        a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((m, k), (k, n)))
        return {"a": a, "b": b}

    yield "a tile of each", case(TILE, TILE, TILE)
    yield "two tiles of products", case(TILE, 2 * TILE, TILE)
    yield "two tiles across", case(TILE, TILE, 2 * TILE)
    yield "two tiles down", case(2 * TILE, TILE, TILE)
    yield "numbers", case(1, 1, 1)
    yield "columns that do not fill a tile", case(TILE, TILE, 19)
    yield "rows that do not fill a tile", case(19, TILE, TILE)
    yield "products that do not fill a tile", case(TILE, 19, TILE)
    yield "no products", case(2, 0, 3)
    yield "nothing fills a tile", case(17, 33, 5)
    for _ in range(3):
        yield "any", case(*(int(x) for x in rng.integers(1, 70, 3)))


def answer(a, b):
    (m, k), n = a.shape, b.shape[1]
    tiles_down, tiles_across = -(-m // TILE), -(-n // TILE)
    return {
        "c": (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32),
        "bytes_read": 4 * k * (m * tiles_across + n * tiles_down),
        "bytes_of_a_thread": 576 * -(-k // TILE) + 64,
    }


def why(got, expected, a, b):
    wrong = ~np.isclose(got["c"], expected["c"], rtol=1e-3, atol=1e-3)
    if not wrong.any() and got["bytes_read"] > expected["bytes_read"]:
        return (
            f"the kernel reads {got['bytes_read']} bytes of global memory, "
            f"{expected['bytes_read']} are enough: a block reads "
            "each number of its tiles once, and shares it"
        )
    if got["bytes_of_a_thread"] > expected["bytes_of_a_thread"]:
        return (
            f"a thread reads and writes {got['bytes_of_a_thread']} bytes, "
            f"{expected['bytes_of_a_thread']} are enough: the threads of a block share the work"
        )
    if np.isnan(got["c"]).any():
        return "nan: elements of C that are not written, or made of what is not written"
    if a.shape[1] > TILE:
        return "the products of all tiles are added: is one left out, or read from another place?"
    if a.shape[1] < TILE:
        return "where a tile reaches beyond a matrix, it holds 0"
    return "c[i, j] is the sum of a[i, p] b[p, j] over p"
