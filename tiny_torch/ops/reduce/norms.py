"""Norms of vectors and matrices, over any dims."""

from __future__ import annotations

import math
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.graph import Op
from tiny_torch.dtypes import scalar_type
from tiny_torch.ops.elementwise.cast import Cast
from tiny_torch.ops.linalg.lapack import in_tensors
from tiny_torch.ops.linalg.products import wide
from tiny_torch.ops.reduce.sums import count, spread
from tiny_torch.ops.shape.views import unique_dims
from tiny_torch.tensor import Tensor

Number = bool | int | float


class LinalgVectorNorm(Op):
    """(sum |x|^p)^(1/p); half types are summed in float32. The gradient at 0 is 0."""

    saves = (0, ~0)

    @staticmethod
    def forward(x, p, dims, keepdim):
        result = power_norm(wide(x), p, dims, keepdim)
        if result.dtype is not x.dtype:
            result = result.astype(x.dtype)
        return result, (x, result, p, dims, keepdim)

    @staticmethod
    @in_tensors
    def backward(saved, grad, needs):
        x, norm, p, dims, keepdim = saved
        shape = tuple(x.shape)
        norm, grad = spread(norm, shape, dims, keepdim), spread(grad, shape, dims, keepdim)
        zero = norm.detach() == 0
        if p == 0:
            return None
        if p == 1:
            return grad * x.sign()
        if p == 2:
            return grad * (x / norm).masked_fill(zero, 0)
        if abs(p) == math.inf:  # extremes that are equal share the gradient
            at, value = x.detach().abs(), norm.detach()
            found = ((at == value) | ((at != at) & (value != value))).to(x.dtype)
            return x.sign() * (found / found.sum(dims, True)) * grad
        if p < 1:
            slope = (x.sign() * x.abs() ** (p - 1)).masked_fill(x.detach() == 0, 0)
            return slope * grad * norm ** (1 - p)
        slope = x.sign() * x.abs() ** (p - 1) if p < 2 else x * x.abs() ** (p - 2)
        return slope * (grad / norm ** (p - 1)).masked_fill(zero, 0)


def power_norm(x, p, dims, keepdim):
    if p != 0 and count(x.shape, dims) == 1:
        p = 1  # a single number is its own norm, however large
    if p == 2:
        return x.square_sum(dims, keepdim).sqrt()
    if p == 0:
        return (x != 0).astype(x.dtype).sum(dims, keepdim)
    x = x.abs()
    if abs(p) == math.inf:
        return x.amax(dims, keepdim) if p > 0 else x.amin(dims, keepdim)
    if p == 1:
        return x.sum(dims, keepdim)
    return (x**p).sum(dims, keepdim) ** (1.0 / p)


def dims_of(dim: Any, ndim: int) -> tuple | None:
    """dim as a tuple; None means all, and so does an empty one."""
    if dim is None:
        return None
    dims = unique_dims(dim if isinstance(dim, (tuple, list)) else (dim,), ndim)
    return dims if dims and ndim else None


def in_dtype(name: str, x: Tensor, dtype: Any) -> Tensor:
    """x, in a wider dtype if one is asked for."""
    if not x.is_floating_point():
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got "
            f"{scalar_type(x.dtype)}"
        )
    if dtype is None or dtype is x.dtype:
        return x
    if not dtype.is_floating_point:
        raise RuntimeError(f"{name}: dtype should be floating point or complex, but got {dtype}")
    if _core.promote_types(x.dtype, dtype) is not dtype:
        raise RuntimeError(
            f"{name}: the dtype of the input ({x.dtype}) should be convertible without narrowing "
            f"to the specified dtype ({dtype})"
        )
    return apply(Cast, x, dtype)
