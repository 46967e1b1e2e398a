import numpy as np

TOLERANCE = 1e-3


def cases(rng):
    def case(shape, dims, eps=1e-5, centered=True, shift=0.0, scale=1.0, dtype=np.float32):
        x, grad = rng.standard_normal(shape) * scale + shift, rng.standard_normal(shape)
        return {
            "x": x.astype(dtype), "dims": dims, "eps": eps, "centered": centered,
            "grad": grad.astype(dtype),
        }  # fmt: skip

    yield "a row", {**case((3,), (0,)), "x": np.array([1, 2, 6], np.float32)}
    yield "two rows", case((2, 3), (-1,))
    yield "two columns", case((3, 2), (0,))
    yield "a large eps", case((2, 3), (1,), eps=0.5)
    yield "two dims", case((2, 3, 4), (-2, -1))
    yield "dims that are apart, as in batch norm", case((3, 2, 4), (0, 2))
    yield "without the mean", case((2, 4), (-1,), centered=False, shift=2.0)
    yield "a constant row", {**case((1, 3), (1,)), "x": np.full((1, 3), 7, np.float32)}
    yield "a large mean", case((2, 8), (1,), shift=10000.0)
    yield "float64", case((4, 3), (1,), dtype=np.float64)
    yield "float16", case((2, 6), (1,), scale=300.0, dtype=np.float16)
    yield "no rows", case((0, 3), (1,))


def answer(x, dims, eps, centered, grad):
    wide, passed = x.astype(np.float64), grad.astype(np.float64)
    if centered:
        wide = wide - wide.mean(dims, keepdims=True)
    rstd = 1 / np.sqrt((wide * wide).mean(dims, keepdims=True) + eps)
    y = wide * rstd
    back = passed - y * (passed * y).mean(dims, keepdims=True)
    if centered:
        back = back - passed.mean(dims, keepdims=True)
    return {"y": y.astype(x.dtype), "x": x, "gradient": (back * rstd).astype(x.dtype)}


def why(got, expected, x, dims, eps, centered, grad):
    if got["y"].shape != expected["y"].shape:
        return "the mean keeps its dims with size 1, so that it fits x: keepdim=True"
    if np.allclose(got["y"], expected["y"], 1e-3, 1e-3):
        return "y is right; gradients flow through the mean and the variance, too"
    if x.dtype == np.float16:
        return "halves are computed in float32, and become halves again: 300² overflows float16"
    wide = x.astype(np.float64)
    if centered and np.abs(wide.mean(dims)).max() > 1000:
        return "subtract the mean before you square: squares of 10000 leave no digits for the rest"
    centred = wide - wide.mean(dims, keepdims=True) if centered else wide
    square = (centred * centred).mean(dims, keepdims=True)
    count = wide.size // max(square.size, 1)
    wrong = {
        "eps stands under the root": (square, lambda v: np.sqrt(v) + eps),
        "the variance divides by n, not by n - 1": (
            square * count / max(count - 1, 1),
            lambda v: np.sqrt(v + eps),
        ),
        "the deviation divides, not the variance": (square, lambda v: v + eps),
    }
    for rule, (variance, root) in wrong.items():
        with np.errstate(all="ignore"):
            if np.allclose(got["y"], centred / root(variance), 1e-3, 1e-3):
                return rule
    return "y = (x - mean) / sqrt(variance + eps)" if centered else "y = x / sqrt(mean(x²) + eps)"
