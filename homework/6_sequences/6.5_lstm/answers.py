import numpy as np

TOLERANCE = 1e-5


def cases(rng):
    def case(rows, hidden, scale=1.0, dtype=np.float32):
        shapes = (rows, 4 * hidden), (rows, 4 * hidden), (rows, hidden), (rows, hidden)
        given = [(rng.standard_normal(shape) * scale).astype(dtype) for shape in shapes]
        return dict(zip("abhc", given, strict=True))

    yield "one unit", case(1, 1)
    empty = case(1, 1)
    yield "an empty cell", {**empty, "c": np.zeros((1, 1), np.float32)}
    shut = np.array([[-50, 50, 1, 1]], np.float32)
    yield "all is kept", {**case(1, 1), "a": shut, "b": np.zeros_like(shut)}
    yield "all is forgotten", {**case(1, 1), "a": -shut, "b": np.zeros_like(shut)}
    yield "some units", case(1, 3)
    yield "a batch", case(4, 2)
    yield "gates far open and far shut", case(3, 4, scale=20.0)
    yield "float64", case(2, 3, dtype=np.float64)
    yield "no rows", case(0, 2)
    yield "many", case(20, 16)


def sigmoid(x):
    return 0.5 * (1 + np.tanh(0.5 * x))


def stepped(a, b, c, order="ifgo"):
    parts = np.split((a.astype(np.float64) + b), 4, 1)
    part = {name: parts[place] for place, name in enumerate(order)}
    i, f, o = (sigmoid(part[name]) for name in "ifo")
    g, old = np.tanh(part["g"]), c.astype(np.float64)
    new = f * old + i * g
    return i, f, g, o, old, new, o * np.tanh(new)


def answer(a, b, h, c):
    i, f, g, o, old, new, shown = stepped(a, b, c)
    back = 2 + o * (1 - np.tanh(new) ** 2)  # the gradient of c'
    parts = [
        back * g * i * (1 - i), back * old * f * (1 - f),
        back * i * (1 - g * g), np.tanh(new) * o * (1 - o),
    ]  # fmt: skip
    gradients = [np.concatenate(parts, 1).astype(a.dtype), (back * f).astype(a.dtype)]
    return {
        "h": shown.astype(a.dtype),
        "c": new.astype(a.dtype),
        "gradients": gradients,
        "old c": c,
    }


def why(got, expected, a, b, h, c):
    def same(name, right):
        return got[name].shape == right.shape and np.allclose(got[name], right, 1e-4, 1e-4)

    *_, o, old, new, shown = stepped(a, b, c)
    if same("h", new) and same("c", shown):
        return "the pair is (h', c')"
    for order in ("ifog", "figo", "oifg", "fiog"):
        if same("c", stepped(a, b, c, order)[5]):
            return f"the four parts are in the order i, f, g, o; yours is {', '.join(order)}"
    if not same("c", new):
        return "c' = sigmoid(f) * c + sigmoid(i) * tanh(g)"
    if same("h", o * np.tanh(old)):
        return "h' shows the new cell, not the old one"
    if not same("h", shown):
        return "h' = sigmoid(o) * tanh(c')"
    return "h' and c' are right; gradients must flow back, and c is not changed"
