"""Reductions: sum, mean, extremes, ... over any dims."""

from __future__ import annotations

import math

from tiny_torch.autograd.graph import Op, run
from tiny_torch.ops.common import by_dims
from tiny_torch.ops.elementwise.arithmetic import Where
from tiny_torch.ops.elementwise.cast import Cast
from tiny_torch.ops.index.selection import ValueSelectingReduction
from tiny_torch.ops.reduce.scan import LinearScan, Shift


def spread(grad, shape, dims, keepdim):
    """A reduction's gradient (or result) with the reduced dims again, as a view."""
    if not keepdim and shape:
        ndim = len(shape)
        reduced = {d % ndim for d in dims} if dims else range(ndim)
        grad = grad.reshape(tuple([1 if d in reduced else n for d, n in enumerate(shape)]))
    return grad.expand(shape)


def count(shape, dims) -> int:
    return math.prod(shape[d] for d in dims) if dims and shape else math.prod(shape)


class Sum(Op):
    node_name = by_dims("Sum")
    cost = "read or write"
    autocast = "float32 on cuda"

    @staticmethod
    def forward(x, dims, keepdim, dtype=None, out=None):
        return x.sum(dims, keepdim, dtype, out), (x.shape, dims, keepdim, x.dtype)

    @staticmethod
    def backward(saved, grad, needs):
        shape, dims, keepdim, dtype = saved
        grad = spread(grad, shape, dims, keepdim)
        return grad if grad.dtype is dtype else run(Cast, grad, dtype)


class Mean(Op):
    node_name = by_dims("Mean")
    cost = "read or write"

    @staticmethod
    def forward(x, dims, keepdim, dtype=None, out=None):
        return x.mean(dims, keepdim, dtype, out), (x.shape, dims, keepdim, x.dtype)

    @staticmethod
    def backward(saved, grad, needs):
        shape, dims, keepdim, dtype = saved
        grad = spread(grad / (count(shape, dims) or 1), shape, dims, keepdim)
        return grad if grad.dtype is dtype else run(Cast, grad, dtype)


class Prod(Op):
    """The gradient of each element is the product of the others."""

    saves = (0, ~0)
    node_name = by_dims("Prod")
    autocast = "float32"

    @staticmethod
    def forward(x, dims, keepdim, dtype=None, out=None):
        y = x.prod(dims, keepdim, dtype, out)
        return y, (x, y, dims, keepdim)

    @staticmethod
    def backward(saved, grad, needs):
        x, y, dims, keepdim = saved
        shape = tuple(x.shape)
        if str(x.device) == "meta" or (x == 0).any().item():
            wide = x if x.dtype is y.dtype else run(Cast, x, y.dtype)
            others = product_of_others(wide, dims)
        else:
            others = spread(y, shape, dims, keepdim) / x
        result = spread(grad, shape, dims, keepdim) * others
        return result if result.dtype is x.dtype else run(Cast, result, x.dtype)


def product_of_others(x, dims):
    """For each element, the product of those before it and behind it, along dims[0] or in all."""
    flat, dim = (x, dims[0]) if dims and x.ndim else (x.reshape((-1,)), 0)
    nothing = flat.new_full(flat.shape, 0)
    first, last = run(Shift, nothing, dim, 1, 1), run(Shift, nothing, dim, -1, 1)
    before = run(LinearScan, first, run(Shift, flat, dim, 1, 1), dim, False)
    behind = run(LinearScan, last, flat, dim, True)
    return (before * behind).reshape(tuple(x.shape))


class Amax(Op):
    """Equal extremes share the gradient evenly."""

    saves = (0, ~0)
    name = "amax"

    @classmethod
    def forward(cls, x, dims, keepdim, out=None):
        y = getattr(x, cls.name)(dims, keepdim, None, out)
        return y, (x, y, dims, keepdim)

    @staticmethod
    def backward(saved, grad, needs):
        x, y, dims, keepdim = saved
        shape = tuple(x.shape)
        at = x == spread(y, shape, dims, keepdim)
        return Amax.share(at, x, grad, dims, keepdim)

    @staticmethod
    def share(at, x, grad, dims, keepdim):
        found = run(Cast, at, x.dtype)
        return found * spread(grad, tuple(x.shape), dims, keepdim) / found.sum(dims, True)


class Amin(Amax):
    name = "amin"


def divide_among_ties(at, x, grad):
    """The gradient of one element of x, by those that are it; 0 for others, whatever it is."""
    return run(Where, at, grad / run(Cast, at, x.dtype).sum(), 0.0)


class MaxOfAll(Amax):
    """amax over all dims. Its gradient, unlike that, goes to NaNs where there are any."""

    node_name = "MaxBackward1"
    aten = "max"

    @staticmethod
    def backward(saved, grad, needs):
        x, y = saved[:2]
        return divide_among_ties((x == y) | (x != x), x, grad)


class MinOfAll(MaxOfAll):
    name = "amin"
    node_name = "MinBackward1"
    aten = "min"


class Any_(Op):
    unrecorded = ("out",)

    @staticmethod
    def forward(x, dims, keepdim, out=None):
        return x.any(dims, keepdim, None, out), ()


class All_(Op):
    unrecorded = ("out",)

    @staticmethod
    def forward(x, dims, keepdim, out=None):
        return x.all(dims, keepdim, None, out), ()


class Argmax(Op):
    unrecorded = ("out",)
    name = "argmax"

    @classmethod
    def forward(cls, x, dim, keepdim, out=None):
        if dim is None:
            x, dim = x.reshape((-1,)), 0
        return getattr(x, cls.name)(dim, keepdim, out), ()


class Argmin(Argmax):
    name = "argmin"


class Max(ValueSelectingReduction):
    """(largest elements along dim, where the first of them are)."""

    method = "max_along"


class Min(ValueSelectingReduction):
    method = "min_along"
