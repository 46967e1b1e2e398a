import numpy as np


def cases(rng):
    def case(*shape, dim=-1):
        scale = 10.0 ** rng.integers(-3, 4, shape)
        return {"x": (rng.standard_normal(shape) * scale).astype(np.float32), "dim": dim}

    yield "one element", case(1)
    yield "three", case(3)
    yield "no elements", case(2, 0)
    yield "no rows", case(0, 3)
    yield "two rows", case(2, 4)
    yield "as many as partial sums", case(8)
    yield "one more", case(9)
    yield "the parts in pairs", {"x": np.float32([1e8, 1, 0, 0, -1e8, 1, 0, 0]), "dim": -1}
    yield "two of each", case(2, 16)
    yield "columns", case(12, 3, dim=0)
    yield "an inf, and a row without", {
        "x": np.array([[1, np.inf, 2], [3, 4, 5]], np.float32), "dim": -1,
    }  # fmt: skip
    yield "a nan", {"x": np.array([[1, np.nan], [3, 4]], np.float32), "dim": -1}
    yield "a hundred", case(3, 100)
    for _ in range(4):
        yield "more", case(int(rng.integers(1, 6)), int(rng.integers(1, 1500)))


def answer(x, dim):
    """In float32, to the bit: the contract names every addition."""
    rows = np.moveaxis(x, dim, -1)
    padded = np.zeros((*rows.shape[:-1], -(-rows.shape[-1] // 8) * 8), np.float32)
    padded[..., : rows.shape[-1]] = rows
    parts = np.zeros((*rows.shape[:-1], 8), np.float32)
    with np.errstate(invalid="ignore"):
        for first in range(0, padded.shape[-1], 8):
            parts = parts + padded[..., first : first + 8]
        for half in (4, 2, 1):
            parts = parts[..., :half] + parts[..., half:]
    return parts[..., 0]


def why(got, expected, x, dim):
    if got.shape != expected.shape:
        return ""
    if np.allclose(got, expected, rtol=1e-3, atol=1e-3 * np.abs(x).max(initial=0)):
        return "the sum is about right, its order is not: the contract names every addition"
    if x.shape[dim] % 8:
        return "elements that do not fill a group of eight are added, too: x[i] to part i % 8"
    return ""
