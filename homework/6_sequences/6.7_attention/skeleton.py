"""Task 6.7: attention with a mask."""

from __future__ import annotations

from typing import Any


def probabilities(q: Any, k: Any, mask: Any, causal: bool, scale: float) -> Any:
    """softmax(scale q kᵀ + mask) along keys, (*, L, S); 0 in rows that see none."""
    raise NotImplementedError("task 6.7: attention with a mask")
