"""Task 3.1: fan in and fan out."""

from __future__ import annotations

from typing import Any


def _calculate_fan_in_and_fan_out(tensor: Any) -> tuple[int, int]:
    """How many inputs one output of a weight (out, in, *kernel) has, and the other way round."""
    raise NotImplementedError("task 3.1: fan in and fan out")
