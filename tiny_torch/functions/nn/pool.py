"""Pooling: the largest or the mean of windows; what it checks, and how it reads its arguments."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from tiny_torch import _core
from tiny_torch.autograd.apply import apply
from tiny_torch.base.arguments import as_int, check_bool, is_int, wrong_kind
from tiny_torch.base.docstrings import told_as
from tiny_torch.base.dtypes import not_implemented
from tiny_torch.functions.common import check_tensor
from tiny_torch.ops.nn.pool import (
    AdaptiveAvgPool,
    AvgPool,
    AvgPoolOfAll,
    MaxPool,
    MaxPoolWithIndices,
)
from tiny_torch.tensor import Tensor

Sizes = int | tuple[int, ...]


# input (N, C, *) or (C, *) -> (N, C, *') or (C, *'), where with `size` along a dim the result has
# (size + 2 * padding - dilation * (kernel_size - 1) - 1) / stride + 1, rounded down, or up in
# `ceil_mode`. `stride` is by default the kernel's size.


def max_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of every window; with `return_indices` also its position.

    input (N, C, H, W) or (C, H, W); the positions (int64) are those in a channel's
    plane. `padding` counts as -inf and is at most half of the window. Of equal elements the first
    counts; NaN is larger than all. Raises RuntimeError where shapes or settings do not fit.
    https://pytorch.org/docs/stable/generated/torch.nn.functional.max_pool2d.html

    >>> import tiny_torch as torch
    >>> torch.nn.functional.max_pool2d(torch.arange(16.0).reshape(1, 4, 4), 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """
    windows = (kernel_size, stride, padding, dilation, ceil_mode)
    return max_pool("max_pool2d", 2, return_indices, input, *windows)


@told_as(max_pool2d, 1)
def max_pool1d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """
    >>> import tiny_torch as torch
    >>> torch.nn.functional.max_pool1d(torch.tensor([[1.0, 3.0, 2.0, 4.0]]), 2)
    tensor([[3., 4.]])
    """
    windows = (kernel_size, stride, padding, dilation, ceil_mode)
    return max_pool("max_pool1d", 1, return_indices, input, *windows)


@told_as(max_pool2d, 3)
def max_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """
    >>> import tiny_torch as torch
    >>> torch.nn.functional.max_pool3d(torch.ones(1, 4, 4, 4), 2).shape
    torch.Size([1, 2, 2, 2])
    """
    windows = (kernel_size, stride, padding, dilation, ceil_mode)
    return max_pool("max_pool3d", 3, return_indices, input, *windows)


def avg_pool1d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of every window.

    input (N, C, L) or (C, L), floating or int64. The padding counts as zeros, or not at all if
    `count_include_pad` is False. Raises
    RuntimeError where shapes or settings do not fit.
    https://pytorch.org/docs/stable/generated/torch.nn.functional.avg_pool1d.html

    >>> import tiny_torch as torch
    >>> torch.nn.functional.avg_pool1d(torch.tensor([[1.0, 3.0, 2.0, 4.0]]), 2)
    tensor([[2., 3.]])
    """
    windows = (kernel_size, stride, padding, ceil_mode, count_include_pad)
    return avg_pool("avg_pool1d", 1, input, *windows)


def avg_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of every window.

    input (N, C, H, W) or (C, H, W), floating or int64. The padding counts as
    zeros, or not at all if `count_include_pad` is False; `divisor_override` takes the place of the
    number of elements. Raises RuntimeError where shapes or settings do not fit.
    https://pytorch.org/docs/stable/generated/torch.nn.functional.avg_pool2d.html

    >>> import tiny_torch as torch
    >>> torch.nn.functional.avg_pool2d(torch.arange(16.0).reshape(1, 4, 4), 2)
    tensor([[[ 2.5000,  4.5000],
             [10.5000, 12.5000]]])
    """
    windows = (kernel_size, stride, padding, ceil_mode, count_include_pad)
    return avg_pool("avg_pool2d", 2, input, *windows, divisor_override)


