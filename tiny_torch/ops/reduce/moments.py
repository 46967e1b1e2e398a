"""Reductions made of several: variance, logsumexp."""

from __future__ import annotations

import math

from tiny_torch import _core
from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.graph import Op, run
from tiny_torch.base.devices import array_module
from tiny_torch.ops.elementwise.arithmetic import Where
from tiny_torch.ops.elementwise.cast import Cast, narrow, widen
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
        slope = over_freedom(widen(grad) * 2, x, dims, correction)
        slope = spread(slope, tuple(x.shape), dims, keepdim)
        return narrow(center(widen(x), dims) * slope, x.dtype)


class Std(Op):
    """The square root of Var; its gradient at 0 is 0."""

    saves = (0, ~0)

    @staticmethod
    def forward(x, dims, keepdim, correction):
        result = dispersion(x, dims, keepdim, correction, True)
        return result, (x, result, dims, keepdim, correction)

    @staticmethod
    def backward(saved, grad, needs):
        x, result, dims, keepdim, correction = saved
        wide = widen(result)
        slope = run(Where, wide == 0, 0.0, widen(grad) / wide)
        change = center(widen(x), dims) * spread(slope, tuple(x.shape), dims, keepdim)
        return narrow(over_freedom(change, x, dims, correction), x.dtype)


def over_freedom(grad, x, dims, correction):
    freedom = count(x.shape, dims) - correction
    return grad * (1.0 / freedom if freedom else math.inf)


def center(x, dims):
    """x less its mean, of which rounding leaves much where elements are far from 0."""
    distance = x - x.mean(dims, True)
    return distance - distance.mean(dims, True)


def dispersion(x, dims, keepdim, correction, root):
    """The variance, or its root."""
    freedom = max(count(x.shape, dims) - correction, 0.0)
    return array_module(x.device).variance(x, dims, keepdim, freedom, root, True)


class Logsumexp(Op):
    saves = (0, ~0)
    autocast = "float32 on cuda"

    @staticmethod
    def forward(x, dims, keepdim, out=None):
        y = _core.logsumexp(x, dims, keepdim, out)
        return y, (x, y, dims, keepdim)

    @staticmethod
    def backward(saved, grad, needs):
        x, y, dims, keepdim = saved
        shape, wide = tuple(x.shape), widen(x)
        if wide is not x:  # y is rounded, and so a share of its size away
            y = _core.logsumexp(wide, dims, keepdim, None)
        share = (wide - spread(y, shape, dims, keepdim)).exp()
        return narrow(share * spread(widen(grad), shape, dims, keepdim), x.dtype)

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
