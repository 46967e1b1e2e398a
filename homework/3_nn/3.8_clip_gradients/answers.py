import numpy as np

TOLERANCE = 1e-5


def cases(rng):
    def case(*shapes, max_norm=1.0, given="list", scale=2.0, dtype=np.float32, **options):
        grads = [
            None if s is None else np.asarray(rng.standard_normal(s) * scale + scale, dtype)
            for s in shapes
        ]
        return {"grads": grads, "options": {"max_norm": max_norm, **options}, "given": given}

    yield "3 and 4", {**case((2,)), "grads": [np.array([3, 4], np.float32)]}
    yield "two parameters", {
        **case((1,), (1,)), "grads": [np.array([3], np.float32), np.array([4], np.float32)],
    }  # fmt: skip
    yield "a small norm stays", case((2,), (3,), max_norm=100.0)
    yield "zeros", {**case((2,)), "grads": [np.zeros(2, np.float32)]}
    yield "a parameter without a gradient", case(None, (2, 3), None)
    yield "a tensor, not a list", case((4,), given="one")
    yield "a generator", case((2,), (2, 2), given="generator")
    yield "the sum of sizes", case((2,), (3,), norm_type=1.0)
    yield "the third power", case((2,), (3,), norm_type=3)
    yield "the largest", case((2,), (3,), norm_type=float("inf"))
    yield "negative elements", case((3,), (2,), norm_type=3, scale=-2.0)
    yield "the largest, in a word", case((2,), (3, 2), norm_type="inf", scale=-1.0)
    yield "no dims, and no elements", case((), (0,), (2,))
    yield "float64", case((5,), (2, 2), max_norm=0.1, dtype=np.float64)
    bad = [np.array([1, np.inf], np.float32), np.array([2], np.float32)]
    yield "an infinite norm", {**case((2,)), "grads": bad}
    yield "an error for it", {**case((2,), error_if_nonfinite=True), "grads": bad}
    yield "no error for a finite one", case((2,), error_if_nonfinite=True)
    yield "one call or many", case((2,), (3,), foreach=False)


def norm_of(grads, p):
    with np.errstate(all="ignore"):
        flat = np.abs(np.concatenate([g.astype(np.float64).ravel() for g in grads]))
        return flat.max(initial=0) if float(p) == np.inf else (flat**p).sum() ** (1 / p)


def answer(grads, options, given):
    there = [g for g in grads if g is not None]
    norm = norm_of(there, options.get("norm_type", 2.0))
    if options.get("error_if_nonfinite") and not np.isfinite(norm):
        raise RuntimeError("the norm is not finite, so that it cannot be clipped")
    factor = min(1.0, options["max_norm"] / (norm + 1e-6))
    with np.errstate(all="ignore"):
        scaled = [np.asarray(g.astype(np.float64) * factor, g.dtype) for g in there]
    return {"norm": np.asarray(norm, there[0].dtype), "grads": scaled}


def why(got, expected, grads, options, given):
    if not isinstance(got, dict):
        return "the answer is to refuse: RuntimeError where the norm is infinite or nan"
    there = [g for g in grads if g is not None]
    right = expected["norm"]
    if not np.isclose(got["norm"], right, 1e-4, equal_nan=True):
        after = norm_of(expected["grads"], options.get("norm_type", 2.0))
        if np.isclose(got["norm"], after, 1e-4):
            return "the answer is the norm before clipping"
        return "one norm for all: (sum of |g| ** p over all elements of all gradients) ** (1 / p)"
    if right <= options["max_norm"]:
        return "a norm below max_norm changes nothing: the factor is at most 1"
    if all(np.array_equal(a, b) for a, b in zip(got["grads"], there, strict=True)):
        return "the gradients are written in place: g.mul_(factor), not p.grad = ..."
    return "one factor for all elements of all gradients: max_norm / (norm + 1e-6)"
