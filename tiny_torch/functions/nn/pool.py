"""Pooling: the largest or the mean of windows, which C++ checks (api/spatial/pool_windows.h).

And `max_unpool` and `lp_pool`: what is made of pooling and of simple ops.
"""

from __future__ import annotations

from math import inf, prod
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.op_mode import as_one
from tiny_torch.base.docstrings import in_each_dim
from tiny_torch.base.dtypes import FLOATING, check_implemented
from tiny_torch.base.layouts import suggested_format
from tiny_torch.functions.common import check_tensors, rounded_once, standalone
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
    if _dims == 1:  # of integers PyTorch has it only with positions
        check_implemented("max_pool1d", array.dtype, FLOATING)
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


def unpool_size(x: Tensor, dims: int, kernel: tuple, stride: tuple, padding: tuple, wanted: Any):
    """The sizes before pooling: those `wanted`, if pooling would make x's of them."""
    default = [
        (x.shape[d - dims] - 1) * stride[d] + kernel[d] - 2 * padding[d] for d in range(dims)
    ]
    sizes = default if wanted is None else list(wanted)
    if wanted is not None and len(sizes) == dims + 2:
        sizes = sizes[2:]
    if len(sizes) != dims:
        raise ValueError(
            f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it "
            f"has a length of '{len(sizes)}'"
        )
    for d in range(dims):
        if wanted is not None and not abs(sizes[d] - default[d]) < stride[d]:
            raise ValueError(
                f'invalid output_size "{wanted}" (dim {d} must be between '
                f"{default[d] - stride[d]} and {default[d] + stride[d]})"
            )
        if sizes[d] < 0:
            raise ValueError(
                "max_unpooling: output_size must contain non-negative spatial dimensions, but got "
                f"output_size[{d}]={sizes[d]}"
            )
    return sizes


def max_unpool(
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Any = None,
    *,
    _dims: int = 2,
) -> Tensor:
    """The reverse of max_pool2d with return_indices: the largest where they were, else zeros.

    input and indices (N, C, H, W) or (C, H, W); of the sizes that pooling makes H and W of,
    `output_size` says which. Raises ValueError for a size that is none of them, RuntimeError for
    indices outside.
    https://pytorch.org/docs/stable/generated/torch.nn.functional.max_unpool2d.html

    >>> import tiny_torch as torch
    >>> F = torch.nn.functional
    >>> F.max_unpool2d(*F.max_pool2d(torch.ones(1, 4, 4), 2, return_indices=True), 2).shape
    torch.Size([1, 4, 4])
    """
    name = f"max_unpool{_dims}d"
    check_tensors(name, {"input": input, "indices": indices})
    kernel, step, side = [
        _core.per_dim(value, "max_unpool", _dims, argument)
        for argument, value in (
            ("kernel_size", kernel_size),
            ("stride", kernel_size if stride is None else stride),
            ("padding", padding),
        )
    ]
    sizes = unpool_size(input, _dims, kernel, step, side, output_size)
    if indices.dtype is not _core.int64:
        raise RuntimeError(f"[{name}] elements in indices should be type int64")
    if input.ndim not in (_dims + 1, _dims + 2) or 0 in input.shape[-_dims:]:
        raise RuntimeError(
            f"[{name}] Input to {name} should be a {_dims + 1}d or {_dims + 2}d Tensor with "
            f"non-zero sizes, but got {list(input.shape)}"
        )
    if input.shape != indices.shape:
        raise RuntimeError(
            f"[{name}] Expected shape of indices to be same as that of the input tensor "
            f"({list(input.shape)}) but got indices tensor with shape: {list(indices.shape)}"
        )
    if min(step) <= 0:
        raise RuntimeError(f"[{name}] strides should be greater than zero, but got stride: {step}")
    lead = input.shape[:-_dims]
    zeros = input.new_zeros((*lead, prod(sizes)))
    y = zeros.scatter(-1, indices.flatten(-_dims), input.flatten(-_dims))
    y = standalone(y.reshape((*lead, *sizes)))
    return y.contiguous(memory_format=suggested_format(input.array)) if _dims == 2 else y


max_unpool1d, max_unpool2d, max_unpool3d = map(
    as_one,
    in_each_dim(
        max_unpool,
        """>>> import tiny_torch as torch
    >>> F = torch.nn.functional
    >>> x = torch.tensor([[1.0, 5.0, 2.0, 3.0]])
    >>> F.max_unpool1d(*F.max_pool1d(x, 2, return_indices=True), 2)
    tensor([[0., 5., 0., 3.]])
    """,
    ),
)


def lp_pool(
    input: Tensor,
    norm_type: float,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    ceil_mode: bool = False,
    *,
    _dims: int = 2,
) -> Tensor:
    """The norm of every window: (sum of x^norm_type)^(1 / norm_type).

    input (N, C, H, W) or (C, H, W). Raises RuntimeError where shapes or settings do not fit.
    https://pytorch.org/docs/stable/generated/torch.nn.functional.lp_pool2d.html

    >>> import tiny_torch as torch
    >>> torch.nn.functional.lp_pool2d(torch.ones(1, 4, 4), 2, 2).shape
    torch.Size([1, 2, 2])
    """
    if _dims == 2:
        input.size(-3)  # raises IndexError
    return norms_of_windows(input, norm_type, kernel_size, stride, ceil_mode, _dims)


@rounded_once
def norms_of_windows(x: Tensor, norm_type: float, kernel_size: Any, stride: Any, ceil_mode: bool,
                     dims: int) -> Tensor:  # fmt: skip
    if norm_type == inf:
        return max_pool(x.abs(), kernel_size, stride, 0, 1, ceil_mode, _dims=dims)
    if norm_type == -inf:
        return -max_pool(-x.abs(), kernel_size, stride, 0, 1, ceil_mode, _dims=dims)
    count = prod(_core.per_dim(kernel_size, "lp_pool", dims, "kernel_size"))
    y = avg_pool(x.pow(norm_type), kernel_size, stride, 0, ceil_mode, _dims=dims)
    return (y.sign() * y.abs().relu()).mul(count).pow(1.0 / norm_type)


lp_pool1d, lp_pool2d, lp_pool3d = in_each_dim(
    lp_pool,
    """>>> import tiny_torch as torch
    >>> torch.nn.functional.lp_pool1d(torch.tensor([[3.0, 4.0, 6.0, 8.0]]), 2, 2)
    tensor([[ 5., 10.]])
    """,
)
