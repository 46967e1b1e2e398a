"""Batch norm in evaluation is a scale and a shift: they go into the layer before it."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any, TypeVar

import tiny_torch as torch
from tiny_torch.nn.modules import Module
from tiny_torch.nn.parameter import Parameter
from tiny_torch.tensor import Tensor

__all__ = [
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
]

M = TypeVar("M", bound=Module)


def fuse_conv_bn_eval(conv: M, bn: Any, transpose: bool = False) -> M:
    """A new convolution that computes bn(conv(x)); `transpose` for a transposed one.

    Raises AssertionError unless both are in evaluation mode and the statistics are there.
    Source: PyTorch, torch.nn.utils.fuse_conv_bn_eval.

    >>> import tiny_torch as torch
    >>> conv, bn = torch.nn.Conv2d(3, 4, 3).eval(), torch.nn.BatchNorm2d(4).eval()
    >>> x = torch.randn(2, 3, 8, 8)
    >>> fused = torch.nn.utils.fuse_conv_bn_eval(conv, bn)
    >>> torch.allclose(fused(x), bn(conv(x)), atol=1e-5)
    True
    """
    return _fuse(conv, bn, partial(fuse_conv_bn_weights, transpose=transpose))


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """The weight and bias of the convolution that computes both.

    Source: PyTorch, torch.nn.utils.fuse_conv_bn_weights.
    """
    dims = [-1 if d == int(transpose) else 1 for d in range(conv_w.ndim)]
    return _scale(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, dims)


def fuse_linear_bn_eval(linear: M, bn: Any) -> M:
    """A new linear layer that computes bn(linear(x)).

    Raises AssertionError unless both are in evaluation mode, the statistics are there, and bn has
    as many features as linear's output, or one.
    Source: PyTorch, torch.nn.utils.fuse_linear_bn_eval.
    """
    outputs = linear.out_features
    if not (linear.training or bn.training) and bn.num_features not in (outputs, 1):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, "
            f"got linear.out_features={outputs} and bn.num_features={bn.num_features}"
        )
    return _fuse(linear, bn, fuse_linear_bn_weights)


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor,
    bn_b: Tensor,
) -> tuple[Parameter, Parameter]:
    """The weight and bias of the linear layer that computes both.

    Source: PyTorch, torch.nn.utils.fuse_linear_bn_weights.
    """
    return _scale(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def _fuse(layer: M, bn: Any, fuse: Any) -> M:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    fused: Any = copy.deepcopy(layer)
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    fused.weight, fused.bias = fuse(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def _scale(
    weight: Any, bias: Any, mean: Any, variance: Any, eps: float, scale: Any, shift: Any, dims: Any
) -> tuple[Parameter, Parameter]:
    bias_dtype = weight.dtype if bias is None else bias.dtype
    bias = torch.zeros_like(mean) if bias is None else bias
    scale = torch.ones_like(mean) if scale is None else scale
    shift = torch.zeros_like(mean) if shift is None else shift
    factor = scale * torch.rsqrt(variance + eps)
    new_weight = (weight * factor.reshape(dims)).to(weight.dtype)
    new_bias = ((bias - mean) * factor + shift).to(bias_dtype)
    return Parameter(new_weight, weight.requires_grad), Parameter(new_bias, bias.requires_grad)
