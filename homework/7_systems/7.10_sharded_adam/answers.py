import numpy as np

TOLERANCE = 1e-9


def case(rng, ranks, size, steps):
    count = ranks * size
    return {
        "parameters": rng.standard_normal(count),
        "gradients": rng.standard_normal((steps, ranks, count)),
        "lr": 0.1,
    }


def cases(rng):
    yield "one rank, one step", case(rng, 1, 3, 1)
    yield "two ranks, one step", case(rng, 2, 2, 1)
    yield "two ranks, three steps", case(rng, 2, 3, 3)
    yield "one number each", case(rng, 4, 1, 2)
    yield "five ranks", case(rng, 5, 4, 4)


def answer(parameters, gradients, lr):
    """Plain Adam with the mean gradient, whose state is cut afterwards."""
    steps, ranks, count = gradients.shape
    weights, first, second = parameters.copy(), np.zeros(count), np.zeros(count)
    for step in range(1, steps + 1):
        g = gradients[step - 1].mean(0)
        first += 0.1 * (g - first)
        second += 0.001 * (g * g - second)
        root = np.sqrt(second / (1 - 0.999**step)) + 1e-8
        weights -= lr * first / (1 - 0.9**step) / root
    cuts = np.split(first, ranks), np.split(second, ranks)
    states = [list(pair) for pair in zip(*cuts, strict=True)]
    calls = [("reduce_scatter", count), ("all_gather", count // ranks)] * steps
    return np.stack([weights] * ranks), states, [calls] * ranks


def why(got, expected, parameters, gradients, lr):
    if got[2] != expected[2]:
        return "a step is one reduce_scatter of the gradient and one all_gather of a part"
    if not np.allclose(got[0], got[0][0]):
        return "after a step all ranks have the same parameters"
    for ours, theirs in zip(got[1], expected[1], strict=True):
        if not (np.allclose(ours[0], theirs[0]) and np.allclose(ours[1], theirs[1])):
            return "rank r keeps the two moments of the mean gradient for its part, in place"
    return "the parameters take the step of Adam with the mean gradient of all ranks"
