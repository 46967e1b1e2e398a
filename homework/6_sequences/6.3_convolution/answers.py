import numpy as np

TOLERANCE = 1e-4


def cases(rng):
    def case(*shape, out=1, kernel=(2, 2), bias=False, dtype=np.float32, more=0, **settings):
        parts = settings.get("groups", 1)
        inputs = shape[-3] // parts + more
        x, w, b = (
            rng.integers(-9, 10, s).astype(dtype) for s in (shape, (out, inputs, *kernel), (out,))
        )
        return {"x": x, "weight": w, "bias": b if bias else None, "settings": settings}

    yield "one window", case(1, 1, 2, 2)
    yield "four windows", case(1, 1, 3, 3)
    yield "a bias", case(1, 1, 2, 3, bias=True)
    yield "two input channels", case(1, 2, 3, 3)
    yield "three output channels", case(1, 2, 3, 3, out=3, bias=True)
    yield "a kernel that is no square", case(2, 1, 3, 4, kernel=(2, 3))
    yield "without a batch", case(2, 3, 3, out=3, bias=True)
    yield "a stride", case(1, 1, 5, 5, stride=2)
    yield "padding", case(1, 1, 2, 3, padding=1)
    yield "dilation", case(1, 1, 4, 5, dilation=2)
    yield (
        "pairs",
        case(1, 2, 6, 5, kernel=(2, 3), stride=(1, 2), padding=(0, 2), dilation=(3, 1), out=2),
    )
    yield "two groups", case(1, 4, 3, 3, out=2, groups=2)
    yield "groups of several outputs", case(2, 4, 3, 3, out=6, groups=2, bias=True)
    yield "each channel by itself", case(1, 3, 3, 3, out=3, groups=3)
    yield "channels that do not fit", case(1, 2, 3, 3, more=1)
    yield "no images", case(0, 2, 3, 3, out=2)
    yield "float64", case(2, 2, 4, 4, kernel=(3, 3), padding=1, bias=True, dtype=np.float64)


def both(value):
    return value if isinstance(value, tuple) else (value, value)


def patches(wide, k, s, d, count):
    """(C, kH, kW, H', W') of one padded image (C, H, W), as places into it."""
    rows = np.arange(count[0])[None, :] * s[0] + np.arange(k[0])[:, None] * d[0]
    cols = np.arange(count[1])[None, :] * s[1] + np.arange(k[1])[:, None] * d[1]
    return (slice(None), rows[:, None, :, None], cols[None, :, None, :])


def convolved(x, weight, bias, stride=1, padding=0, dilation=1, groups=1, passed=None):
    """(y, the gradients of x, weight and bias)"""
    s, p, d = map(both, (stride, padding, dilation))
    k, (out, share) = weight.shape[2:], weight.shape[:2]
    if x.shape[1] != share * groups:
        raise RuntimeError(f"weight and groups ask for {share * groups} channels")
    wide = np.pad(x, ((0, 0), (0, 0), (p[0],) * 2, (p[1],) * 2))
    count = [(wide.shape[2 + i] - d[i] * (k[i] - 1) - 1) // s[i] + 1 for i in (0, 1)]
    place = patches(wide, k, s, d, count)
    y = np.zeros((x.shape[0], out, *count))
    passed = np.arange(y.size).reshape(y.shape) % 5 - 2 if passed is None else passed
    to_x, to_w = np.zeros_like(wide), np.zeros_like(weight)
    for n in range(x.shape[0]):
        seen = wide[n][place]  # (C, kH, kW, H', W')
        spread = np.zeros_like(seen)
        for o in range(out):
            part = slice(o // (out // groups) * share, (o // (out // groups) + 1) * share)
            y[n, o] = np.einsum("cij,cijrq->rq", weight[o], seen[part])
            to_w[o] += np.einsum("rq,cijrq->cij", passed[n, o], seen[part])
            spread[part] += np.einsum("cij,rq->cijrq", weight[o], passed[n, o])
        np.add.at(to_x[n], place, spread)
    inside = to_x[:, :, p[0] : p[0] + x.shape[2], p[1] : p[1] + x.shape[3]]
    if bias is not None:
        y = y + bias[:, None, None]
    return y, [inside, to_w, None if bias is None else passed.sum((0, 2, 3)).astype(float)]


def wide_of(x, weight, bias):
    batch = x if x.ndim == 4 else x[None]
    return [None if a is None else a.astype(np.float64) for a in (batch, weight, bias)]


def answer(x, weight, bias, settings):
    y, gradients = convolved(*wide_of(x, weight, bias), **settings)
    if x.ndim == 3:
        y, gradients[0] = y[0], gradients[0][0]
    gradients = [None if g is None else g.astype(x.dtype) for g in gradients]
    return {"y": y.astype(x.dtype), "gradients": gradients}


def why(got, expected, x, weight, bias, settings):
    if not isinstance(got, dict):
        return "the channels do not fit weight and groups: the answer is RuntimeError"
    mine, right = got["y"], expected["y"]
    if mine.shape != right.shape:
        return "H' and W' are as in task 6.1: (size + 2 p - d (k - 1) - 1) // s + 1"
    if np.allclose(mine, right, 1e-3, 1e-3):
        return "y is right; gradients of input, weight and bias must flow back through every step"
    given = wide_of(x, weight, bias)
    turned = convolved(given[0], given[1][:, :, ::-1, ::-1], given[2], **settings)[0]
    if np.allclose(mine, turned.reshape(mine.shape), 1e-3, 1e-3):
        return "the weight is not turned around: w[i, j] meets x[r + i, q + j]"
    if bias is not None and np.allclose(mine, right - bias[:, None, None], 1e-3, 1e-3):
        return "the bias is added to every pixel of its output channel"
    if settings.get("groups", 1) > 1:
        return "output channel o sees only the input channels of its part, o // (O / groups)"
    return "y[o, r, q] = b[o] + the sum of w[o, c, i, j] * x[c, r*sH + i*dH - pH, q*sW + j*dW - pW]"
