"""Task 3.2: the gradients of a linear layer."""

from __future__ import annotations

from typing import Any


def backward(saved: Any, grad: Any, needs: Any) -> Any:
    """Gradients of x (*, in), weight (out, in) and bias (out), for y = x weightᵀ + bias.

    `saved` is (x, weight), `grad` (*, out) the gradient of y. None where `needs` is false.
    """
    raise NotImplementedError("task 3.2: the gradients of a linear layer")
