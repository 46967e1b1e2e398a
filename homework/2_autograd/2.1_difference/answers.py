import numpy as np

TOLERANCE = 1e-8
DERIVATIVES = {  # of x along d
    "[x * x]": lambda x, d: [2 * x * d],
    "[x ** 3]": lambda x, d: [3 * x * x * d],
    "[exp(x)]": lambda x, d: [np.exp(x) * d],
    "[x[:1] * x[1:]]": lambda x, d: [x[1:] * d[:1] + x[:1] * d[1:]],
    "[sin(x), x.sum()]": lambda x, d: [np.cos(x) * d, d.sum(keepdims=True)],
    "[]": lambda x, d: [],
}


def cases(rng):
    def case(function, x, direction, eps=1e-5):
        x, direction = np.array(x, float), np.array(direction, float)
        return {"function": function, "x": x, "direction": direction, "eps": eps}

    yield "one number", case("[x * x]", [3], [1])
    yield "a direction of length 2", case("[x * x]", [3], [2])
    yield "backwards", case("[x * x]", [3], [-1])
    yield "a cube, where one side is not enough", case("[x ** 3]", [1], [1])
    yield "one of two inputs", case("[x * x]", [1, 2], [0, 1])
    yield "both inputs at once", case("[x[:1] * x[1:]]", [2, 5], [1, 3])
    yield "several outputs", case("[sin(x), x.sum()]", [0.3, 1, 2], [1, 0, -1])
    yield "no outputs", case("[]", [1], [1])
    yield "no inputs", case("[x * x]", [], [])
    for eps in (1e-6, 1e-5, 2e-5):
        yield "any", case("[exp(x)]", rng.uniform(-1, 1, 4), rng.uniform(-1, 1, 4), eps)


def answer(function, x, direction, eps):
    found = DERIVATIVES[function](x, direction)
    return {"derivatives": found, "calls": 2, "x": x, "direction": direction}


def why(got, expected, function, x, direction, eps):
    if got["x"].tobytes() != x.tobytes() or got["direction"].tobytes() != direction.tobytes():
        return "x and the direction are not changed: make new vectors"
    if got["calls"] != 2:
        return "the function is called at x + eps * direction and at x - eps * direction, once each"
    if not isinstance(got["derivatives"], list):
        return "a list is asked for, with one vector per output"
    if len(got["derivatives"]) == len(expected["derivatives"]):
        return "the two points are 2 * eps * direction apart, with x in their middle"
    return ""
