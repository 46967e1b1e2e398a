import numpy as np

TOLERANCE = 1e-5


def cases(rng):
    def case(rows, hidden, scale=1.0, dtype=np.float32, **others):
        shapes = (rows, 3 * hidden), (rows, 3 * hidden), (rows, hidden)
        given = [(rng.standard_normal(shape) * scale).astype(dtype) for shape in shapes]
        return {**dict(zip("abh", given, strict=True)), **others}

    yield "one unit", case(1, 1)
    still = np.array([[0, 50, 1]], np.float32)
    yield "the state stays", case(1, 1, a=still, b=np.zeros_like(still))
    yield "the state is new", case(1, 1, a=-still, b=np.zeros_like(still))
    past = np.array([[-50, 0, 0.5]], np.float32)
    yield "the past is reset", case(1, 1, a=past, b=np.array([[0, 0, 2]], np.float32))
    yield "an empty state", case(2, 2, h=np.zeros((2, 2), np.float32))
    yield "some units", case(1, 3)
    yield "a batch", case(4, 2)
    yield "gates far open and far shut", case(3, 4, scale=20.0)
    yield "float64", case(2, 3, dtype=np.float64)
    yield "no rows", case(0, 2)
    yield "many", case(20, 16)


def sigmoid(x):
    return 0.5 * (1 + np.tanh(0.5 * x))


def parts_of(a, b, h):
    (a_r, a_z, a_n), (b_r, b_z, b_n) = (np.split(x.astype(np.float64), 3, 1) for x in (a, b))
    return sigmoid(a_r + b_r), sigmoid(a_z + b_z), a_n, b_n, h.astype(np.float64)


def answer(a, b, h):
    r, z, a_n, b_n, old = parts_of(a, b, h)
    n = np.tanh(a_n + r * b_n)
    to_n = (1 - z) * (1 - n * n)  # of what the tanh is taken of
    to_r, to_z = to_n * b_n * r * (1 - r), (old - n) * z * (1 - z)
    gradients = np.concatenate([to_r, to_z, to_n], 1), np.concatenate([to_r, to_z, to_n * r], 1), z
    new = (n + z * (old - n)).astype(h.dtype)
    return {
        "h": new, "no cell": True, "gradients": [g.astype(h.dtype) for g in gradients], "old h": h
    }  # fmt: skip


def why(got, expected, a, b, h):
    if not isinstance(got, dict) or not got["no cell"]:
        return "the answer is a pair, (h', None): a GRU has no cell"
    r, z, a_n, b_n, old = parts_of(a, b, h)
    n = np.tanh(a_n + r * b_n)

    def with_new(new):
        return new + z * (old - new)

    wrong = {
        "z is the share of the old state: h' = (1 - z) * n + z * h": z * n + (1 - z) * old,
        "the reset gate is on the state's share: n = tanh(a_n + r * b_n)": with_new(
            np.tanh(r * (a_n + b_n))
        ),
        "r multiplies b_n, not a_n": with_new(np.tanh(r * a_n + b_n)),
        "r multiplies b_n: without it the past is never reset": with_new(np.tanh(a_n + b_n)),
        "the parts are in the order r, z, n": np.tanh(a_n + z * b_n) * (1 - r) + r * old,
    }
    for rule, value in wrong.items():
        if got["h"].shape == value.shape and np.allclose(got["h"], value, 1e-4, 1e-4):
            return rule
    if np.allclose(got["h"], expected["h"], 1e-4, 1e-4):
        return "h' is right; gradients must flow back through a, b and h, and h is not changed"
    return "r = σ(a_r + b_r), z = σ(a_z + b_z), n = tanh(a_n + r * b_n), h' = (1 - z) * n + z * h"
