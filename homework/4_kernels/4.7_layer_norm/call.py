import numpy as np


def call(student, x, weight, bias, eps):
    """The result, and the gradient of x for a gradient of 1, 2, 3, ... in each row, which
    backward makes of mean and scale."""
    rows, size = x.shape
    statistics = np.full((2, rows), np.nan, x.dtype)
    results = student(
        f"layer_norm_{x.dtype}", x, weight, bias, np.full_like(x, np.nan), *statistics, rows, size,
        float(eps),
    )  # fmt: skip
    y, mean, scale = (a.astype(np.float64) for a in results[-3:])
    normal = (x - mean[:, None]) * scale[:, None]
    passed = np.arange(size) * (1 if weight is None else weight) * np.ones_like(normal)
    over = passed.mean(-1, keepdims=True)
    along = (passed * normal).mean(-1, keepdims=True)
    gradient = scale[:, None] * (passed - over - normal * along)
    return {"y": y.astype(x.dtype), "gradient of x": gradient.astype(x.dtype)}
