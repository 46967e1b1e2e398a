"""Task 2.5: the gradient of what was broadcast."""

from __future__ import annotations

from typing import Any


def sum_to(gradient: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """A gradient of a broadcast result, taken back to the input's shape and dtype.

    (8, 7, 6, 5) for an input of shape (7, 1, 5) -> (7, 1, 5)
    """
    raise NotImplementedError("task 2.5: the gradient of what was broadcast")
