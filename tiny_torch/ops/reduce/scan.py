"""Scans: at every position along a dim, what a reduction of all up to there would answer.

Their gradients are scans from the other end; those of products and logarithms take a factor per
step (LinearScan), which is its own transpose but for the direction. Results are contiguous.
"""

from __future__ import annotations

import math

from tiny_torch.autograd.graph import Op, run
from tiny_torch.ops.common import write_into
from tiny_torch.ops.index.selection import ValueSelection


class Cumsum(Op):
    cost = "copy"
    autocast = "float32 on cuda"

    @staticmethod
    def forward(x, dim, dtype=None, reverse=False, out=None):
        return write_into(x.cumsum(dim, dtype, reverse, out), out), (dim, reverse)

    @staticmethod
    def backward(saved, grad, needs):
        dim, reverse = saved
        return run(Cumsum, grad, dim, None, not reverse)


class Cumprod(Op):
    """d y[i] / d x[k] is y[k-1] x[k+1] ... x[i]: no division, so zeros are as good as others."""

    saves = (0, ~0)
    autocast = "float32 on cuda"

    @staticmethod
    def forward(x, dim, dtype=None, out=None):
        y = write_into(x.cumprod(dim, dtype, out), out)
        return y, (x, y, dim)

    @staticmethod
    def backward(saved, grad, needs):
        x, y, dim = saved
        return run(Shift, y, dim, 1, 1) * run(LinearScan, grad, x, dim, True)


class Logcumsumexp(Op):
    """d y[i] / d x[k] is exp(x[k] - y[i]), in steps of exp(y[i-1] - y[i]), none above 1."""

    saves = (0, ~0)

    @staticmethod
    def forward(x, dim, out=None):
        y = x.logcumsumexp(dim, out)
        return y, (x, y, dim)

    @staticmethod
    def backward(saved, grad, needs):
        x, y, dim = saved
        steps = (run(Shift, y, dim, 1, -math.inf) - y).exp()
        return (x - y).exp() * run(LinearScan, grad, steps, dim, True)


class LinearScan(Op):
    """y[k] = x[k] + a[k] y[k-1]; in reverse y[k] = x[k] + a[k+1] y[k+1], which is its transpose."""

    arity = 2
    saves = (1, ~0)
    used_by = ((0, 1), (1,))

    @staticmethod
    def forward(x, a, dim, reverse):
        y = x.linear_scan(a, dim, reverse)
        return y, (a, y, dim, reverse)

    @staticmethod
    def backward(saved, grad, needs):
        a, y, dim, reverse = saved
        grad_x = run(LinearScan, grad, a, dim, not reverse)
        if not needs[1]:
            return grad_x, None
        late, early = (y, grad_x) if reverse else (grad_x, y)
        return grad_x, late * run(Shift, early, dim, 1, 0)


class Shift(Op):
    """x one position further along a dim (back for -1), and `fill` where it has left."""

    @staticmethod
    def forward(x, dim, by, fill):
        result = x.new_full(x.shape, fill)
        n = x.shape[dim] if x.ndim else 1
        if n > 1:
            front, back = (dim, 0, n - 1, 1), (dim, 1, n, 1)
            to, source = (back, front) if by > 0 else (front, back)
            result.slice(*to).copy_(x.slice(*source))
        return result, (dim, by)

    @staticmethod
    def backward(saved, grad, needs):
        dim, by = saved
        return run(Shift, grad, dim, -by, 0)


class Cummax(ValueSelection):
    method = "cummax"


class Cummin(ValueSelection):
    method = "cummin"
