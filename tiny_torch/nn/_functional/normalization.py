"""Normalisations: what PyTorch checks; what they compute is in ops/normalisation.py."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.dtypes import not_implemented
from tiny_torch.ops import normalisation

from ...autograd.graph import edge_of
from ...layouts import contiguous_format, suggested_format
from ...tensor import Tensor


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """(x - mean) / sqrt(variance + eps) weight + bias over the last dims, of `normalized_shape`.

    Weight and bias have that shape. The result is contiguous. Raises RuntimeError where shapes or
    dtypes do not fit, NotImplementedError for integers.
    Source: PyTorch, nn.functional.layer_norm; Ba et al. 2016.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.layer_norm(torch.tensor([1.0, 3.0]), (2,))
    tensor([-1.0000,  1.0000])
    """
    if not _fits_rows(input, normalized_shape, weight, bias):
        _check_rows("layer_norm", input, normalized_shape, weight, bias)
        _require_float("LayerNormKernelImpl", input)
        _require_parameter_dtypes(input, weight, bias)
    return normalisation.layer_norm(input, len(normalized_shape), weight, bias, eps)


def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """x / sqrt(mean(x^2) + eps) weight over the last dims, of `normalized_shape`, as weight is.

    `eps`: by default what separates 1 from the next number of the dtype. Raises RuntimeError where
    shapes do not fit, NotImplementedError for integers.
    Source: PyTorch, nn.functional.rms_norm; Zhang & Sennrich 2019.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.rms_norm(torch.tensor([3.0, 4.0]), (2,))
    tensor([0.8485, 1.1314])
    """
    if not _fits_rows(input, normalized_shape, weight, None):
        _check_rows("rms_norm", input, normalized_shape, weight, None)
        _require_float("rms_norm", input)
    if eps is None:
        computed = torch.float64 if input.dtype is torch.float64 else torch.float32
        eps = torch.finfo(computed).eps
    y = normalisation.rms_norm(input, len(normalized_shape), weight, eps)
    form = suggested_format(input.array)
    return y if form is contiguous_format else y.contiguous(memory_format=form)


def _fits(parameter: Any, shape: tuple, dtype: Any) -> bool:
    """What is usual, found without further looking."""
    if parameter is None:
        return True
    array = getattr(parameter, "array", None)
    return array is not None and array.dtype is dtype and array.shape == shape


def _fits_rows(input: Any, shape: Any, weight: Any, bias: Any) -> bool:
    if type(shape) is not tuple or not shape or not isinstance(input, Tensor):
        return False
    dtype = input.array.dtype
    return (
        dtype.is_floating_point
        and input.array.shape[-len(shape) :] == shape
        and _fits(weight, shape, dtype)
        and _fits(bias, shape, dtype)
    )


def _check_rows(
    name: str, input: Tensor, shape: Any, weight: Tensor | None, bias: Tensor | None
) -> None:
    _require_tensors(name, input=input, weight=weight, bias=bias)
    if not isinstance(shape, (list, tuple)):
        raise TypeError(
            f"{name}(): argument 'normalized_shape' (position 2) must be tuple of ints, not "
            f"{type(shape).__name__}"
        )
    shape = tuple(shape)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
            "element, but got normalized_shape = []"
        )
    for what, array in (("weight", weight), ("bias", bias)):
        if array is not None and array.array.shape != shape:
            raise RuntimeError(
                f"Expected {what} to be of same shape as normalized_shape, but got {what} of shape "
                f"{list(array.shape)} and normalized_shape = {list(shape)}"
            )
    if input.array.shape[-len(shape) :] != shape:
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape "
            f"[*, {str(list(shape))[1:-1]}], but got input of size{list(input.shape)}"
        )


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
    return normalisation.batch_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps
    )


def _fits_channels(
    input: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any, training: bool
) -> bool:
    if not isinstance(input, Tensor) or input.array.ndim < 2:
        return False
    array = input.array
    channels, dtype = array.shape[1:2], array.dtype
    if not (dtype.is_floating_point and _fits(weight, channels, dtype)):
        return False
    for running in (running_mean, running_var):
        if running is None:
            if not training:
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
    return normalisation.group_norm(input, num_groups, weight, bias, eps)


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
    if use_input_stats:
        y = normalisation.instance_norm(
            rows, weight, bias, running_mean, running_var, momentum, eps
        )
    else:
        y = normalisation.batch_norm(
            rows, weight, bias, running_mean, running_var, False, momentum, eps
        )
    return y.view(shape)


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """x / (k + alpha mean(x^2 over `size` neighbouring channels)) ** beta; input (N, C, *).

    Raises ValueError for fewer than 3 dims, RuntimeError for a size below 1.
    Source: PyTorch, nn.functional.local_response_norm; Krizhevsky et al. 2012.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.local_response_norm(torch.ones(1, 2, 1), 2, alpha=2.0, beta=1.0)
    tensor([[[0.5000],
             [0.3333]]])
    """
    if input.ndim < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality input (got {input.ndim} dimensions)"
        )
    if input.numel() == 0:
        return input
    if size < 1:
        raise RuntimeError(f"kernel size should be greater than zero, but got kH: {size} kW: 1")
    channels = input.shape[1]
    before, after = min(size // 2, channels), min((size - 1) // 2, channels)  # the rest is zeros
    squares = (input * input).reshape((len(input), 1, channels, -1))
    squares = torch.nn.functional.pad(squares, (0, 0, before, after))
    mean = torch.nn.functional.avg_pool2d(
        squares, (before + 1 + after, 1), stride=1, divisor_override=size
    ).reshape(input.shape)
    return input / (mean * alpha + k) ** beta


def normalize(
    input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """x / max(norm_p(x), eps), the norm taken along `dim`. Any shape, floating dtypes.

    Raises IndexError for a dim out of range.
    Source: PyTorch, nn.functional.normalize.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.normalize(torch.tensor([3.0, 4.0]), dim=0)
    tensor([0.6000, 0.8000])
    """
    length = input.norm(p, dim, keepdim=True).clamp_min(eps)
    return input / length if out is None else torch.div(input, length, out=out)


# ---- checks -------------------------------------------------------------------------------------


def _require_tensors(name: str, **arguments: Any) -> None:
    for position, (argument, value) in enumerate(arguments.items(), 1):
        if not isinstance(value, Tensor) and (value is not None or position == 1):
            raise TypeError(
                f"{name}(): argument '{argument}' (position {position}) must be Tensor, not "
                f"{_core.type_name(value)}"
            )


def _require_float(kernel: str, input: Tensor) -> None:
    if not input.array.dtype.is_floating_point:
        raise not_implemented(kernel, input.dtype)


def _require_parameter_dtypes(input: Tensor, *parameters: Tensor | None) -> None:
    """All of the input's dtype; beside halves, all of float32."""
    dtype = input.dtype
    given = [p.dtype for p in parameters if p is not None]
    if all(d is dtype for d in given):
        return
    half = dtype in (torch.float16, torch.bfloat16)
    if not half or any(d is not torch.float32 for d in given):
        raise RuntimeError(
            f"mixed dtype (CPU): expect parameter to have scalar type of Float, got {given} beside "
            f"an input of {dtype}"
        )


def _require_several(input: Tensor, groups: int | None = None) -> None:
    """More than one value per channel of (N, C, *), or per group of a sample's channels."""
    try:
        shape = input.array.shape
    except AttributeError:
        _require_tensors("batch_norm" if groups is None else "group_norm", input=input)
        raise
    if groups is not None:
        shape = (shape[0] * shape[1] // groups, groups, *shape[2:])
    if shape[0] == 1 and math.prod(shape[2:]) == 1:
        raise ValueError(
            "Expected more than 1 value per channel when training, got input size "
            f"{torch.Size(shape)}"
        )
