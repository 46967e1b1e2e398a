"""Task 7.2: how the scale of a loss adapts."""

from __future__ import annotations


def next_scale(
    scale: float, steps: int, found_inf: bool, growth: float, backoff: float, interval: int
) -> tuple[float, int]:
    """The scale for the next iteration, and how many steps without inf there have been.

    >>> next_scale(8.0, 0, True, 2.0, 0.5, 2000)
    (4.0, 0)
    """
    raise NotImplementedError("task 7.2: how the scale of a loss adapts")
