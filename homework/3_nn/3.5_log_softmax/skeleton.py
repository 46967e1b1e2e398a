"""Task 3.5: log-softmax that never overflows."""

from __future__ import annotations

from typing import Any


def composite(x: Any, dim: int) -> Any:
    """log(exp(x) / sum of exp(x)), along dim, of x's shape and dtype."""
    raise NotImplementedError("task 3.5: log-softmax that never overflows")
