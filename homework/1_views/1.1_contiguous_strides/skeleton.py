"""Task 1.1: the strides of a contiguous array."""

from __future__ import annotations

from collections.abc import Sequence


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major order: the last dim is the fastest, each other steps over all dims inside it.

    >>> contiguous_strides((2, 3))
    (3, 1)
    """
    raise NotImplementedError("task 1.1: the strides of a contiguous array")
