"""Ops of masks: select, scatter, fill, nonzero."""

from __future__ import annotations

import math
from typing import Any

from tiny_torch.autograd.graph import Op, run
from tiny_torch.ops.index.brackets import Spread, fill_where, fit_gradient, fresh
from tiny_torch.ops.shape.join import broadcast_shapes
from tiny_torch.ops.shape.views import Place


class MaskedSelect(Op):
    """The elements of x where the mask, of x's shape, holds."""

    arity = 2
    saves = (1,)
    words = "mask:mask"

    @staticmethod
    def forward(x, mask):
        return x.masked_select(mask), (mask, x.shape)

    @staticmethod
    def backward(saved, grad, needs):
        mask, shape = saved
        return run(FromMaskedSelect, grad, mask, shape), None


class FromMaskedSelect(Spread):
    pick = MaskedSelect
    node_name = "MaskedScatterBackward0"

    @staticmethod
    def add(total, x, mask, shape):
        total.masked_scatter_(mask, x)  # to zeros only


class MaskedScatter(Op):
    """x, but where the mask holds the elements of source, one after another."""

    arity = 3
    saves = (1,)
    words = "mask:mask"

    @staticmethod
    def forward(x, mask, source, out=None):
        result = spread(x, mask) if out is None else out
        result.masked_scatter_(mask, source)
        return result, (mask, x.shape, source.shape)

    @staticmethod
    def backward(saved, grad, needs):
        mask, x_shape, shape = saved
        to_x = to_source = None
        if needs[0]:
            to_x = fit_gradient(run(MaskedFill, grad, mask, 0), x_shape, grad.dtype)
        if needs[2]:
            used = run(MaskedSelect, grad, mask.expand(grad.shape))
            size = math.prod(shape)
            place = (("slice", (0, 0, used.shape[0], 1)),)
            to_source = run(Place, used, (size,), place).reshape(shape)
        return to_x, None, to_source


class MaskedFill(Op):
    """x, but one value where the mask holds."""

    arity = 3
    saves = (1,)
    words = "mask:mask"

    @staticmethod
    def forward(x, mask, value, out=None):
        array = hasattr(value, "shape")
        if out is None and not array and x.is_contiguous() and x.dtype.is_floating_point:
            result = mask.where(value, x)  # a pass less than copying first
            result = result if result.is_contiguous() else fresh(result)
        else:
            result = spread(x, mask) if out is None else out
            fill_where(result, mask, value)
        return result, (mask, x.shape, *((value.shape, value.dtype) if array else (None, None)))

    @staticmethod
    def backward(saved, grad, needs):
        mask, x_shape, shape, dtype = saved
        to_x = to_value = None
        if needs[0]:
            to_x = fit_gradient(run(MaskedFill, grad, mask, 0), x_shape, grad.dtype)
        if needs[2]:
            to_value = fit_gradient(run(MaskedFill, grad, ~mask, 0), shape, dtype)
        return to_x, None, to_value

    @staticmethod
    def node_name(saved, node):
        return f"MaskedFillBackward{int(len(saved) > 2 and saved[2] is not None)}"


def spread(x: Any, mask: Any) -> Any:
    """A contiguous copy in the shape that x and a mask broadcast to."""
    if not x.same_shape(mask):
        x = x.expand(tuple(broadcast_shapes(mask.shape, x.shape)))
    return fresh(x)


class Nonzero(Op):
    dynamic_shape = True

    @staticmethod
    def forward(x):
        return x.nonzero(), ()
