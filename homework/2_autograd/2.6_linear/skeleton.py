"""Task 2.6: the gradients of a linear layer."""

from __future__ import annotations

from typing import Any


def backward(saved: Any, grad: Any, needs: Any) -> Any:
    """Gradients of x (..., in), weight (out, in) and bias (out,), for y = x @ weight.T + bias.

    `saved` is (x, weight), `grad` (..., out) the gradient of y. None for what `needs` does not ask
    for.
    """
    raise NotImplementedError("task 2.6: the gradients of a linear layer")
