import math


def cases(rng):
    yield "a line", {"shape": (4,)}
    yield "a matrix", {"shape": (2, 3)}
    yield "no dims", {"shape": ()}
    yield "a list", {"shape": [3, 2]}
    yield "a size of 1", {"shape": (3, 1, 2)}
    yield "an empty dim counts as 1", {"shape": (2, 0, 3)}
    yield "an empty last dim", {"shape": (2, 0)}
    for dims in range(2, 8):
        yield f"{dims} dims", {"shape": tuple(rng.integers(0, 6, dims).tolist())}


def answer(shape):
    return tuple(math.prod(max(n, 1) for n in shape[d + 1 :]) for d in range(len(shape)))


def why(got, expected, shape):
    if isinstance(got, tuple) and got[-1:] != (1,) and shape:
        return "the last dim lies side by side: its stride is 1"
    if 0 in shape:
        return "a size of 0 counts as 1"
    return "strides[d] = strides[d + 1] * shape[d + 1]"
