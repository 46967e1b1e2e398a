"""`max_unpool` and `lp_pool`: what is made of pooling and of simple ops."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, prod
from typing import Any

from tiny_torch.autograd.op_mode import as_one
from tiny_torch.base.docstrings import told_as
from tiny_torch.base.layouts import suggested_format
from tiny_torch.functions.common import check_tensor, check_tensors, rounded_once, standalone
from tiny_torch.functions.nn.pool import (
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    per_dim,
)
from tiny_torch.tensor import Tensor

Sizes = int | tuple[int, ...]


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


def unpool(
    dims: int, x: Tensor, indices: Tensor, kernel_size: Any, stride: Any, padding: Any, size: Any
) -> Tensor:
    name = f"max_unpool{dims}d"
    check_tensors(name, {"input": x, "indices": indices})
    kernel = per_dim(name, "kernel_size", kernel_size, dims)
    step = kernel if stride is None else per_dim(name, "stride", stride, dims)
    sizes = unpool_size(x, dims, kernel, step, per_dim(name, "padding", padding, dims), size)
    if str(indices.dtype) != "torch.int64":
        raise RuntimeError(f"[{name}] elements in indices should be type int64")
    if x.ndim not in (dims + 1, dims + 2) or 0 in x.shape[-dims:]:
        raise RuntimeError(
            f"[{name}] Input to {name} should be a {dims + 1}d or {dims + 2}d Tensor with "
            f"non-zero sizes, but got {list(x.shape)}"
        )
    if x.shape != indices.shape:
        raise RuntimeError(
            f"[{name}] Expected shape of indices to be same as that of the input tensor "
            f"({list(x.shape)}) but got indices tensor with shape: {list(indices.shape)}"
        )
    if min(step) <= 0:
        raise RuntimeError(f"[{name}] strides should be greater than zero, but got stride: {step}")
    lead = x.shape[:-dims]
    zeros = x.new_zeros((*lead, prod(sizes)))
    y = zeros.scatter(-1, indices.flatten(-dims), x.flatten(-dims))
    y = standalone(y.reshape((*lead, *sizes)))
    return y.contiguous(memory_format=suggested_format(x.array)) if dims == 2 else y


@as_one
def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Any = None,
) -> Tensor:
    """The reverse of max_pool1d with return_indices: the largest where they were, else zeros.

    input and indices (N, C, L) or (C, L); of the sizes that pooling makes L of, `output_size` says
    which. Raises ValueError for a size that is none of them, RuntimeError for indices outside.
    https://pytorch.org/docs/stable/generated/torch.nn.functional.max_unpool1d.html

    >>> import tiny_torch as torch
    >>> F = torch.nn.functional
    >>> x = torch.tensor([[1.0, 5.0, 2.0, 3.0]])
    >>> F.max_unpool1d(*F.max_pool1d(x, 2, return_indices=True), 2)
    tensor([[0., 5., 0., 3.]])
    """
    return unpool(1, input, indices, kernel_size, stride, padding, output_size)


@as_one
def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Any = None,
) -> Tensor:
    """The reverse of max_pool2d with return_indices. See max_unpool1d.

    https://pytorch.org/docs/stable/generated/torch.nn.functional.max_unpool2d.html
    """
    return unpool(2, input, indices, kernel_size, stride, padding, output_size)


@as_one
@told_as(max_unpool2d, 3)
def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Any = None,
) -> Tensor:
    return unpool(3, input, indices, kernel_size, stride, padding, output_size)


@rounded_once
def lp_pool(pools: tuple[Callable, Callable], dims: int, x: Tensor, norm_type: float,
            kernel_size: Any, stride: Any, ceil_mode: bool) -> Tensor:  # fmt: skip
    name = f"lp_pool{dims}d"
    check_tensor(name, "input", 1, x)
    largest, mean = pools
    if norm_type == inf:
        return largest(x.abs(), kernel_size, stride, 0, 1, ceil_mode)
    if norm_type == -inf:
        return -largest(-x.abs(), kernel_size, stride, 0, 1, ceil_mode)
    count = prod(per_dim(name, "kernel_size", kernel_size, dims))
    y = mean(x.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return (y.sign() * y.abs().relu()).mul(count).pow(1.0 / norm_type)


def lp_pool1d(
    input: Tensor,
    norm_type: float,
    kernel_size: int,
    stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The norm of every window: (sum of x^norm_type)^(1 / norm_type).

    input (N, C, L) or (C, L). Raises RuntimeError where shapes or settings do not fit.
    https://pytorch.org/docs/stable/generated/torch.nn.functional.lp_pool1d.html

    >>> import tiny_torch as torch
    >>> torch.nn.functional.lp_pool1d(torch.tensor([[3.0, 4.0, 6.0, 8.0]]), 2, 2)
    tensor([[ 5., 10.]])
    """
    pools = (max_pool1d, avg_pool1d)
    return lp_pool(pools, 1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    input: Tensor,
    norm_type: float,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The norm of every window of input (N, C, H, W) or (C, H, W). See lp_pool1d.

    https://pytorch.org/docs/stable/generated/torch.nn.functional.lp_pool2d.html
    """
    check_tensor("lp_pool2d", "input", 1, input)
    input.size(-3)  # raises IndexError
    pools = (max_pool2d, avg_pool2d)
    return lp_pool(pools, 2, input, norm_type, kernel_size, stride, ceil_mode)


@told_as(lp_pool2d, 3)
def lp_pool3d(
    input: Tensor,
    norm_type: float,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    pools = (max_pool3d, avg_pool3d)
    return lp_pool(pools, 3, input, norm_type, kernel_size, stride, ceil_mode)
