import numpy as np

TOLERANCE = 1e-4


def cases(rng):
    def case(*shape, out=1, kernel=(2, 2), bias=False, dtype=np.float32, more=0, **settings):
        shapes = shape, (shape[-3] + more, out // settings.get("groups", 1), *kernel), (out,)
        x, w, b = (rng.integers(-9, 10, s).astype(dtype) for s in shapes)
        return {"x": x, "weight": w, "bias": b if bias else None, "settings": settings}

    yield "one pixel", case(1, 1, 1, 1)
    yield "windows side by side", case(1, 1, 2, 2, stride=2)
    yield "windows that overlap", case(1, 1, 2, 2)
    yield "a bias", case(1, 1, 1, 2, bias=True)
    yield "two input channels", case(1, 2, 2, 2)
    yield "three output channels", case(1, 2, 2, 2, out=3, bias=True)
    yield "a kernel that is no square", case(2, 1, 2, 3, kernel=(2, 3))
    yield "without a batch", case(2, 2, 2, out=3, bias=True)
    yield "padding crops", case(1, 1, 3, 3, kernel=(3, 3), padding=1)
    yield "dilation", case(1, 1, 2, 3, dilation=2)
    yield "one row and column more", case(1, 1, 2, 2, stride=2, output_padding=1, bias=True)
    yield (
        "padding and one more",
        case(1, 1, 3, 3, kernel=(3, 3), stride=2, padding=1, output_padding=1),
    )
    yield "pairs", case(
        1, 2, 3, 2, kernel=(2, 3), stride=(1, 3), padding=(1, 0), dilation=(2, 1),
        output_padding=(1, 2), out=2,
    )  # fmt: skip
    yield "two groups", case(1, 4, 2, 2, out=2, groups=2)
    yield "groups of several outputs", case(2, 4, 2, 2, out=6, groups=2, bias=True)
    yield "channels that do not fit", case(1, 2, 2, 2, more=1)
    yield "no images", case(0, 2, 2, 2, out=2)
    yield "float64", case(2, 2, 3, 3, kernel=(3, 3), stride=2, bias=True, dtype=np.float64)


def both(value):
    return value if isinstance(value, tuple) else (value, value)


def scattered(x, weight, bias, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """(y, the gradients of x, weight and bias), pixel by pixel"""
    s, p, more, d = map(both, (stride, padding, output_padding, dilation))
    if x.shape[1] != weight.shape[0]:
        raise RuntimeError(f"the weight asks for {weight.shape[0]} channels")
    k, share, part = weight.shape[2:], weight.shape[1], weight.shape[0] // groups
    size = [
        (x.shape[2 + i] - 1) * s[i] - 2 * p[i] + d[i] * (k[i] - 1) + more[i] + 1 for i in (0, 1)
    ]
    y = np.zeros((x.shape[0], share * groups, *size))
    passed = np.arange(y.size).reshape(y.shape) % 5 - 2
    to_x, to_w = np.zeros_like(x), np.zeros_like(weight)
    for c, i, j, r, q in np.ndindex(weight.shape[0], *k, *x.shape[2:]):
        at, over = r * s[0] + i * d[0] - p[0], q * s[1] + j * d[1] - p[1]
        if not (0 <= at < size[0] and 0 <= over < size[1]):
            continue
        outs = slice(c // part * share, (c // part + 1) * share)
        y[:, outs, at, over] += x[:, c, r, q, None] * weight[c, :, i, j]
        to_x[:, c, r, q] += passed[:, outs, at, over] @ weight[c, :, i, j]
        to_w[c, :, i, j] += x[:, c, r, q] @ passed[:, outs, at, over]
    if bias is not None:
        y = y + bias[:, None, None]
    return y, [to_x, to_w, None if bias is None else passed.sum((0, 2, 3)).astype(float)]


def answer(x, weight, bias, settings):
    batch = x if x.ndim == 4 else x[None]
    wide = [None if a is None else a.astype(np.float64) for a in (batch, weight, bias)]
    y, gradients = scattered(*wide, **settings)
    if x.ndim == 3:
        y, gradients[0] = y[0], gradients[0][0]
    gradients = [None if g is None else g.astype(x.dtype) for g in gradients]
    return {"y": y.astype(x.dtype), "gradients": gradients}


def why(got, expected, x, weight, bias, settings):
    if not isinstance(got, dict):
        return "the channels do not fit the weight: the answer is RuntimeError"
    mine, right = got["y"], expected["y"]
    if mine.shape != right.shape:
        return "size' = (size - 1) * stride - 2 * padding + dilation * (k - 1) + output_padding + 1"
    if np.allclose(mine, right, 1e-3, 1e-3):
        return "y is right; gradients of input, weight and bias must flow back through every step"
    if bias is not None and np.allclose(mine, right - bias[:, None, None], 1e-3, 1e-3):
        return "the bias is added to every pixel of its output channel"
    batch = x if x.ndim == 4 else x[None]
    turned = scattered(batch, weight[:, :, ::-1, ::-1], bias, **settings)[0]
    if np.allclose(mine, turned.reshape(mine.shape), 1e-3, 1e-3):
        return "the weight is not turned around: w[i, j] goes to row r * sH + i * dH - pH"
    if settings.get("groups", 1) > 1:
        return "input channel c reaches only the outputs of its part, c // (C / groups)"
    if settings.get("padding"):
        return "padding crops the canvas: p rows and columns at each side"
    return (
        "where windows overlap they add up: y[r*sH + i*dH - pH, ...] += w[c, o, i, j] * x[c, r, q]"
    )
