"""Task 7.10: sharded Adam."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def sharded_step(
    rank: int,
    ranks: int,
    parameters: Any,
    gradient: Any,
    first: Any,
    second: Any,
    step: int,
    lr: float,
    reduce_scatter: Callable[[Any], Any],
    all_gather: Callable[[Any], Any],
) -> None:
    """A step of Adam, of which each rank has a part of the state; all arrays are NumPy's.

    reduce_scatter(array) answers this rank's part of the sum of all ranks' arrays; all_gather(part)
    the parts of all ranks, one behind the other.
    """
    raise NotImplementedError("task 7.10: sharded Adam")
