"""Reductions made of several: variance, logsumexp."""

from __future__ import annotations

import math

from tiny_torch import _core
from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.graph import Op, run
from tiny_torch.devices import array_module
from tiny_torch.ops.elementwise.arithmetic import Where
from tiny_torch.ops.elementwise.cast import Cast, narrowed, widened
from tiny_torch.ops.reduce.sums import count, spread


class Var(Op):
    """The sum of squared deviations from the mean, divided by n - correction.

    Halves are computed in float32, and no square of float32 overflows or vanishes: PyTorch's are
    double.
    """

    saves = (0,)

    @staticmethod
    def forward(x, dims, keepdim, correction):
        result = dispersion(x, dims, keepdim, correction, False)
        return result, (x, dims, keepdim, correction)

    @staticmethod
    def backward(saved, grad, needs):
        x, dims, keepdim, correction = saved
        wide, freedom = widened(x), count(x.shape, dims) - correction
        slope = widened(grad) * (2.0 / freedom if freedom else math.inf)
        distance = wide - wide.mean(dims, True)
        return narrowed(distance * spread(slope, tuple(x.shape), dims, keepdim), x.dtype)


class Std(Op):
    """The square root of Var; its gradient at 0 is 0."""

    saves = (0, ~0)

    @staticmethod
    def forward(x, dims, keepdim, correction):
        result = dispersion(x, dims, keepdim, correction, True)
        return result, (x, result, dims, keepdim, correction)

    @staticmethod
    def backward(saved, grad, needs):
        x, result, *rest = saved
        wide = widened(result)
        to_variance = run(Where, wide == 0, 0.0, widened(grad) / (wide * 2))
        return Var.backward((x, *rest), to_variance, needs)


def dispersion(x, dims, keepdim, correction, root):
    """The variance, or its root."""
    freedom = max(count(x.shape, dims) - correction, 0.0)
    return array_module(x.device).variance(x, dims, keepdim, freedom, root, True)


class Logsumexp(Op):
    saves = (0, ~0)

    @staticmethod
    def forward(x, dims, keepdim, out=None):
        y = _core.logsumexp(x, dims, keepdim, out)
        return y, (x, y, dims, keepdim)

    @staticmethod
    def backward(saved, grad, needs):
        x, y, dims, keepdim = saved
        shape = tuple(x.shape)
        return (x - spread(y, shape, dims, keepdim)).exp() * spread(grad, shape, dims, keepdim)

    @staticmethod
    def composite(x, dims, keepdim):
        if x.numel() == 0:  # there may be no largest element to subtract
            return x.exp().sum(dims, keepdim).log()
        top = x.detach().amax(dims, True)
        top = apply(Where, top.abs() == math.inf, 0.0, top)
        total = (x - top).exp().sum(dims, True).log() + top
        return total if keepdim else total.squeeze(dims)


class Nansum(Op):
    saves = (0,)

    @staticmethod
    def forward(x, dims, keepdim, dtype=None, out=None):
        return x.nansum(dims, keepdim, dtype, out), (x, dims, keepdim)

    @staticmethod
    def backward(saved, grad, needs):
        x, dims, keepdim = saved
        grad = run(Where, x == x, spread(grad, tuple(x.shape), dims, keepdim), 0.0)
        return grad if grad.dtype is x.dtype else run(Cast, grad, x.dtype)