@told_as(avg_pool2d, 3)
def avg_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """
    >>> import tiny_torch as torch
    >>> torch.nn.functional.avg_pool3d(torch.ones(1, 4, 4, 4), 2).shape
    torch.Size([1, 2, 2, 2])
    """
    windows = (kernel_size, stride, padding, ceil_mode, count_include_pad)
    return avg_pool("avg_pool3d", 3, input, *windows, divisor_override)


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest element of each of `output_size` windows that cover input; None keeps a size.

    input (N, C, H, W) or (C, H, W), floating. https://pytorch.org/docs/stable/nn.functional.html
    """
    return adaptive_max_pool("adaptive_max_pool2d", 2, return_indices, input, output_size)


@told_as(adaptive_max_pool2d, 1)
def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    return adaptive_max_pool("adaptive_max_pool1d", 1, return_indices, input, output_size)


@told_as(adaptive_max_pool2d, 3)
def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    return adaptive_max_pool("adaptive_max_pool3d", 3, return_indices, input, output_size)


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The mean of each of `output_size` windows that cover input; None keeps a size.

    input (N, C, H, W) or (C, H, W), floating. https://pytorch.org/docs/stable/nn.functional.html

    >>> import tiny_torch as torch
    >>> torch.nn.functional.adaptive_avg_pool2d(torch.ones(2, 5, 5), 3).shape
    torch.Size([2, 3, 3])
    """
    return adaptive_avg_pool("adaptive_avg_pool2d", 2, input, output_size)


@told_as(adaptive_avg_pool2d, 1)
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    return adaptive_avg_pool("adaptive_avg_pool1d", 1, input, output_size)


@told_as(adaptive_avg_pool2d, 3)
def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    return adaptive_avg_pool("adaptive_avg_pool3d", 3, input, output_size)


WORDS = ("one", "two", "three")


def per_dim(function: str, name: str, value: Any, dims: int) -> tuple[int, ...]:
    """One number for each dim, from one for all or as many."""
    if type(value) is int:
        return (value,) * dims
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    for number in values:
        if not is_int(number):
            raise wrong_kind(function, name, "tuple of ints", value)
    if len(values) not in (1, dims):
        raise RuntimeError(
            f"{function}: {name} must either be a single int, or a tuple of {WORDS[dims - 1]} "
            f"ints, but got {values}"
        )
    return tuple([n.__index__() for n in values]) * (dims if len(values) == 1 else 1)


def check_shape(function: str, shape: tuple, dims: int) -> None:
    """The number of dims, and that only the batch is empty."""
    if len(shape) not in (dims + 1, dims + 2) or 0 in shape[len(shape) - dims - 1 :]:
        raise RuntimeError(
            f"{function}: Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with optional 0 "
            f"dim batch size for input, but got:{list(shape)}"
        )


def read_windows(function: str, dims: int, kernel_size: Any, stride: Any, padding: Any,
                 dilation: Any) -> tuple:  # fmt: skip
    """(kernel, stride, padding, dilation), checked."""
    kernel = per_dim(function, "kernel_size", kernel_size, dims)
    step = kernel
    if stride is not None and not (isinstance(stride, (tuple, list)) and not stride):
        step = per_dim(function, "stride", stride, dims)
    sides = per_dim(function, "padding", padding, dims)
    between = per_dim(function, "dilation", dilation, dims)
    for name, values in (("kernel_size", kernel), ("stride", step), ("dilation", between)):
        if min(values) <= 0:
            raise RuntimeError(f"{function}: {name} should be greater than zero, but got {values}")
    limit = 2**62 if function == "max_pool1d" else 2**31 - 1  # PyTorch's ints
    if max(*kernel, *step, *sides, *between) > limit:
        raise RuntimeError(f"{function}: value cannot be converted to type int without overflow")
    for side, taps, gap in zip(sides, kernel, between, strict=True):
        if side < 0:
            raise RuntimeError(f"{function}: pad must be non-negative, but got pad: {side}")
        if side > (gap * (taps - 1) + 1) // 2:
            raise RuntimeError(
                f"{function}: pad should be at most half of effective kernel size, but got "
                f"pad={side}, kernel_size={taps} and dilation={gap}"
            )
    return kernel, step, sides, between


def times(sizes: Any) -> str:
    return "x".join([str(size) for size in sizes])


def plan(function: str, dims: int, shape: tuple, ceil_mode: Any, *settings: Any) -> tuple:
    """(spatial sizes of the result, windows), of an input of that shape."""
    windows = read_windows(function, dims, *settings)
    check_shape(function, shape, dims)
    check_bool(function, "ceil_mode", None, ceil_mode)
    sizes = []
    for size, taps, stride, side, gap in zip(shape[-dims:], *windows, strict=True):
        room = size + 2 * side - gap * (taps - 1) - 1
        out = (room + (stride - 1 if ceil_mode else 0)) // stride + 1
        if ceil_mode and (out - 1) * stride >= size + side:
            out -= 1  # the last window has to start inside of the input or the left padding
        sizes.append(out)
    if min(sizes) < 1:
        raise RuntimeError(
            f"Given input size: ({times(shape[-dims - 1 :])}). Calculated output size: "
            f"({times((shape[-dims - 1], *sizes))}). Output size is too small"
        )
    return tuple(sizes), windows


known_plan = lru_cache(256, typed=True)(plan)  # of plain numbers; a pooling of 1.9 µs, not 4.2


