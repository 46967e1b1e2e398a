"""Norms of vectors and matrices, over any dims."""

from __future__ import annotations

import math

from tiny_torch.autograd.graph import Op
from tiny_torch.ops.elementwise.cast import widened
from tiny_torch.ops.linalg.lapack import in_tensors
from tiny_torch.ops.reduce.sums import count, spread


class LinalgVectorNorm(Op):
    """(sum |x|^p)^(1/p); half types are summed in float32. The gradient at 0 is 0."""

    saves = (0, ~0)

    @staticmethod
    def forward(x, p, dims, keepdim):
        result = power_norm(widened(x), p, dims, keepdim)
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
