"""Task 3.8: clipping gradients by their norm."""

from __future__ import annotations

from typing import Any


def clip_grad_norm_(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Any:
    """Scale the gradients so that their common norm is at most max_norm; the norm before."""
    raise NotImplementedError("task 3.8: clipping gradients by their norm")
