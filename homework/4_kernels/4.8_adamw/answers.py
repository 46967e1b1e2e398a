import numpy as np

TOLERANCE = 5e-6


def cases(rng):
    def case(*shape, steps=1, lr=0.1, betas=(0.9, 0.999), eps=1e-8, decay=0.0, scale=1.0):
        param, *grads = (rng.standard_normal(shape).astype(np.float32) for _ in range(steps + 1))
        return {
            "param": param, "grads": [g * np.float32(scale) for g in grads], "lr": lr,
            "betas": betas, "eps": eps, "weight_decay": decay,
        }  # fmt: skip

    yield "a number, a step", case(1)
    yield "three numbers, a step", case(3)
    yield "two steps", case(3, steps=2)
    yield "no elements", case(0, steps=2)
    yield "a large eps", case(3, steps=2, eps=0.5)
    yield "tiny gradients", case(3, steps=2, scale=1e-7)
    yield "weight decay", case(3, steps=3, decay=0.1)
    yield "other betas", case(2, 3, steps=3, betas=(0.5, 0.7), decay=0.01)
    yield "no memory", case(4, steps=2, betas=(0.0, 0.0))
    yield "gradients of 0", case(4, steps=2, scale=0.0, decay=0.1)
    for _ in range(3):
        yield "more", case(int(rng.integers(10, 500)), steps=5, lr=0.01, decay=0.05)


def answer(param, grads, lr, betas, eps, weight_decay):
    p = param.astype(np.float64)
    average, square = np.zeros_like(p), np.zeros_like(p)
    for t, grad in enumerate(grads, 1):
        p *= 1 - lr * weight_decay
        average = betas[0] * average + (1 - betas[0]) * grad
        square = betas[1] * square + (1 - betas[1]) * np.square(grad, dtype=np.float64)
        corrected = average / (1 - betas[0] ** t)
        p -= lr * corrected / (np.sqrt(square / (1 - betas[1] ** t)) + eps)
    found = {"average": average, "square": square, "param": p}
    return {name: a.astype(np.float32) for name, a in found.items()} | {"grads": grads}


def why(got, expected, param, grads, lr, betas, eps, weight_decay):
    def right(name):
        return np.allclose(got[name], expected[name], rtol=2e-5, atol=1e-30)

    if not right("average"):
        return "average moves towards the gradient by 1 - beta1, and is kept from step to step"
    if not right("square"):
        if np.allclose(got["square"], expected["square"], rtol=1e-3):
            return "1 - beta2 is computed in double: in float, 1 - 0.999 is 0.00100005"
        return "square = beta2 * square + (1 - beta2) * grad²"
    if weight_decay and not right("param"):
        return "both averages are right; param shrinks by 1 - lr * weight_decay, outside of them"
    return "both averages are right; the step is step_size * average / (sqrt(square) / root + eps)"
