import numpy as np

TOLERANCE = 1e-4


def cases(rng):
    def case(*shape, steps=1, scale=1.0, dtype=np.float32, **options):
        param = rng.standard_normal(shape).astype(dtype)
        grads = [np.asarray(rng.standard_normal(shape) * scale, dtype) for _ in range(steps)]
        return {"param": param, "grads": grads, "options": {"lr": 0.1, **options}}

    yield "one step", case(2)
    yield "small gradients step as far", case(2, scale=1e-3)
    yield "three steps", case(2, 3, steps=3)
    yield "other betas", case(2, steps=4, betas=(0.5, 0.7))
    yield "a large eps", case(2, steps=3, eps=0.5)
    yield "uphill", case(2, steps=2, maximize=True)
    yield "weight decay", case(2, steps=3, weight_decay=0.5)
    yield "AdamW's decay", case(2, steps=3, weight_decay=0.5, decoupled_weight_decay=True)
    large = case(2, steps=5, betas=(0.9, 0.5), amsgrad=True)
    yield (
        "the largest mean square so far",
        {**large, "grads": [4 * large["grads"][0], *large["grads"][1:]]},
    )
    yield (
        "everything uphill",
        case(
            3, steps=4, weight_decay=0.1, decoupled_weight_decay=True, amsgrad=True, maximize=True
        ),
    )
    yield "no dims", case(steps=3)
    yield "no elements", case(0, steps=2)
    yield "float64", case(4, steps=10, dtype=np.float64)


def run(
    param, grads, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, maximize=False,
    decoupled_weight_decay=False, corrected=(True, True), under=False,
):  # fmt: skip
    w = param.astype(np.float64)
    m, v, u = (np.zeros_like(w) for _ in range(3))
    steps = []
    for t, grad in enumerate(grads, 1):
        g = (-1 if maximize else 1) * grad.astype(np.float64)
        if decoupled_weight_decay:
            w = w * (1 - lr * weight_decay)
        else:
            g = g + weight_decay * w
        m = betas[0] * m + (1 - betas[0]) * g
        v = betas[1] * v + (1 - betas[1]) * g * g
        u = np.maximum(u, v)
        first, second = (1 - b**t if c else 1.0 for b, c in zip(betas, corrected, strict=True))
        mean_square = (u if amsgrad else v) / second
        root = np.sqrt(mean_square + eps) if under else np.sqrt(mean_square) + eps
        w = w - lr * (m / first) / root
        steps.append(np.asarray(w, param.dtype))
    state = {"exp_avg": m, "exp_avg_sq": v} | ({"max_exp_avg_sq": u} if amsgrad else {})
    return steps, {name: np.asarray(a, param.dtype) for name, a in state.items()}


def answer(param, grads, options):
    steps, state = run(param, grads, **options)
    return {"steps": steps, "state": state, "grad": grads[-1]}


def why(got, expected, param, grads, options):
    def same(steps):
        pairs = zip(got["steps"], steps, strict=True)
        return all(np.allclose(a, b, 1e-3, 1e-3) for a, b in pairs)

    decoupled = not options.get("decoupled_weight_decay")
    if (got["grad"] != expected["grad"]).any():
        return "the gradient is not written: grad.add(...), not grad.add_(...)"
    if same([param] * len(grads)):
        return "the parameter is written in place: param.add_(...) or param.addcdiv_(...)"
    decayed = options.get("weight_decay")
    if decayed and same(run(param, grads, **{**options, "decoupled_weight_decay": decoupled})[0]):
        return "decoupled decay shrinks the parameter; the other kind is added to the gradient"
    for name, right in expected["state"].items():
        mine = got["state"].get(name, np.zeros(()))
        if right.any() and not mine.any():
            return f"state[{name!r}] is written in place: it outlives the step"
        if not np.allclose(mine, right, 1e-3, 1e-5):
            rest = {"exp_avg": "(1 - beta1) * g", "exp_avg_sq": "(1 - beta2) * g * g"}
            return (
                f"state[{name!r}] = beta * state + {rest[name]}, with g after weight decay"
                if name in rest
                else f"state[{name!r}] is the largest exp_avg_sq so far, element by element"
            )
    for corrected in ((False, False), (False, True), (True, False)):
        if same(run(param, grads, **options, corrected=corrected)[0]):
            means = [m for m, right in zip(("m", "v"), corrected, strict=True) if not right]
            return f"{' and '.join(means)} began at 0: divide by 1 - beta ** t, t = state['step']"
    if same(run(param, grads, **options, under=True)[0]):
        return "eps is added to the root, behind the correction, not under it"
    return "w = w - lr * (m / (1 - beta1 ** t)) / (sqrt(v) / sqrt(1 - beta2 ** t) + eps)"
