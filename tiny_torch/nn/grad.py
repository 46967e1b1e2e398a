"""Gradients of convolutions by their input or weight, which functions of a user's call.

https://github.com/pytorch/pytorch/blob/v2.13.0/torch/nn/grad.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tiny_torch.autograd import enable_grad, grad
from tiny_torch.nn import functional as F
from tiny_torch.tensor import Tensor


def gradient_at(point: Tensor, grad_output: Tensor, conv: Callable[[Tensor], Tensor]) -> Tensor:
    """The gradient of a function at a point, weighted by that of its output."""
    point = point.detach().requires_grad_()
    with enable_grad():
        output = conv(point)
    return grad(output, point, grad_output)[0]


def by_input(conv: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def function(
        input_size: Any,
        weight: Tensor,
        grad_output: Tensor,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        options = stride, padding, dilation, groups
        zeros = weight.new_zeros(input_size)
        return gradient_at(zeros, grad_output, lambda x: conv(x, weight.detach(), None, *options))

    return public(function, f"{conv.__name__}_input")


def by_weight(conv: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def function(
        input: Tensor,
        weight_size: Any,
        grad_output: Tensor,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        options = stride, padding, dilation, groups
        zeros = input.new_zeros(weight_size)
        return gradient_at(zeros, grad_output, lambda w: conv(input.detach(), w, None, *options))

    return public(function, f"{conv.__name__}_weight")


def public(function: Callable[..., Tensor], name: str) -> Callable[..., Tensor]:
    conv, _, what = name.partition("_")
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The gradient of {conv} by its {what}, of that size. Source: PyTorch."
    return function


conv1d_input, conv1d_weight = by_input(F.conv1d), by_weight(F.conv1d)
conv2d_input, conv2d_weight = by_input(F.conv2d), by_weight(F.conv2d)
conv3d_input, conv3d_weight = by_input(F.conv3d), by_weight(F.conv3d)
