def cases(rng):
    def case(size, kernel, dilation=(1, 1), padding=(0, 0), stride=(1, 1)):
        return {"size": size, "windows": (kernel, dilation, padding, stride)}

    yield "one pixel at a time", case((3, 3), (1, 1))
    yield "a kernel", case((5, 7), (3, 3))
    yield "as large as the image", case((4, 3), (4, 3))
    yield "a stride", case((7, 7), (3, 3), stride=(2, 1))
    yield "a rest at the end", case((8, 9), (3, 3), stride=(2, 4))
    yield "padding", case((5, 5), (3, 3), padding=(1, 2))
    yield "dilation", case((9, 9), (3, 3), dilation=(2, 3))
    yield "it does not fit", case((2, 4), (3, 5))
    yield "by far not, with a stride", case((2, 2), (9, 7), stride=(3, 4))
    yield "an empty side", case((0, 3), (1, 2))
    for i in range(8):
        pairs = [tuple(rng.integers(low, 4, 2).tolist()) for low in (1, 1, 0, 1)]
        yield f"all together, {i}", case(tuple(rng.integers(1, 20, 2).tolist()), *pairs)


def counts(size, windows):
    """By walking: the begins of all windows that end inside; below 1 by the formula."""
    found = []
    for n, k, d, p, s in zip(size, *windows, strict=True):
        last = n + 2 * p - (d * (k - 1) + 1)  # where the last window may begin
        found.append(len(range(0, last + 1, s)) if last >= 0 else last // s + 1)
    return found


def answer(size, windows):
    return counts(size, windows)


def why(got, expected, size, windows):
    kernel, dilation, padding, stride = windows
    if not isinstance(got, list) or len(got) != 2:
        return "two counts are asked for, in a list: [of the height, of the width]"
    if got == expected[::-1]:
        return "the height comes first"
    once = tuple(n + p for n, p in zip(size, padding, strict=True))
    missed = [counts(n, (kernel, dilation, (0, 0), stride)) for n in (size, once)]
    if any(padding) and got in missed:
        return "padding adds places at both sides: size + 2 * padding"
    if got == counts(size, (kernel, (1, 1), padding, stride)):
        return "with dilation, a window covers dilation * (kernel - 1) + 1 places"
    if min(expected) < 1:
        return "the division rounds down, also below 0: //"
    return "count = (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1"
