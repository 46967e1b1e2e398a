"""Sorting, and elements by their rank. NaN is the largest; of equals the first comes first."""

from __future__ import annotations

from tiny_torch.autograd.graph import Op
from tiny_torch.base.devices import array_module
from tiny_torch.ops.index.selection import ValueSelectingReduction, ValueSelection
from tiny_torch.ops.reduce.sums import divide_among_ties


class Sort(ValueSelection):
    method = "sort"


class Argsort(Op):
    @staticmethod
    def forward(x, dim, descending, out=None):
        return x.sort(dim, descending, (None, out))[1], ()


class Topk(ValueSelection):
    method = "topk"


class Kthvalue(ValueSelectingReduction):
    method = "kthvalue"


class Median(ValueSelectingReduction):
    method = "median"


class Mode(ValueSelectingReduction):
    method = "mode"


class MedianOfAll(Op):
    """Elements that equal the median share the gradient evenly."""

    saves = (0, ~0)
    aten = "median"

    @staticmethod
    def forward(x, ignore_nan):
        if x.size:
            y = x.reshape((-1,)).median(0, False, ignore_nan)[0]
        elif x.dtype.is_floating_point:
            y = array_module(x.device).full((), float("nan"), x.dtype)
        else:
            raise RuntimeError(f"median(): there is no median of no elements of {x.dtype}")
        return y, (x, y)

    @staticmethod
    def backward(saved, grad, needs):
        x, y = saved
        return divide_among_ties((x == y) | ((x != x) & (y != y)), x, grad)
