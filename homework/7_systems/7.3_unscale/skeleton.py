"""Task 7.3: gradients unscaled, and inf found."""

from __future__ import annotations

from typing import Any


def unscaled(grad: Any, factor: float) -> bool:
    """Multiplies a gradient by `factor` where it lies; whether it had inf or NaN before."""
    raise NotImplementedError("task 7.3: gradients unscaled, and inf found")
