import math


def cases(rng):
    yield "a linear layer", {"shape": (3, 5)}
    yield "a convolution", {"shape": (8, 2, 3, 3)}
    yield "a kernel that is no square", {"shape": (4, 6, 2, 5)}
    yield "one dim", {"shape": (4,)}
    yield "no dims", {"shape": ()}
    yield "a convolution in one dim", {"shape": (2, 7, 4)}
    yield "no inputs", {"shape": (3, 0)}
    yield "an empty kernel", {"shape": (3, 2, 0)}
    for dims in range(2, 6):
        yield f"{dims} dims", {"shape": tuple(rng.integers(1, 6, dims).tolist())}


def answer(shape):
    if len(shape) < 2:
        raise ValueError("a weight has at least two dims")
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def why(got, expected, shape):
    if not isinstance(got, tuple):
        return "a pair of ints is asked for, in a tuple; ValueError below two dims"
    if got == expected[::-1]:
        return "a weight is (out, in, *kernel): out comes first, and fan in counts inputs"
    if got == (shape[1], shape[0]):
        return "a kernel is a window of several inputs: its elements count, too"
    return "fan in = in * kernel's elements, fan out = out * kernel's elements"
