"""Task 8.5: chains."""

from __future__ import annotations

from collections.abc import Callable

BLOCK = 64
KERNELS = {  # the elementwise ones
    "neg": lambda a: -a,
    "relu": lambda a: a.clip(0),
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
}

Operand = tuple[str, int, tuple[int, ...]]  # buffer, offset, strides
Launch = tuple[str, tuple[int, ...], tuple[Operand, ...]]  # kernel, shape, the result and inputs


def positions(shape: tuple[int, ...], operand: Operand) -> list[int]:
    """Where in its buffer each element of an operand is, row by row.

    >>> positions((2, 3), ("x", 10, (1, 2)))
    [10, 12, 14, 11, 13, 15]
    """
    _, offset, strides = operand
    places = [offset]
    for size, step in zip(shape, strides, strict=True):
        places = [place + i * step for place in places for i in range(size)]
    return places


def run(
    launches: list[Launch], held: list[str], read: Callable, write: Callable, whole: Callable
) -> None:
    """Runs the launches, neighbouring elementwise ones block by block.

    `read(name, positions)` answers a NumPy array of float32; that and `write(name, positions,
    values)` are the ways to memory, for BLOCK elements at most. `whole(launch)` runs a launch that
    is not elementwise.
    """
    raise NotImplementedError("task 8.5: chains")
