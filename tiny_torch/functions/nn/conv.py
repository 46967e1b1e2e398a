"""torch.conv1d and its kin: what they check, and how they read their arguments."""

from __future__ import annotations

import functools
import warnings
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply
from tiny_torch.base.arguments import wrong_kind
from tiny_torch.base.docstrings import told_as
from tiny_torch.base.dtypes import not_implemented
from tiny_torch.functions.common import by_name
from tiny_torch.functions.shape.join import cat
from tiny_torch.ops.nn.conv import Convolution, ConvolutionTranspose
from tiny_torch.tensor import Tensor


def per_dim(function: str, argument: str, value: Any, dims: int) -> tuple[int, ...]:
    """One number for each spatial dim, from one for all or as many."""
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    for number in values:
        if isinstance(number, bool | float | str) or not hasattr(number, "__index__"):
            raise TypeError(
                f"{function}() received an invalid combination of arguments: '{argument}' must be "
                f"int or tuple of ints, not {type(number).__name__}"
            )
    if len(values) not in (1, dims):
        raise RuntimeError(
            f"[{function}] expected {argument} to be a single integer value or a list of {dims} "
            f"values to match the convolution dimensions, but got {argument}={list(values)}"
        )
    checked = tuple([number.__index__() for number in values])
    return checked * dims if len(checked) == 1 else checked


def check_arrays(function: str, input: Any, weight: Any, bias: Any, dims: int) -> None:
    """The types and numbers of dims; dtypes are the kernel's to check, behind autocast."""
    if not isinstance(input, Tensor) or not isinstance(weight, Tensor):
        kinds = f"({_core.type_name(input)}, {_core.type_name(weight)})"
        raise TypeError(f"{function}() received an invalid combination of arguments - got {kinds}")
    if bias is not None and not isinstance(bias, Tensor):
        raise TypeError(
            f"{function}() received an invalid combination of arguments: 'bias' must be Tensor, "
            f"not {_core.type_name(bias)}"
        )
    if input.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {function}, but "
            f"got input of size: {list(input.shape)}"
        )
    if weight.ndim != dims + 2:
        raise RuntimeError(
            f"[{function}] expected a weight of {dims + 2} dimensions, got {list(weight.shape)}"
        )


def read_settings(
    function: str, dims: int, stride: Any, padding: Any, dilation: Any, groups: Any, more: Any = 0
) -> tuple:
    """The settings as tuples of one number per dim, and `groups`, checked."""
    stride = per_dim(function, "stride", stride, dims)
    dilation = per_dim(function, "dilation", dilation, dims)
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise RuntimeError(f"Invalid padding string: '{padding}'")
        if padding == "same" and max(stride) > 1:
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        padding = 0
    padding = per_dim(function, "padding", padding, dims)
    (groups,) = per_dim(function, "groups", groups, 1)
    more = per_dim(function, "output_padding", more, dims)
    for name, values in (("padding", padding), ("output_padding", more)):
        if min(values) < 0:
            raise RuntimeError(f"[{function}] negative {name} is not supported")
    for name, values in (("stride", stride), ("dilation", dilation), ("groups", (groups,))):
        if min(values) <= 0:
            raise RuntimeError(f"[{function}] non-positive {name} is not supported")
    for extra, *steps in zip(more, stride, dilation, strict=True):
        if extra and extra >= max(steps):
            raise RuntimeError(
                f"[{function}] output padding must be smaller than either stride or dilation, but "
                f"got output_padding {list(more)}, stride {list(stride)}, dilation {list(dilation)}"
            )
    return stride, padding, dilation, groups, more


remembered = functools.lru_cache(maxsize=4096, typed=True)(read_settings)  # 2.7 µs, not 6.9


def settings_of(function: str, dims: int, *values: Any) -> tuple:
    """As read_settings, which is asked only once for values of the usual types."""
    for value in values:
        if type(value) not in (int, tuple, str):
            return read_settings(function, dims, *values)
    return remembered(function, dims, *values)


def check_shapes(
    function: str, x: Tensor, weight: Tensor, bias: Any, groups: int, transposed: bool
) -> None:
    """The channels of a batch x, the weight and the bias."""
    shape, size = weight.array.shape, x.array.shape
    if 0 in shape[2:]:
        taps = shape[2:] if len(shape) > 3 else (1, *shape[2:])
        kernel = " x ".join(map(str, taps)) + " (TxHxW)" if len(taps) == 3 else ""
        kernel = f": {kernel}" if kernel else f" kernel_height: {taps[0]} kernel_width: {taps[1]}"
        raise RuntimeError(f"kernel size should be greater than zero, but got{kernel}")
    if shape[0] < groups or shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at "
            f"dimension 0 and of at least 1 element, but got weight of size {list(shape)}"
        )
    inputs, outputs = shape[1] * groups, shape[0]
    if transposed:
        inputs, outputs = outputs, inputs
    if size[1] != inputs:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(shape)}, expected input"
            f"{list(size)} to have {inputs} channels, but got {size[1]} channels instead"
        )
    if bias is not None and bias.array.shape != (outputs,):
        raise RuntimeError(
            f"Given weight of size {list(shape)}, expected bias to be 1-dimensional "
            f"with {outputs} elements, but got bias of size {list(bias.shape)} instead"
        )
    if 0 in size[2:] and 0 not in size[:2]:
        raise RuntimeError(
            f"[{function}] Only zero batch or zero channel inputs are supported, but got input "
            f"shape: {list(size)}"
        )