def planned(function: str, dims: int, x: Any, ceil_mode: Any, *settings: Any) -> tuple:
    check_tensor(function, "input", 1, x)
    plain = True
    for setting in settings:
        plain = plain and (type(setting) is int or setting is None)
    return (known_plan if plain else plan)(function, dims, x.array.shape, ceil_mode, *settings)


def max_pool(function: str, dims: int, indices: bool, x: Any, kernel_size: Any, stride: Any,
             padding: Any, dilation: Any, ceil_mode: Any) -> Any:  # fmt: skip
    size, windows = planned(function, dims, x, ceil_mode, kernel_size, stride, padding, dilation)
    dtype = x.array.dtype
    if not dtype.is_floating_point and ((dims == 1 and not indices) or dtype is _core.bool):
        raise not_implemented(function, dtype)
    return apply(MaxPoolWithIndices if indices else MaxPool, x, size, windows)


def avg_pool(function: str, dims: int, x: Any, kernel_size: Any, stride: Any, padding: Any,
             ceil_mode: Any, count_include_pad: Any, divisor_override: Any = None):  # fmt: skip
    size, windows = planned(function, dims, x, ceil_mode, kernel_size, stride, padding, 1)
    if divisor_override is not None:
        divisor_override = as_int(function, "divisor_override", 7, divisor_override)
        if divisor_override == 0:
            raise RuntimeError(f"{function}: divisor must be not zero")
    check_bool(function, "count_include_pad", None, count_include_pad)
    dtype = x.array.dtype
    if not dtype.is_floating_point and dtype is not _core.int64:
        raise not_implemented(function, dtype)
    return apply(AvgPool, x, size, (*windows[:3], count_include_pad, divisor_override))


def adaptive_size(function: str, dims: int, x: Any, output_size: Any) -> tuple[int, ...]:
    """The sizes asked for; those that are None are x's."""
    check_tensor(function, "input", 1, x)
    shape = x.array.shape
    if isinstance(output_size, (Tensor, np.ndarray)) and output_size.ndim == 1:
        output_size = output_size.tolist()
    if dims > 1 and isinstance(output_size, (tuple, list)):
        if len(output_size) >= len(shape):
            raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
        if len(output_size) != dims:
            raise RuntimeError(f"{function}: output_size must be {dims}, but got {output_size}")
        output_size = [
            have if want is None else want
            for want, have in zip(output_size, shape[-dims:], strict=True)
        ]
    sizes = per_dim(function, "output_size", output_size, dims)
    if min(sizes) < 0:
        raise RuntimeError(
            f"{function}: elements of output_size must be greater than or equal to 0 but received "
            f"{list(sizes)}"
        )
    if len(shape) not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"{function}(): Expected {dims + 1}D or {dims + 2}D tensor, but got {list(shape)}"
        )
    if 0 in shape[len(shape) - dims :]:
        raise RuntimeError(
            f"{function}(): Expected input to have non-zero size for non-batch dimensions, but "
            f"input has sizes {list(shape)}"
        )
    if not x.is_floating_point():
        raise not_implemented(function, x.dtype)
    return sizes


def adaptive_max_pool(function: str, dims: int, indices: bool, x: Any, output_size: Any) -> Any:
    size = adaptive_size(function, dims, x, output_size)
    if 0 in x.array.shape[1:-dims]:
        raise RuntimeError(
            f"{function}(): Expected input to have non-zero size for non-batch dimensions, but "
            f"input has sizes {list(x.shape)}"
        )
    return apply(MaxPoolWithIndices if indices else MaxPool, x, size, ((), (), (), ()))


def adaptive_avg_pool(function: str, dims: int, x: Any, output_size: Any) -> Tensor:
    size = adaptive_size(function, dims, x, output_size)
    op = AvgPoolOfAll if size.count(1) == dims else AdaptiveAvgPool
    return apply(op, x, size, ((), (), (), True, None))


# -------------------------------------------------------------------------------------- of torch


def torch_max_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """As nn.functional.max_pool1d, without positions."""
    return max_pool(
        "max_pool1d", 1, False, input, kernel_size, stride, padding, dilation, ceil_mode
    )


def torch_max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """As nn.functional.max_pool2d, without positions."""
    return max_pool(
        "max_pool2d", 2, False, input, kernel_size, stride, padding, dilation, ceil_mode
    )


def torch_avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """As nn.functional.avg_pool1d."""
    return avg_pool(
        "avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad
    )


FUNCTIONS = {
    "max_pool1d": torch_max_pool1d,
    "max_pool2d": torch_max_pool2d,
    "avg_pool1d": torch_avg_pool1d,
}
METHODS: dict[str, Any] = {}
