import numpy as np

from tiny_torch import from_numpy


def call(student, memory, part, factor):
    """`part`: which part of the memory is the gradient."""
    held = from_numpy(memory)
    if part == "transposed":
        grad = held.T
    else:
        grad = held[{"every second": slice(0, None, 2), "first row": slice(1)}.get(part, ...)]
    found = student(grad, factor)
    return {
        "found": found if isinstance(found, bool) else f"a {type(found).__name__}",
        "memory": np.array(held.numpy()),
    }
