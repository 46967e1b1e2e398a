def cases(rng):
    def case(size, start, stop, step=1, shape=None, dim=0, strides=None, offset=0):
        shape = (size,) if shape is None else shape
        strides = strides or (3, 1)[-len(shape) :] * (shape != ())
        facts = {"shape": shape, "strides": strides, "offset": offset}
        return {**facts, "dim": dim, "start": start, "stop": stop, "step": step}

    yield "all", case(4, 0, 4)
    yield "the first two", case(4, 0, 2)
    yield "from the second", case(4, 1, 4)
    yield "every second of an even number", case(4, 0, 4, 2)
    yield "every second of an odd number", case(5, 0, 5, 2)
    yield "every third", case(7, 1, 7, 3)
    yield "from the end", case(5, -3, -1)
    yield "beyond both ends", case(4, -10, 10)
    yield "a stop before the first", case(4, 0, -10)
    yield "a start beyond the end", case(4, 9, 12)
    yield "a stop before the start", case(4, 3, 1)
    yield "an empty dim", case(0, 0, 3)
    yield "rows", case(0, 1, 3, shape=(4, 3))
    yield "columns, with an offset", case(0, 1, 3, shape=(4, 3), dim=1, offset=5)
    yield "the last dim, named -1", case(0, 0, 3, 2, shape=(4, 3), dim=-1)
    yield "rows of a transposed matrix", case(0, 1, 3, 2, shape=(4, 3), strides=(2, 11), offset=3)
    yield "a step far beyond the end", case(4, 1, 4, 2**62)
    yield "no dims", case(0, 0, 1, shape=())
    yield "a dim that is not there", case(0, 0, 1, shape=(4, 3), dim=2)
    yield "a step of 0", case(4, 0, 4, 0)
    yield "a step backwards", case(4, 0, 4, -1)
    for _ in range(6):
        start, stop = (int(n) for n in rng.integers(-12, 12, 2))
        yield "any", case(0, start, stop, int(rng.integers(1, 5)), (4, 9), 1, (20, 2), 30)


def answer(shape, strides, offset, dim, start, stop, step):
    ndim = len(shape)
    if not -ndim <= dim < ndim:
        raise IndexError(f"an array of {ndim} dims has no dim {dim}")
    if step < 1:
        raise ValueError(f"the step is {step}")
    dim %= ndim
    kept = range(shape[dim])[start:stop:step]
    sizes, steps = list(shape), list(strides)
    sizes[dim], steps[dim] = len(kept), steps[dim] * step
    steps = tuple(0 if n < 2 else s for n, s in zip(sizes, steps, strict=True))
    place = 0 if 0 in sizes else offset + kept[0] * strides[dim]
    facts = {"shape": tuple(sizes), "strides": steps, "offset": place}
    return {**facts, "shares the memory": True}


def rule(got, expected, shape, strides, offset, dim, start, stop, step):
    if not got["shares the memory"]:
        return "a slice moves no elements: it answers a view, not a copy"
    if got["shape"] != expected["shape"]:
        kept = list(range(shape[dim])[start:stop:step])
        return f"of the dim's {shape[dim]} elements, the slice keeps those at {kept}"
    if got["strides"] != expected["strides"]:
        return "the stride of the dim is `step` times as large; others stay"
    return "the offset moves by `start` steps of the old stride"


def why(got, expected, **inputs):
    if not isinstance(got, dict):
        return "an array is asked for: self.as_strided(shape, strides, offset)"
    sides = [
        f"shape {x['shape']}, strides {x['strides']}, offset {x['offset']}" for x in (got, expected)
    ]
    return f"{rule(got, expected, **inputs)}\ngot      {sides[0]}\nexpected {sides[1]}"
