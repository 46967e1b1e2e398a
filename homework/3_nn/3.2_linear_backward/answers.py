import math

import numpy as np

TOLERANCE = 1e-5


def cases(rng):
    def case(*rows, inputs=3, outputs=2, needs=(True, True, True), dtype=np.float32):
        x, weight, grad = (
            rng.standard_normal(shape).astype(dtype)
            for shape in ((*rows, inputs), (outputs, inputs), (*rows, outputs))
        )
        return {"x": x, "weight": weight, "grad": grad, "needs": needs}

    yield "one row", case(1)
    yield "some rows", case(4)
    yield "as many rows as columns", case(3, inputs=3, outputs=3)
    yield "without a bias", case(2, needs=(True, True, False))
    yield "only x's gradient", case(2, needs=(True, False, False))
    yield "the weight is fixed", case(2, needs=(False, False, True))
    yield "no leading dims", case()
    yield "two leading dims", case(2, 3)
    yield "three leading dims", case(2, 1, 3, outputs=4)
    yield "float64", case(3, dtype=np.float64)
    yield "no rows", case(0)
    yield "no inputs", case(2, inputs=0)
    yield "many", case(30, inputs=40, outputs=20)


def answer(x, weight, grad, needs):
    count = math.prod(x.shape[:-1])
    rows = x.reshape(count, weight.shape[1]).astype(np.float64)
    passed = grad.reshape(count, weight.shape[0]).astype(np.float64)
    to_x = (passed @ weight.astype(np.float64)).reshape(x.shape)
    gradients = to_x, passed.T @ rows, passed.sum(0)
    kept = tuple(g.astype(x.dtype) if n else None for g, n in zip(gradients, needs, strict=True))
    return {"gradients": kept, "x": x, "weight": weight, "grad": grad}


def why(got, expected, x, weight, grad, needs):
    if not isinstance(got, dict):
        return "three are asked for, in a tuple: (of x, of weight, of bias)"
    if any(got[name].tobytes() != expected[name].tobytes() for name in ("x", "weight", "grad")):
        return "nothing is written into: others still use saved and grad"
    of = zip(("x", "the weight", "the bias"), got["gradients"], expected["gradients"], strict=False)
    for name, mine, right in of:
        if (mine is None) != (right is None):
            return f"the gradient of {name}: None where needs is false, and only there"
        if mine is not None and mine.shape != right.shape:
            return f"the gradient of {name} has its shape: {name} is {right.shape}"
        if mine is not None and not np.allclose(mine, right, 1e-3, 1e-4):
            return {
                "x": "to_x[r, i] = sum over o of grad[r, o] * weight[o, i]",
                "the weight": "to_weight[o, i] = sum over all rows of grad[r, o] * x[r, i]",
                "the bias": "to_bias[o] = sum over all rows of grad[r, o]",
            }[name]
    return ""
