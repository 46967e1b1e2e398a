"""Batch, group and instance norm."""

from __future__ import annotations

import math
from typing import Any

from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.graph import edge_of
from tiny_torch.ops.nn.batch_norm import NativeBatchNorm, NativeGroupNorm
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
    if eps <= 0.0 and (training or eps < 0.0):
        kind = "positive during training" if training else "non-negative"
        raise ValueError(f"batch_norm eps must be {kind}, but got {eps}")
    shape = input.array.shape
    if training and shape[:1] == (1,) and math.prod(shape[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {input.shape}"
        )
    mean, var = statistics_of(running_mean, running_var)
    try:
        return apply(NativeBatchNorm, input, weight, bias, mean, var, training, momentum, eps)
    except RuntimeError:
        if input.array.size:
            if running_mean is None and training:
                input.size(1)  # raises IndexError
            raise
        result = input.clone() if weight is None else input * weight[0]
        return result if bias is None else result + bias[0]  # PyTorch looks at no channel then


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
    if num_groups == 0:
        raise ZeroDivisionError("integer division or modulo by zero")
    if num_groups < 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
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
    mean, var = statistics_of(running_mean, running_var)
    shape = input.shape
    rows = input.contiguous().view((*shape[:2], math.prod(shape[2:])))  # of no memory format
    if not use_input_stats:
        y = apply(NativeBatchNorm, rows, weight, bias, mean, var, False, momentum, eps)
    else:
        y = apply(NativeGroupNorm, rows, weight, bias, shape[1], eps, mean, var, momentum)
    return y.view(shape)


def statistics_of(running_mean: Tensor | None, running_var: Tensor | None) -> tuple[Any, Any]:
    """Their arrays. Raises RuntimeError where one requires a gradient."""
    if running_mean is not None and edge_of(running_mean) is not None:
        name = "running_mean"
    elif running_var is not None and edge_of(running_var) is not None:
        name = "running_var"
    else:
        mean = None if running_mean is None else running_mean.array
        return mean, None if running_var is None else running_var.array
    raise RuntimeError(
        "The function 'native_batch_norm' is not differentiable with respect to argument "
        f"'{name}'. This input cannot have requires_grad True."
    )
