"""Task 1.6: the shape that two arrays broadcast to."""

from __future__ import annotations

from collections.abc import Sequence


def broadcast_shapes(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    """The shape of an elementwise result. Raises RuntimeError where the shapes do not fit.

    >>> broadcast_shapes((8, 1, 6), (7, 1))
    (8, 7, 6)
    """
    raise NotImplementedError("task 1.6: the shape that two arrays broadcast to")
