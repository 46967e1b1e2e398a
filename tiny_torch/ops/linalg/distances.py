"""Distances between rows."""

from __future__ import annotations

import math

from tiny_torch.autograd.engine import sum_to
from tiny_torch.autograd.graph import Op
from tiny_torch.ops.linalg.lapack import in_tensors
from tiny_torch.ops.reduce.norms import LinalgVectorNorm
from tiny_torch.ops.reduce.sums import spread


class PairNorm(LinalgVectorNorm):
    """The norm of differences. Its gradient is NaN at NaN, and all of it goes to each extreme."""

    @staticmethod
    @in_tensors
    def backward(saved, grad, needs):
        x, norm, p, dims, keepdim = saved
        slope, odd = LinalgVectorNorm.backward(saved, grad, needs), x.detach()
        if p < 1:
            slope = slope.masked_fill(odd == 0, 0)
        if p == math.inf:
            shape = tuple(x.shape)
            odd = spread(norm.detach(), shape, dims, keepdim) - x.detach().abs()
            slope = x.sign() * (odd == 0).to(x.dtype) * spread(grad, shape, dims, keepdim)
        return slope.masked_fill(odd.isnan(), math.nan)


PairNorm.__name__ = "LinalgVectorNorm"  # in the graph it is one


class EuclideanDist(Op):
    """|x - y| of all pairs of rows by one product: |x|^2 - 2 x y + |y|^2, 0 where that is below."""

    arity = 2
    saves = (0, 1, ~0)
    aten = "cdist"

    @staticmethod
    def forward(x, y):
        to_x, to_y = x.square().sum((-1,), True), y.square().sum((-1,), True).transpose(-1, -2)
        squares = to_x - x.matmul(y.transpose(-1, -2)) * 2 + to_y
        result = squares.clamp(0, float("inf")).sqrt()
        return result, (x, y, result, x.shape, y.shape)

    @staticmethod
    @in_tensors
    def backward(saved, grad, needs):
        x, y, distance, x_shape, y_shape = saved
        ratio = (grad / distance).masked_fill(distance.detach() == 0, 0)
        to_x = x * ratio.sum(-1, True) - ratio @ y
        to_y = y * ratio.sum(-2).unsqueeze(-1) - ratio.mT @ x
        return sum_to(to_x, x_shape, x.dtype), sum_to(to_y, y_shape, y.dtype)
