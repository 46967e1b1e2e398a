"""Task 2.1: a gradient by differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def central_difference(function: Callable[[Any], list], x: Any, direction: Any, eps: float) -> list:
    """d function(x) / d x along a direction, for each of the function's outputs."""
    raise NotImplementedError("task 2.1: a gradient by differences")
