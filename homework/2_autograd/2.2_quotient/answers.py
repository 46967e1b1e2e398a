import numpy as np

TOLERANCE = 1e-6


def cases(rng):
    def case(*shape, needs=(True, True), scale=1.0, dtype=np.float32):
        x, y, grad = (rng.standard_normal(shape).astype(dtype) for _ in range(3))
        y = (np.sign(y) * (np.abs(y) + 0.5) * scale).astype(dtype)
        return {"x": x, "y": y, "grad": grad, "needs": needs}

    yield "one number", case(1)
    yield "only x's gradient", case(2, needs=(True, False))
    yield "only y's gradient", case(2, needs=(False, True))
    yield "a matrix", case(2, 3)
    yield "float64", case(3, 2, dtype=np.float64)
    yield "no elements", case(0, 2)
    large = case(3, scale=1e25)
    yield "y * y is inf", {**large, "x": large["x"] * np.float32(1e20)}
    yield "many", case(40, 30)


def answer(x, y, grad, needs):
    wide, over, passed = (a.astype(np.float64) for a in (x, y, grad))
    to_x = (passed / over).astype(x.dtype) if needs[0] else None
    to_y = (-passed * (wide / over / over)).astype(x.dtype) if needs[1] else None
    return {"gradients": (to_x, to_y), "x": x, "y": y, "grad": grad}


def why(got, expected, x, y, grad, needs):
    if not isinstance(got, dict):
        return "a pair is asked for: (gradient of x, gradient of y)"
    if any(got[name].tobytes() != expected[name].tobytes() for name in ("x", "y", "grad")):
        return "nothing is written into: others still use saved and grad"
    return ""
