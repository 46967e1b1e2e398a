"""Task 3.3: normalising with mean and variance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def normalise(x: Any, dims: Sequence[int], eps: float, centered: bool = True) -> Any:
    """x less its mean, over the root of its variance, both along dims; of halves, in float32."""
    raise NotImplementedError("task 3.3: normalising with mean and variance")
