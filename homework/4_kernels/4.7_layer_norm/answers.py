import numpy as np

TOLERANCE = 2e-5


def cases(rng):
    def case(*shape, weight=True, bias=True, shift=0.0, scale=1.0, eps=1e-5, dtype=np.float32):
        x = (rng.standard_normal(shape) * scale + shift).astype(dtype)
        w, b = (rng.standard_normal(shape[-1:]).astype(dtype) for _ in range(2))
        return {"x": x, "weight": w if weight else None, "bias": b if bias else None, "eps": eps}

    yield "a row", case(1, 3, weight=False, bias=False)
    yield "a weight", case(1, 3, bias=False)
    yield "a weight and a bias", case(1, 3)
    yield "two rows", case(2, 4)
    yield "equal elements", {
        "x": np.full((1, 4), 3, np.float32), "weight": None, "bias": None, "eps": 1e-5,
    }  # fmt: skip
    yield "one element a row", case(3, 1)
    yield "no rows", case(0, 3)
    yield "a large eps", case(2, 5, eps=0.5)
    yield "small elements", case(2, 6, scale=1e-3)
    yield "far from 0", {
        "x": np.float32([[4096, 4097, 4098, 4101]]), "weight": None, "bias": None,
        "eps": 1e-5,
    }  # fmt: skip
    yield "float64", case(3, 5, dtype=np.float64)
    yield "float64, very far from 0", {
        "x": np.float64([[2.0**40, 2.0**40 + 1, 2.0**40 + 3, 2.0**40 + 4]]), "weight": None,
        "bias": None, "eps": 1e-5,
    }  # fmt: skip
    for _ in range(3):
        rows, size = (int(n) for n in rng.integers(2, 200, 2))
        yield "larger", case(rows, size, shift=2.0, scale=3.0)


def answer(x, weight, bias, eps):
    wide = x.astype(np.longdouble)
    size = x.shape[-1]
    centred = wide - wide.mean(-1, keepdims=True)
    scale = 1 / np.sqrt((centred**2).mean(-1, keepdims=True) + eps)
    normal = centred * scale
    w = np.ones(size) if weight is None else weight
    y = normal * w + (0 if bias is None else bias)
    passed = np.arange(size) * w * np.ones_like(wide)
    over = passed.mean(-1, keepdims=True)
    along = (passed * normal).mean(-1, keepdims=True)
    return {
        "y": y.astype(x.dtype),
        "gradient of x": (scale * (passed - over - normal * along)).astype(x.dtype),
    }


def why(got, expected, x, weight, bias, eps):
    if not isinstance(got, dict):
        return ""
    close = np.allclose(got["y"], expected["y"], rtol=1e-3, atol=1e-3)
    if close:
        return "y is about right: backward reads mean and scale = 1 / sqrt(variance + eps)"
    if x.size and np.abs(x).max() > 1000:
        return "x² - mean² loses all digits here: the mean first, then the squares of x - mean"
    return "the variance is the mean of (x - mean)² over `size`; eps is added to it, then the root"
