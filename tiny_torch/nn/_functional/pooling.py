"""Pooling: `max_pool1d` to `lp_pool2d`, the largest, mean or norm of windows."""

from __future__ import annotations

from typing import Any

from ...ops import pooling
from ...tensor import Tensor

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d",
    "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d",
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "max_pool1d", "max_pool2d", "max_pool3d",
]  # fmt: skip

Sizes = int | tuple[int, ...]

# input (N, C, *) or (C, *) -> (N, C, *') or (C, *'), where with `size` along a dim the result has
# (size + 2 * padding - dilation * (kernel_size - 1) - 1) / stride + 1, rounded down, or up in
# `ceil_mode`. `stride` is by default the kernel's size.


def max_pool1d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of every window; with `return_indices` also its position.

    input (N, C, L) or (C, L); the positions (int64) are those in a channel's
    plane. `padding` counts as -inf and is at most half of the window. Of equal elements the first
    counts; NaN is larger than all. Raises RuntimeError where shapes or settings do not fit.
    https://pytorch.org/docs/stable/generated/torch.nn.functional.max_pool1d.html

    >>> import tiny_torch as torch
    >>> torch.nn.functional.max_pool1d(torch.tensor([[1.0, 3.0, 2.0, 4.0]]), 2)
    tensor([[3., 4.]])
    """
    windows = (kernel_size, stride, padding, dilation, ceil_mode)
    return pooling.max_pool("max_pool1d", 1, return_indices, input, *windows)


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
    return pooling.max_pool("max_pool2d", 2, return_indices, input, *windows)


def max_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of every window; with `return_indices` also its position.

    input (N, C, D, H, W) or (C, D, H, W); the positions (int64) are those in a channel's
    plane. `padding` counts as -inf and is at most half of the window. Of equal elements the first
    counts; NaN is larger than all. Raises RuntimeError where shapes or settings do not fit.
    https://pytorch.org/docs/stable/generated/torch.nn.functional.max_pool3d.html

    >>> import tiny_torch as torch
    >>> torch.nn.functional.max_pool3d(torch.ones(1, 4, 4, 4), 2).shape
    torch.Size([1, 2, 2, 2])
    """
    windows = (kernel_size, stride, padding, dilation, ceil_mode)
    return pooling.max_pool("max_pool3d", 3, return_indices, input, *windows)


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
    return pooling.avg_pool("avg_pool1d", 1, input, *windows)


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
    return pooling.avg_pool("avg_pool2d", 2, input, *windows, divisor_override)


def avg_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of every window.

    input (N, C, D, H, W) or (C, D, H, W), floating or int64. The padding counts as
    zeros, or not at all if `count_include_pad` is False; `divisor_override` takes the place of the
    number of elements. Raises RuntimeError where shapes or settings do not fit.
    https://pytorch.org/docs/stable/generated/torch.nn.functional.avg_pool3d.html

    >>> import tiny_torch as torch
    >>> torch.nn.functional.avg_pool3d(torch.ones(1, 4, 4, 4), 2).shape
    torch.Size([1, 2, 2, 2])
    """
    windows = (kernel_size, stride, padding, ceil_mode, count_include_pad)
    return pooling.avg_pool("avg_pool3d", 3, input, *windows, divisor_override)


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest element of each of `output_size` windows that cover input.

    input (N, C, L) or (C, L), floating. https://pytorch.org/docs/stable/nn.functional.html
    """
    return pooling.adaptive_max_pool("adaptive_max_pool1d", 1, return_indices, input, output_size)


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest element of each of `output_size` windows that cover input; None keeps a size.

    input (N, C, H, W) or (C, H, W), floating. https://pytorch.org/docs/stable/nn.functional.html
    """
    return pooling.adaptive_max_pool("adaptive_max_pool2d", 2, return_indices, input, output_size)


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest element of each of `output_size` windows that cover input; None keeps a size.

    input (N, C, D, H, W) or (C, D, H, W), floating. https://pytorch.org/docs/stable/nn.functional.html
    """
    return pooling.adaptive_max_pool("adaptive_max_pool3d", 3, return_indices, input, output_size)


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """The mean of each of `output_size` windows that cover input; None keeps a size.

    input (N, C, L) or (C, L), floating. https://pytorch.org/docs/stable/nn.functional.html

    >>> import tiny_torch as torch
    >>> torch.nn.functional.adaptive_avg_pool1d(torch.ones(2, 5), 3).shape
    torch.Size([2, 3])
    """
    return pooling.adaptive_avg_pool("adaptive_avg_pool1d", 1, input, output_size)


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The mean of each of `output_size` windows that cover input; None keeps a size.

    input (N, C, H, W) or (C, H, W), floating. https://pytorch.org/docs/stable/nn.functional.html

    >>> import tiny_torch as torch
    >>> torch.nn.functional.adaptive_avg_pool2d(torch.ones(2, 5, 5), 3).shape
    torch.Size([2, 3, 3])
    """
    return pooling.adaptive_avg_pool("adaptive_avg_pool2d", 2, input, output_size)


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """The mean of each of `output_size` windows that cover input; None keeps a size.

    input (N, C, D, H, W) or (C, D, H, W), floating. https://pytorch.org/docs/stable/nn.functional.html

    >>> import tiny_torch as torch
    >>> torch.nn.functional.adaptive_avg_pool3d(torch.ones(2, 5, 5, 5), 3).shape
    torch.Size([2, 3, 3, 3])
    """
    return pooling.adaptive_avg_pool("adaptive_avg_pool3d", 3, input, output_size)
