"""Task 2.8: the gradient of a gradient."""

from __future__ import annotations

from typing import Any


def backward(saved: Any, grad_grad: Any, needs: Any) -> Any:
    """Gradients of `grad` and of y, for z = grad (1 - y^2); `saved` is (grad, y).

    `grad_grad` is the gradient of z.
    """
    raise NotImplementedError("task 2.8: the gradient of a gradient")
