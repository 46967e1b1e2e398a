"""Task 7.1: segments of a chain for checkpoints."""

from __future__ import annotations

from typing import Any


def even(segments: Any, count: int) -> list[tuple[int, int, bool]]:
    """(start, stop, again) of each segment; `segments` is their number, or "sqrt".

    >>> even(2, 5)
    [(0, 2, True), (2, 5, False)]
    """
    raise NotImplementedError("task 7.1: segments of a chain for checkpoints")
