"""Task 1.7: repeating without a copy."""

from __future__ import annotations

from collections.abc import Sequence


def expand_layout(
    own: Sequence[int], own_strides: Sequence[int], wanted: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and strides of an array that is broadcast to the wanted sizes; -1 keeps a size.

    >>> expand_layout((3,), (1,), (2, -1))
    ((2, 3), (0, 1))
    """
    raise NotImplementedError("task 1.7: repeating without a copy")
