import numpy as np

TOLERANCE = 1e-5


def cases(rng):
    def case(*shape, dim=-1, scale=1.0, dtype=np.float32, x=None):
        x = rng.standard_normal(shape) * scale if x is None else np.array(x)
        grad = rng.standard_normal(x.shape).astype(dtype)
        return {"x": x.astype(dtype), "dim": dim, "grad": grad}

    yield "two scores", case(x=[0.0, 1.0])
    yield "a row", case(5)
    yield "rows", case(2, 3)
    yield "columns", case(3, 2, dim=0)
    yield "the dim between", case(2, 3, 4, dim=1)
    yield "a large score", case(x=[1000.0, 999.0, 0.0])
    yield "a share that is 0 in float32", case(x=[0.0, -200.0])
    yield "rows far apart", case(x=[[1000.0, 1001.0], [-1000.0, -1002.0]])
    yield "a score of -inf", case(x=[0.5, -np.inf, 1.5])
    yield "one score", case(3, 1)
    yield "float64", case(3, 4, dim=-2, dtype=np.float64)
    yield "no rows", case(0, 3)
    yield "no scores", case(2, 0)
    yield "many", case(20, 30, scale=50.0)


def answer(x, dim, grad):
    wide, passed = x.astype(np.float64), grad.astype(np.float64)
    if x.size:
        wide = wide - wide.max(dim, keepdims=True)
    with np.errstate(divide="ignore"):
        y = wide - np.log(np.exp(wide).sum(dim, keepdims=True))
    gradient = passed - np.exp(y) * passed.sum(dim, keepdims=True)
    return {"y": y.astype(x.dtype), "gradient": gradient.astype(x.dtype), "x": x}


def why(got, expected, x, dim, grad):
    y, right = got["y"], expected["y"]
    if y.shape != right.shape:
        return "maximum and sum keep their dim with size 1: keepdim=True"
    if x.size and not np.isfinite(np.take_along_axis(y, x.argmax(dim, keepdims=True), dim)).all():
        return "exp overflows, or all of a line is 0: subtract the largest score of each line first"
    if np.isfinite(right).all() and not np.isfinite(y).all():
        return "a logarithm of 0: subtract log(sum), do not take the logarithm of a share"
    if y.size and np.allclose(y, right, 1e-3, 1e-3):
        return "gradients flow through the sum, and x is not changed"
    if y.size and not np.allclose(np.exp(y.astype(np.float64)).sum(dim), 1, 1e-3):
        return f"along dim {dim} the shares exp(y) are to sum to 1"
    return "y = (x - m) - log(sum of exp(x - m)), m the largest of the line"
