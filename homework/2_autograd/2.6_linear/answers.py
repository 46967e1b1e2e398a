import math

import numpy as np

TOLERANCE = 1e-5


def cases(rng):
    def case(rows, inputs, outputs, needs=(True, True, True), dtype=np.float32):
        shapes = (*rows, inputs), (outputs, inputs), (*rows, outputs)
        x, weight, grad = (rng.standard_normal(s).round(2).astype(dtype) for s in shapes)
        return {"x": x, "weight": weight, "grad": grad, "needs": needs}

    yield "one row", case((1,), 2, 1)
    yield "only the gradient of x", case((2,), 2, 3, (True, False, False))
    yield "only the gradient of weight", case((2,), 2, 3, (False, True, False))
    yield "only the gradient of bias", case((2,), 2, 3, (False, False, True))
    yield "a layer without bias", case((4,), 2, 3, (True, True, False))
    yield "a square weight", case((4,), 3, 3)
    yield "as many rows as outputs", case((3,), 2, 3)
    yield "a vector", case((), 2, 3)
    yield "a batch of sequences", case((2, 3), 4, 2)
    yield "a square of everything", case((3, 3), 3, 3)
    yield "no rows", case((0,), 2, 3)
    yield "no rows in a batch", case((2, 0), 2, 3)
    yield "float64", case((5,), 3, 2, dtype=np.float64)
    yield "many", case((8, 16), 40, 30)


def answer(x, weight, grad, needs):
    wide, right, passed = (a.astype(np.float64) for a in (x, weight, grad))
    flat, rows = (a.reshape(math.prod(a.shape[:-1]), a.shape[-1]) for a in (passed, wide))
    to_weight = sum(
        (np.outer(g, row) for g, row in zip(flat, rows, strict=True)), np.zeros(right.shape)
    )
    gradients = zip((passed @ right, to_weight, flat.sum(0)), needs, strict=True)
    gradients = tuple(np.asarray(g, x.dtype) if need else None for g, need in gradients)
    return {"gradients": gradients, "x": x, "weight": weight, "grad": grad}


def why(got, expected, x, weight, grad, needs):
    if not isinstance(got, dict) or len(got["gradients"]) != 3:
        return "a tuple of three is asked for: (gradient of x, of weight, of bias)"
    if any(got[name].tobytes() != expected[name].tobytes() for name in ("x", "weight", "grad")):
        return "nothing is written into: others still use saved and grad"
    names = ("x", "weight", "bias")
    for g, e, name in zip(got["gradients"], expected["gradients"], names, strict=True):
        if e is None and g is not None:
            return f"nobody needs the gradient of {name}: None stands in its place"
        if e is not None and (not isinstance(g, np.ndarray) or g.shape != e.shape):
            return f"the gradient of {name} has the shape of {name}, {e.shape}"
    return "x: grad @ weight; weight: the sum of grad[r, o] * x[r, i] over rows; bias: that of grad"
