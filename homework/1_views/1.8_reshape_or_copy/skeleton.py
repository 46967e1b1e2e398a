"""Task 1.8: which reshapes are views."""

from __future__ import annotations

from collections.abc import Sequence


def view_strides(
    old: Sequence[int], old_strides: Sequence[int], shape: Sequence[int]
) -> tuple[int, ...] | None:
    """The strides under which `shape` shows the elements of `old` in the same order; or None.

    >>> view_strides((2, 3), (3, 1), (6,))
    (1,)
    >>> view_strides((3, 2), (1, 3), (6,)) is None
    True
    """
    raise NotImplementedError("task 1.8: which reshapes are views")
