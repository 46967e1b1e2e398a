"""Pooling: the largest or the mean of windows, which C++ checks (api/spatial/pool_windows.h)."""

from __future__ import annotations

from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply
from tiny_torch.base.docstrings import in_each_dim
from tiny_torch.base.dtypes import not_implemented
from tiny_torch.functions.public import function
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


def max_pool(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    *,
    _dims: int = 2,
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
    array = input.array
    plan = _core.pool_windows(array.shape, _dims, kernel_size, stride, padding, ceil_mode, dilation)
    if return_indices:
        return apply(MaxPoolWithIndices, input, *plan)
    if _dims == 1 and not array.dtype.is_floating_point:  # which PyTorch has only with positions
        raise not_implemented("max_pool1d", array.dtype)
    return apply(MaxPool, input, *plan)


max_pool1d, max_pool2d, max_pool3d = in_each_dim(
    max_pool,
    """>>> import tiny_torch as torch
    >>> torch.nn.functional.max_pool1d(torch.tensor([[1.0, 3.0, 2.0, 4.0]]), 2)
    tensor([[3., 4.]])
    """,
    """>>> import tiny_torch as torch
    >>> torch.nn.functional.max_pool3d(torch.ones(1, 4, 4, 4), 2).shape
    torch.Size([1, 2, 2, 2])
    """,
)


def avg_pool(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    _dims: int = 2,
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
    size, windows = _core.pool_windows(
        input.array.shape, _dims, kernel_size, stride, padding, ceil_mode
    )
    if divisor_override == 0:
        raise RuntimeError(f"avg_pool{_dims}d: divisor must be not zero")
    return apply(AvgPool, input, size, (*windows[:3], count_include_pad, divisor_override))


_, avg_pool2d, avg_pool3d = in_each_dim(
    avg_pool,
    "",
    """>>> import tiny_torch as torch
    >>> torch.nn.functional.avg_pool3d(torch.ones(1, 4, 4, 4), 2).shape
    torch.Size([1, 2, 2, 2])
    """,
)


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
    return avg_pool(input, *windows, _dims=1)


def adaptive_max_pool(
    input: Tensor, output_size: Any, return_indices: bool = False, *, _dims: int = 2
) -> Any:
    """The largest element of each of `output_size` windows that cover input; None keeps a size.

    input (N, C, H, W) or (C, H, W), floating. https://pytorch.org/docs/stable/nn.functional.html
    """
    size = _core.adaptive_size(input.array.shape, _dims, output_size)
    op = MaxPoolWithIndices if return_indices else MaxPool
    return apply(op, input, size, ((), (), (), ()))


adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = in_each_dim(adaptive_max_pool)


def adaptive_avg_pool(input: Tensor, output_size: Any, *, _dims: int = 2) -> Tensor:
    """The mean of each of `output_size` windows that cover input; None keeps a size.

    input (N, C, H, W) or (C, H, W), floating. https://pytorch.org/docs/stable/nn.functional.html

    >>> import tiny_torch as torch
    >>> torch.nn.functional.adaptive_avg_pool2d(torch.ones(2, 5, 5), 3).shape
    torch.Size([2, 3, 3])
    """
    size = _core.adaptive_size(input.array.shape, _dims, output_size)
    op = AvgPoolOfAll if size == (1,) * _dims else AdaptiveAvgPool
    return apply(op, input, size, ((), (), (), True, None))


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = in_each_dim(adaptive_avg_pool)


# -------------------------------------------------------------------------------------- of torch


def torch_max_pool(
    input: Tensor,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    *,
    _dims: int = 2,
) -> Tensor:
    """As nn.functional.max_pool2d, without positions."""
    return max_pool(input, kernel_size, stride, padding, dilation, ceil_mode, _dims=_dims)


def torch_avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """As nn.functional.avg_pool1d."""
    windows = (kernel_size, stride, padding, ceil_mode, count_include_pad)
    return avg_pool(input, *windows, _dims=1)


for _name, _pool in zip(("max_pool1d", "max_pool2d"), in_each_dim(torch_max_pool), strict=False):
    function(_pool, _name)
function(torch_avg_pool1d, "avg_pool1d")
