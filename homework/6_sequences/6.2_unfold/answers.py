import numpy as np

TOLERANCE = 1e-6


def cases(rng):
    def case(*shape, strided=False, dtype=np.float32, **settings):
        x = rng.integers(1, 100, shape).astype(dtype)
        return {"x": x, "settings": settings, "strided": strided}

    yield "one window", case(1, 1, 2, 2, kernel_size=2)
    yield (
        "four windows",
        {
            **case(1, 1, 3, 3, kernel_size=2),
            "x": np.arange(1, 10, dtype=np.float32).reshape(1, 1, 3, 3),
        },
    )
    yield "a kernel of one", case(1, 2, 2, 3, kernel_size=1)
    yield "a kernel that is no square", case(1, 1, 3, 4, kernel_size=(2, 3))
    yield "two channels", case(1, 2, 3, 3, kernel_size=2)
    yield "two images", case(2, 2, 3, 3, kernel_size=2)
    yield "without a batch", case(2, 3, 3, kernel_size=2)
    yield "a stride", case(1, 1, 4, 5, kernel_size=2, stride=2)
    yield "padding", case(1, 1, 2, 3, kernel_size=2, padding=1)
    yield "dilation", case(1, 1, 4, 5, kernel_size=2, dilation=2)
    yield (
        "pairs",
        case(1, 2, 6, 5, kernel_size=(2, 3), dilation=(3, 1), padding=(0, 2), stride=(1, 3)),
    )
    yield "a rest at the end", case(1, 1, 6, 6, kernel_size=3, stride=2)
    yield "it does not fit", case(1, 1, 2, 4, kernel_size=3)
    yield "an image in another layout", case(2, 2, 3, 4, kernel_size=2, strided=True)
    yield "no images", case(0, 2, 3, 3, kernel_size=2)
    yield "float64", case(2, 1, 3, 3, kernel_size=2, padding=1, dtype=np.float64)


def both(value):
    return value if isinstance(value, tuple) else (value, value)


def columns_of(x, kernel_size, dilation=1, padding=0, stride=1):
    """The columns, and for each the place in x that it shows, -1 for padding."""
    k, d, p, s = map(both, (kernel_size, dilation, padding, stride))
    images, channels, height, width = x.shape
    count = [
        (n + 2 * p[i] - d[i] * (k[i] - 1) - 1) // s[i] + 1 for i, n in enumerate((height, width))
    ]
    if min(count) < 1:
        raise RuntimeError("no window fits")
    places = np.full((images, channels, *k, *count), -1)
    for index in np.ndindex(*places.shape):
        n, c, i, j, r, q = index
        at, over = r * s[0] + i * d[0] - p[0], q * s[1] + j * d[1] - p[1]
        if 0 <= at < height and 0 <= over < width:
            places[index] = ((n * channels + c) * height + at) * width + over
    places = places.reshape(images, channels * k[0] * k[1], count[0] * count[1])
    flat = np.append(x.ravel(), 0).astype(x.dtype)
    return flat[places], places


def answer(x, settings, strided):
    columns, places = columns_of(x if x.ndim == 4 else x[None], **settings)
    columns = columns if x.ndim == 4 else columns[0]
    weights = np.arange(1, columns.size + 1).reshape(columns.shape) % 7
    total = np.zeros(x.size + 1)
    np.add.at(total, places.ravel(), weights.ravel())
    return {"columns": columns, "gradient": total[:-1].reshape(x.shape).astype(x.dtype), "x": x}


def why(got, expected, x, settings, strided):
    if not isinstance(got, dict):
        return "where not one window fits, the answer is to refuse: RuntimeError"
    mine, right = got["columns"], expected["columns"]
    if mine.shape == right.swapaxes(-1, -2).shape and np.array_equal(mine, right.swapaxes(-1, -2)):
        return "a column per window: (N, C * kH * kW, L), not (N, L, C * kH * kW)"
    if mine.shape != right.shape:
        return "rows: C * kH * kW. Columns: H' * W', as in task 6.1"
    if np.array_equal(mine, right):
        return "a pixel's gradient is the sum over all columns that show it; x is not changed"
    if np.array_equal(np.sort(mine, -2), np.sort(right, -2)):
        return "rows are ordered by channel, then down the kernel, then along it"
    if np.array_equal(np.sort(mine, -1), np.sort(right, -1)):
        return "windows are ordered as one reads: along the width first"
    return (
        "row (c * kH + i) * kW + j, window (r, q): x[c, r * sH + i * dH - pH, q * sW + j * dW - pW]"
    )
