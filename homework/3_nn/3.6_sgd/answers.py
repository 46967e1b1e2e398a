import numpy as np

TOLERANCE = 1e-5


def cases(rng):
    def case(*shape, steps=1, dtype=np.float32, **options):
        param = rng.standard_normal(shape).astype(dtype)
        grads = [rng.standard_normal(shape).astype(dtype) for _ in range(steps)]
        return {"param": param, "grads": grads, "options": {"lr": 0.1, **options}}

    yield "one step", case(2)
    yield "three steps", case(2, 3, steps=3)
    yield "uphill", case(2, steps=2, maximize=True)
    yield "weight decay", case(2, steps=2, weight_decay=0.5)
    yield "momentum, the first step", case(2, momentum=0.9)
    yield "momentum", case(2, steps=4, momentum=0.9)
    yield "dampening", case(2, steps=3, momentum=0.8, dampening=0.3)
    yield "Nesterov", case(2, steps=3, momentum=0.9, nesterov=True)
    yield "momentum and decay", case(3, steps=3, momentum=0.5, weight_decay=0.2)
    yield (
        "everything uphill",
        case(3, steps=4, momentum=0.7, nesterov=True, weight_decay=0.3, maximize=True),
    )
    yield "no dims", case(steps=2, momentum=0.9)
    yield "no elements", case(0, steps=2, momentum=0.9)
    yield "float64", case(4, steps=3, momentum=0.9, dtype=np.float64)


def run(param, grads, lr, momentum=0, dampening=0, weight_decay=0, nesterov=False, maximize=False):
    w, v, steps = param.astype(np.float64), None, []
    for grad in grads:
        d = (-1 if maximize else 1) * grad.astype(np.float64) + weight_decay * w
        if momentum:
            v = d if v is None else momentum * v + (1 - dampening) * d
            d = d + momentum * v if nesterov else v
        w = w - lr * d
        steps.append(w.astype(param.dtype))
    return steps, None if v is None else np.asarray(v, param.dtype)


def answer(param, grads, options):
    steps, buffer = run(param, grads, **options)
    steps = [np.asarray(step) for step in steps]
    return {"steps": steps, "momentum_buffer": buffer, "grad": grads[-1]}


def why(got, expected, param, grads, options):
    def same(steps):
        pairs = zip(got["steps"], steps, strict=True)
        return all(np.allclose(a, b, 1e-4, 1e-4) for a, b in pairs)

    if (got["grad"] != expected["grad"]).any():
        return (
            "the gradient is not written: grad.add(...) is new, grad.add_(...) writes, and so does "
            "a buffer that is the same tensor"
        )
    if same([param] * len(grads)):
        return "the parameter is written in place: param.add_(...)"
    if same(run(param, grads, **{**options, "maximize": not options.get("maximize")})[0]):
        return "the step goes against the gradient, with maximize along it"
    if options.get("nesterov") and same(run(param, grads, **{**options, "nesterov": False})[0]):
        return "for nesterov the step is d + momentum * v, else v"
    if options.get("dampening") and same(run(param, grads, **{**options, "dampening": 0})[0]):
        return "what the velocity takes in is scaled: (1 - dampening) * d"
    first = np.allclose(got["steps"][0], expected["steps"][0], 1e-4, 1e-4)
    if options.get("momentum") and not options.get("nesterov") and not first:
        return "the first velocity is d itself, without momentum and without dampening"
    if options.get("weight_decay") and not first:
        return "weight decay comes first: d = d + weight_decay * param, then momentum"
    if options.get("momentum") and got["momentum_buffer"] is None:
        return 'the velocity is kept in self.state[param]["momentum_buffer"]'
    if options.get("momentum"):
        return (
            "v = momentum * v + (1 - dampening) * d, in memory of its own, not in grad's; "
            "then d = d + momentum * v for nesterov, else d = v"
        )
    return "param = param - lr * d"
