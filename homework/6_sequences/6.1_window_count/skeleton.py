"""Task 6.1: how many windows fit."""

from __future__ import annotations


def windows_of(size: tuple[int, ...], windows: tuple) -> list[int]:
    """How many fit, along both dims; `windows` is (kernel, dilation, padding, stride), pairs.

    >>> windows_of((7, 5), ((3, 3), (1, 1), (0, 0), (2, 1)))
    [3, 3]
    """
    raise NotImplementedError("task 6.1: how many windows fit")
