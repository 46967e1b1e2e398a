"""Task 2.4: the gradient of a sum over dims."""

from __future__ import annotations

from typing import Any


def spread(grad: Any, shape: tuple[int, ...], dims: tuple[int, ...] | None, keepdim: bool) -> Any:
    """The gradient of a sum's result, repeated to the shape of its input, as a view.

    grad (2,), for shape (2, 3), dims (1,) and no keepdim -> (2, 3)
    """
    raise NotImplementedError("task 2.4: the gradient of a sum over dims")
