"""Activation functions that torch has beside nn.functional's, and forms in place."""

from __future__ import annotations

import math
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply, apply_inplace
from tiny_torch.autograd.grad_mode import no_grad
from tiny_torch.autograd.op_mode import as_one
from tiny_torch.base.arguments import as_number
from tiny_torch.base.dtypes import HALVES, NUMERIC, check_implemented, check_range
from tiny_torch.functions.common import check_tensor, require_float, write_out
from tiny_torch.functions.creation.fill import empty, ones_like
from tiny_torch.functions.public import function, function_and_method
from tiny_torch.ops.nn.activation import (
    Celu,
    LeakyRelu,
    LeakyReluInPlace,
    PreluKernel,
    RreluWithNoise,
    Selu,
    Threshold,
)
from tiny_torch.tensor import Tensor


def check_celu(input: Tensor, alpha: float) -> None:
    if not isinstance(input, Tensor):
        check_tensor("celu", "input", 1, input)
    if as_number("celu", "alpha", None, alpha) == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    require_float("elu", input)


@function
def celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """x where x > 0, alpha (exp(x / alpha) - 1) elsewhere. RuntimeError where alpha is 0.

    Source: PyTorch, nn.functional.celu; Barron 2017.

    >>> import tiny_torch as torch
    >>> torch.celu(torch.tensor([-1.0, 1.0]))
    tensor([-0.6321,  1.0000])
    """
    check_celu(input, alpha)
    return apply(Celu, input, alpha)


@function
def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """celu in place."""
    check_celu(input, alpha)
    return apply_inplace(Celu, input, alpha)


@function
def selu(input: Tensor) -> Tensor:
    """scale elu(x, alpha) with the two constants that keep mean 0 and variance 1.

    Source: PyTorch, nn.functional.selu; Klambauer et al. 2017.

    >>> import tiny_torch as torch
    >>> torch.selu(torch.tensor([-1.0, 1.0]))
    tensor([-1.1113,  1.0507])
    """
    require_float("elu", input)
    return apply(Selu, input)


@function
def selu_(input: Tensor) -> Tensor:
    """selu in place."""
    require_float("elu", input)
    return apply_inplace(Selu, input)


@function
def relu_(input: Tensor) -> Tensor:
    """relu in place."""
    check_tensor("relu_", "input", 1, input)
    return input.relu_()


def limits(input: Tensor, threshold: float, value: float) -> tuple:
    """The numbers as kernels of the input's dtype take them: cut to integers where it is one."""
    check_tensor("threshold", "input", 1, input)
    threshold = as_number("threshold", "threshold", 2, threshold)
    value = as_number("threshold", "value", 3, value)
    dtype = input.dtype
    check_implemented("threshold_cpu", dtype, NUMERIC)
    check_range(threshold, _core.float32 if dtype in HALVES else dtype)  # compared in float32
    check_range(value, dtype)
    return (threshold, value) if dtype.is_floating_point else (int(threshold), int(value))


@function
def threshold(
    input: Tensor, threshold: float, value: float, *, out: Tensor | None = None
) -> Tensor:
    """x where x > threshold (or is NaN), `value` elsewhere. Any number dtype.

    Source: PyTorch, nn.functional.threshold.

    >>> import tiny_torch as torch
    >>> torch.threshold(torch.tensor([0.5, 2.0]), 1, -1)
    tensor([-1.,  2.])
    """
    numbers = limits(input, threshold, value)
    if out is not None:
        return write_out(Threshold, "threshold", out, input, *numbers)
    return apply(Threshold, input, *numbers)


@function
def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """threshold in place."""
    numbers = limits(input, threshold, value)
    return apply_inplace(Threshold, input, *numbers)


def check_rrelu(input: Tensor, lower: float, upper: float) -> None:
    for name, bound in (("lower", lower), ("upper", upper)):
        if not math.isfinite(bound):
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {bound}")
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    require_float("leaky_relu", input)


def random_slopes(input: Tensor, lower: float, upper: float, generator: Any) -> Tensor:
    """Draws where x <= 0, in the order of its elements; 1 elsewhere."""
    with no_grad():
        below = input <= 0
        count = int(below.sum())
        draws = empty(count, dtype=_core.float64).uniform_(lower, upper, generator=generator)
        return ones_like(input).masked_scatter_(below, draws.to(input.dtype))


@function
def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    generator: Any = None,
) -> Tensor:
    """leaky_relu whose slopes are drawn from U(lower, upper) in training, else their mean.

    RuntimeError where the bounds are not finite or lower > upper.
    Source: PyTorch, nn.functional.rrelu; Xu et al. 2015.

    >>> import tiny_torch as torch
    >>> torch.rrelu(torch.tensor([-2.0, 3.0]), 0.25, 0.75)
    tensor([-1.,  3.])
    """
    check_rrelu(input, lower, upper)
    input = input.contiguous()  # as PyTorch's result
    if not training:
        return apply(LeakyRelu, input, (lower + upper) / 2)
    return apply(RreluWithNoise, input, random_slopes(input, lower, upper, generator))


@function
def rrelu_(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    generator: Any = None,
) -> Tensor:
    """rrelu in place."""
    check_rrelu(input, lower, upper)
    if not training:
        return leaky_relu_(input, (lower + upper) / 2)
    slopes = random_slopes(input, lower, upper, generator)
    return apply_inplace(RreluWithNoise, input, slopes)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """leaky_relu in place."""
    as_number("leaky_relu_", "negative_slope", None, negative_slope)
    require_float("leaky_relu", input)
    op = LeakyReluInPlace if negative_slope >= 0 else LeakyRelu
    return apply_inplace(op, input, negative_slope)


@as_one
@function_and_method
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x where x > 0, weight x elsewhere; input (N, C, *), weight () or (1) or (C), of one dtype.

    Raises RuntimeError for a weight of more dims, of another size than C, or of another dtype.
    Source: PyTorch, nn.functional.prelu; He et al. 2015.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.prelu(torch.tensor([-2.0, 3.0]), torch.tensor([0.5]))
    tensor([-1.,  3.])
    """
    check_tensor("prelu", "input", 1, input)
    check_tensor("prelu", "weight", 2, weight)
    if weight.dtype != input.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {input.dtype} and {weight.dtype}"
        )
    per_channel = weight.numel() != 1
    if per_channel and input.ndim == 0:
        raise RuntimeError("Not allow zero-dim input tensor.")
    channels = input.shape[1] if input.ndim > 1 else 1
    if per_channel and weight.numel() != channels:
        raise RuntimeError(
            "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
            f"{weight.numel()} and channel size = {channels}."
        )
    if weight.ndim > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}"
        )
    require_float("prelu", input)
    weight = weight.reshape((channels,) + (1,) * (input.ndim - 2) if per_channel else ())
    return apply(PreluKernel, input, weight)