def same_padding(x: Tensor, weight: Tensor, dilation: tuple) -> tuple[Tensor, tuple]:
    """The input, widened by zeros where both sides differ, and what else to pad for "same"."""
    totals = [step * (size - 1) for step, size in zip(dilation, weight.shape[2:], strict=True)]
    if any(total % 2 for total in totals):
        warnings.warn(
            "Using padding='same' with even kernel lengths and odd dilation may require a "
            "zero-padded copy of the input be created",
            stacklevel=4,
        )
    for dim, total in enumerate(totals):
        if total % 2:
            shape = list(x.shape)
            shape[dim - len(totals)] = 1
            x = cat([x, x.new_zeros(shape)], dim - len(totals))
    return x, tuple([total // 2 for total in totals])


def convolution(function: str, dims: int, x: Any, weight: Any, bias: Any, *settings: Any) -> Tensor:
    """A convolution in so many dims; settings as a user gave them."""
    check_arrays(function, x, weight, bias, dims)
    stride, padding, dilation, groups, _ = settings_of(function, dims, *settings)
    batched = x.ndim == dims + 2
    batch = x if batched else x.unsqueeze(0)
    check_shapes(function, batch, weight, bias, groups, False)
    if settings[1] == "same":
        batch, padding = same_padding(batch, weight, dilation)
    y = apply(Convolution, batch, weight, bias, (stride, padding, dilation, groups))
    return y if batched else y.squeeze(0)


def transposed_convolution(
    function: str, dims: int, x: Any, weight: Any, bias: Any, *settings: Any
) -> Tensor:
    """A transposed convolution in so many dims; settings as a user gave them."""
    check_arrays(function, x, weight, bias, dims)
    if isinstance(settings[1], str):
        raise wrong_kind(function, "padding", "tuple of ints", settings[1])
    stride, padding, dilation, groups, more = settings_of(function, dims, *settings)
    batched = x.ndim == dims + 2
    batch = x if batched else x.unsqueeze(0)
    check_shapes(function, batch, weight, bias, groups, True)
    size = tuple(
        [
            (n - 1) * stride[d] - 2 * padding[d] + dilation[d] * (taps - 1) + 1 + more[d]
            for d, (n, taps) in enumerate(
                zip(batch.array.shape[2:], weight.array.shape[2:], strict=True)
            )
        ]
    )
    if max(size) >= 2**63:
        raise RuntimeError(f"Overflow in the output size of {function}: {list(size)}")
    if min(size) < 1:
        raise RuntimeError(
            f"Given input size per channel: {list(batch.shape[2:])}. Calculated "
            f"output size per channel: {list(size)}. Output size is too small"
        )
    if not x.dtype.is_floating_point and x.dtype is not _core.int64:
        raise not_implemented(function, x.dtype)
    settings = (stride, padding, dilation, groups)
    y = apply(ConvolutionTranspose, batch, weight, bias, size, settings)
    return y if batched else y.squeeze(0)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] | str = 0,
    dilation: int | tuple[int, ...] = 1,
    groups: int = 1,
) -> Tensor:
    """Every output is a weighted sum of a window of the input, the same for all windows.

    input (N, C, H, W) or (C, H, W), weight (O, C / groups, kH, kW), bias (O,) ->
    (N, O, H', W'), all of one dtype. `padding` zeros go on both sides; "same" keeps the size,
    "valid" is 0. Raises RuntimeError where shapes, dtypes or settings do not fit.
    https://pytorch.org/docs/stable/generated/torch.nn.functional.conv2d.html

    >>> import tiny_torch as torch
    >>> torch.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 3, 3), padding=1).shape
    torch.Size([1, 1, 3, 3])
    """
    return convolution("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


@told_as(conv2d, 1)
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] | str = 0,
    dilation: int | tuple[int, ...] = 1,
    groups: int = 1,
) -> Tensor:
    return convolution("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


@told_as(conv2d, 3)
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] | str = 0,
    dilation: int | tuple[int, ...] = 1,
    groups: int = 1,
) -> Tensor:
    return convolution("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] = 0,
    output_padding: int | tuple[int, ...] = 0,
    groups: int = 1,
    dilation: int | tuple[int, ...] = 1,
) -> Tensor:
    """Every input adds a window of weights to the output: the gradient of conv2d by its input.

    input (N, C, H, W) or (C, H, W), weight (C, O / groups, kH, kW), bias (O,) ->
    (N, O, H', W'),
    where each size is (size - 1) * stride - 2 * padding + dilation * (k - 1) + output_padding + 1.
    Raises RuntimeError where shapes, dtypes or settings do not fit.
    https://pytorch.org/docs/stable/generated/torch.nn.functional.conv_transpose2d.html

    >>> import tiny_torch as torch
    >>> torch.conv_transpose2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 3, 3), stride=2).shape
    torch.Size([1, 1, 7, 7])
    """
    settings = (stride, padding, dilation, groups, output_padding)
    return transposed_convolution("conv_transpose2d", 2, input, weight, bias, *settings)


@told_as(conv_transpose2d, 1)
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] = 0,
    output_padding: int | tuple[int, ...] = 0,
    groups: int = 1,
    dilation: int | tuple[int, ...] = 1,
) -> Tensor:
    settings = (stride, padding, dilation, groups, output_padding)
    return transposed_convolution("conv_transpose1d", 1, input, weight, bias, *settings)


@told_as(conv_transpose2d, 3)
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] = 0,
    output_padding: int | tuple[int, ...] = 0,
    groups: int = 1,
    dilation: int | tuple[int, ...] = 1,
) -> Tensor:
    settings = (stride, padding, dilation, groups, output_padding)
    return transposed_convolution("conv_transpose3d", 3, input, weight, bias, *settings)


FUNCTIONS = by_name(conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d)
METHODS: dict[str, Any] = {}
