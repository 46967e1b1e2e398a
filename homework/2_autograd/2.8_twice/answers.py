import numpy as np

TOLERANCE = 1e-6


def cases(rng):
    def case(grad, y, grad_grad, kind="arrays", dtype=np.float32):
        values = [np.asarray(x, dtype) for x in (grad, y, grad_grad)]
        return {"grad": values[0], "y": values[1], "grad_grad": values[2], "kind": kind}

    def drawn(*shape, **options):
        y = np.tanh(rng.standard_normal(shape)).round(2)
        grad, grad_grad = (rng.standard_normal(shape).round(2) for _ in range(2))
        return case(grad, y, grad_grad, **options)

    yield "all 1, but for y", case([1], [0.5], [1])
    yield "a y below 0", case([1], [-0.5], [1])
    yield "a grad of 3", case([3], [0.5], [1])
    yield "a grad_grad of -2", case([3], [0.5], [-2])
    yield "a grad of 0", case([0], [0.5], [4])
    yield "y at -1, 0 and 1", case([2, 2, 2], [-1, 0, 1], [1, 1, 1])
    yield "a number of no dims", case(3, 0.25, 2)
    yield "a matrix", drawn(2, 3)
    yield "tensors", drawn(2, 3, kind="tensors")
    yield "float64", drawn(4, dtype=np.float64)
    yield "no elements", drawn(0, 2)
    yield "many", drawn(20, 30)


def answer(grad, y, grad_grad, kind):
    g, wide, passed = (x.astype(np.float64) for x in (grad, y, grad_grad))
    pair = passed * (1 - wide * wide), -2 * passed * g * wide
    gradients = tuple(np.asarray(x, y.dtype) for x in pair)
    inputs = {"grad": grad, "y": y, "grad_grad": grad_grad}
    return {"gradients": gradients, "kinds": [kind], **inputs}


def why(got, expected, grad, y, grad_grad, kind):
    if not isinstance(got, dict) or len(got["gradients"]) != 2:
        return "a pair is asked for: (gradient of grad, gradient of y)"
    first, second = (
        a.shape == b.shape and np.allclose(a, b, 1e-4, 1e-5)
        for a, b in zip(got["gradients"], expected["gradients"], strict=True)
    )
    if not first:
        return "z = grad * (1 - y * y) is linear in grad: its gradient is grad_grad * (1 - y * y)"
    if not second:
        return "the derivative of grad * (1 - y * y) by y has a factor of grad, one of y, and -2"
    if got["kinds"] != [kind]:
        return f"the gradients are {kind}, as what is given"
    return "nothing is written into: others still use saved and grad_grad"
