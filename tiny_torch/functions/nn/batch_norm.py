"""Batch, group and instance norm."""

from __future__ import annotations

import math
from typing import Any

from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.graph import edge_of
from tiny_torch.functions.nn.layer_norm import _fits
from tiny_torch.functions.nn.normalization import (
    _require_float,
    _require_parameter_dtypes,
    _require_several,
    _require_tensors,
)
from tiny_torch.ops.nn.batch_norm import NativeBatchNorm, NativeGroupNorm, update_on_ref
from tiny_torch.tensor import Tensor


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """(x - mean) / sqrt(variance + eps) weight + bias per channel of (N, C, *), the others (C).

    In training with the batch's own statistics, which the running ones move towards by `momentum`
    (the variance unbiased); else with the running ones. The result is in x's memory format. Raises
    ValueError for one value per channel in training and for a bad eps, RuntimeError where shapes or
    dtypes do not fit.
    Source: PyTorch, nn.functional.batch_norm; Ioffe & Szegedy 2015.

    >>> import tiny_torch as torch
    >>> x = torch.tensor([[1.0], [3.0]])
    >>> torch.nn.functional.batch_norm(x, None, None, training=True).flatten()
    tensor([-1.0000,  1.0000])
    """
    if training:
        _require_several(input)
        if eps <= 0.0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    elif eps < 0.0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    if not _fits_channels(input, running_mean, running_var, weight, bias, training):
        if isinstance(input, Tensor) and not input.array.size:  # PyTorch looks at no channel then
            result = input.clone() if weight is None else input * weight[0]
            return result if bias is None else result + bias[0]
        _check_channels(input, running_mean, running_var, weight, bias, training)
    return apply_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


def _fits_channels(
    input: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any, training: bool
) -> bool:
    if not isinstance(input, Tensor) or input.array.ndim < 2:
        return False
    array = input.array
    channels, dtype = array.shape[1:2], array.dtype
    if not (dtype.is_floating_point and _fits(weight, channels, dtype)):
        return False
    for running, other in ((running_mean, running_var), (running_var, running_mean)):
        if running is None:
            if not training or other is not None:
                return False
        elif not (_fits(running, channels, dtype) and edge_of(running) is None):
            return False
    return _fits(bias, channels, dtype)


def _check_channels(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    training: bool,
) -> None:
    arguments = {
        "running_mean": running_mean,
        "running_var": running_var,
        "weight": weight,
        "bias": bias,
    }
    _require_tensors("batch_norm", input=input, **arguments)
    if training and (running_mean is None) is not (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    channels = input.size(1) if input.ndim > 1 or running_mean is None else 0
    for name, array in arguments.items():
        if array is not None:
            if array.array.size != channels:
                raise RuntimeError(f"{name} should contain {channels} elements not {array.numel()}")
        elif not training and name.startswith("running"):
            raise RuntimeError(f"{name} must be defined in evaluation mode")
    for name in ("running_mean", "running_var"):
        array = arguments[name]
        if array is not None and edge_of(array) is not None:
            raise RuntimeError(
                f"The function 'native_batch_norm' is not differentiable with respect to argument "
                f"'{name}'. This input cannot have requires_grad True."
            )
    _require_float("batch_norm", input)
    _require_parameter_dtypes(input, weight, bias, running_mean, running_var)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """(x - mean) / sqrt(variance + eps) weight + bias, per sample and group of channels.

    Input (N, C, *), weight and bias (C). The result is in x's memory format. Raises RuntimeError
    where shapes or dtypes do not fit, ValueError for groups of one element.
    Source: PyTorch, nn.functional.group_norm; Wu & He 2018.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.group_norm(torch.tensor([[1.0, 3.0, 2.0, 6.0]]), 2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    _require_tensors("group_norm", input=input, weight=weight, bias=bias)
    if input.ndim < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {input.ndim}"
        )
    shape = input.shape
    _require_several(input, num_groups)
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if shape[1] % num_groups:
        if num_groups >= 2**63:
            raise ValueError("Overflow when unpacking long long")
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {list(shape)} and num_groups={num_groups}"
        )
    for name, array in (("weight", weight), ("bias", bias)):
        if array is not None and array.array.shape != (shape[1],):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, "
                f"but got {name} of shape {list(array.shape)} and input of shape {list(shape)}"
            )
    _require_float("GroupNormKernelImpl", input)
    _require_parameter_dtypes(input, weight, bias)
    return apply(NativeGroupNorm, input, weight, bias, num_groups, eps)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """As batch_norm, with the statistics of each sample by itself; the result is contiguous.

    Running statistics are the mean over the samples. Raises ValueError for one spatial element.
    Source: PyTorch, nn.functional.instance_norm; Ulyanov et al. 2016.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.instance_norm(torch.tensor([[[1.0, 3.0]]]))
    tensor([[[-1.0000,  1.0000]]])
    """
    if use_input_stats:
        if math.prod(input.shape[2:]) == 1:
            raise ValueError(
                f"Expected more than 1 spatial element when training, got input size {input.shape}"
            )
        if (running_mean is None) != (running_var is None):
            raise ValueError(
                "running_mean and running_var must either both be None or neither be None"
            )
    elif running_mean is None or running_var is None:
        raise RuntimeError(
            "Expected running_mean and running_var to be defined when use_input_stats is false"
        )
    _check_channels(input, running_mean, running_var, weight, bias, use_input_stats)
    shape = input.shape
    rows = input.contiguous().view((*shape[:2], math.prod(shape[2:])))  # of no memory format
    if not use_input_stats:
        y = apply_batch_norm(rows, weight, bias, running_mean, running_var, False, momentum, eps)
        return y.view(shape)
    if rows.array.device == "ref":
        update_on_ref((running_mean, running_var), rows, momentum, samples=True)
    running = [None if r is None else r.array for r in (running_mean, running_var)]
    return apply(NativeGroupNorm, rows, weight, bias, shape[1], eps, *running, momentum).view(shape)


def apply_batch_norm(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Tensor:
    """x (N, C, *); the others (C)."""
    if training and x.array.device == "ref":
        update_on_ref((running_mean, running_var), x, momentum, samples=False)
    running = [None if r is None else r.array for r in (running_mean, running_var)]
    return apply(NativeBatchNorm, x, weight, bias, *running, training, momentum, eps)
