"""Ops with a position for each element, along one dim: gather, scatter and their family."""

from __future__ import annotations

from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.graph import Op, run
from tiny_torch.autograd.term import term
from tiny_torch.base.dtypes import HALVES
from tiny_torch.ops.elementwise.arithmetic import Where
from tiny_torch.ops.elementwise.cast import Cast, narrow, widen
from tiny_torch.ops.index.brackets import (
    ADD,
    MAXIMUM,
    MINIMUM,
    MULTIPLY,
    SET,
    Spread,
    as_operand,
    fresh,
)
from tiny_torch.ops.shape.views import zeros_of


class Gather(Op):
    """result[i, j] = x[index[i, j], j] for dim 0."""

    arity = 2
    saves = (1,)

    @staticmethod
    def forward(x, index, dim, out=None):
        return x.gather(dim, index, out), (index, x.shape, dim)

    @staticmethod
    def backward(saved, grad, needs):
        index, shape, dim = saved
        return term(FromGather, grad, index, shape, dim), None


class FromGather(Spread):
    pick = Gather
    node_name = "ScatterAddBackward0"
    aten = "scatter_add"

    @staticmethod
    def add(total, x, index, shape, dim):
        total.scatter_(dim, index, x, ADD, False)


class ScatterAdd(Op):
    """x with source added: result[index[i, j], j] += source[i, j] for dim 0."""

    arity = 3
    saves = (2,)
    autocast = "widest on cuda"
    batching = "scatter_add_"

    @staticmethod
    def forward(x, source, index, dim, out=None):
        result = fresh(x) if out is None else out
        result.scatter_(dim, index, source, ADD, out is not None)
        return result, (index, dim)

    @staticmethod
    def backward(saved, grad, needs):
        index, dim = saved
        return grad, run(Gather, grad, index, dim) if needs[1] else None, None


class Scatter(Op):
    """x with source, or one number, written: result[index[i, j], j] = source[i, j] for dim 0."""

    arity = 3
    saves = (2,)

    @staticmethod
    def forward(x, source, index, dim, out=None):
        result = fresh(x) if out is None else out
        result.scatter_(dim, index, source, SET, out is not None)
        return result, (index, dim)

    @staticmethod
    def backward(saved, grad, needs):
        index, dim = saved
        return (
            run(Scatter, grad, 0, index, dim) if needs[0] else None,
            run(Gather, grad, index, dim) if needs[1] else None,
            None,
        )


class ScatterCombine(Op):
    """scatter(reduce="add" | "multiply"): has no gradient, as in PyTorch."""

    arity = 3

    @staticmethod
    def forward(x, source, index, dim, place, out=None):
        result = fresh(x) if out is None else out
        result.scatter_(dim, index, source, place, out is not None)
        return result, ()

    @staticmethod
    def backward(saved, grad, needs):
        raise RuntimeError("derivative for scatter(reduce=...) is not implemented")


REDUCTIONS = {"sum": ADD, "mean": ADD, "prod": MULTIPLY, "amax": MAXIMUM, "amin": MINIMUM}


def identity(reduce: str, dtype: Any) -> Any:
    """What a reduction starts from."""
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    if dtype is _core.bool:
        return reduce == "amin"
    if dtype.is_floating_point:
        return float("-inf") if reduce == "amax" else float("inf")
    bits = 8 * dtype.itemsize
    if dtype is _core.uint8:
        return 0 if reduce == "amax" else 255
    return -(2 ** (bits - 1)) if reduce == "amax" else 2 ** (bits - 1) - 1


def counts(like: Any, source: Any, index: Any, dim: int, include_self: bool) -> Any:
    """How many elements each mean is over; 1 where there is none."""
    n = like.new_full(like.shape, 1 if include_self else 0)
    n.scatter_(dim, index, like.new_full(source.shape, 1), ADD, False)
    n.masked_fill_(n == 0, 1)
    return n


class ScatterReduce(Op):
    """x combined with source: result[index[i, j], j] = reduce(that, source[i, j]) for dim 0.

    Without `include_self` what source goes to does not count itself.
    """

    arity = 3
    saves = (0, 1, 2, ~0)
    batching = "scatter_reduce_"

    @staticmethod
    def forward(x, source, index, dim, reduce, include_self, out=None):
        result = fresh(x) if out is None else out
        shown = out is not None
        if not include_self:
            result.scatter_(dim, index, identity(reduce, x.dtype), SET, shown)
        if reduce == "mean":
            total = widen(result)
            total.scatter_(dim, index, widen(source), ADD, shown)
            n = counts(total, source, index, dim, include_self)
            result.copy_(total / n if x.dtype.is_floating_point else total.floor_divide(n))
        else:
            result.scatter_(dim, index, source, REDUCTIONS[reduce], shown)
        return result, (x, source, index, result, dim, reduce, include_self)

    @staticmethod
    def backward(saved, grad, needs):
        x, source, index, result, dim, reduce, include_self = saved
        if x.dtype in HALVES and reduce != "sum":
            wide = (widen(x), widen(source), index, dim, reduce, include_self)
            saved = (*wide[:3], run(ScatterReduce, *wide), *wide[3:])
            grads = ScatterReduce.backward(saved, widen(grad), needs)
            return tuple([None if g is None else narrow(g, x.dtype) for g in grads])
        back = {"prod": product_grads, "mean": mean_grads}.get(reduce, extreme_grads)
        if reduce == "sum":
            to_x, to_source = grad, run(Gather, grad, index, dim)
        else:
            to_x, to_source = back(x, source, index, result, dim, reduce, include_self, grad)
        if not include_self:
            to_x = run(Scatter, to_x, 0, index, dim)
        return to_x if needs[0] else None, to_source if needs[1] else None, None


def mean_grads(x, source, index, result, dim, reduce, include_self, grad):
    arrays = [getattr(value, "array", value) for value in (x, source, index)]
    grad = grad / as_operand(counts(*arrays, dim, include_self), grad)
    return grad, run(Gather, grad, index, dim)


def extreme_grads(x, source, index, result, dim, reduce, include_self, grad):
    """Shared by all that are the extreme."""
    self_is = run(Cast, x == result, grad.dtype)
    source_is = run(Cast, source == run(Gather, result, index, dim), grad.dtype)
    share = grad / run(ScatterAdd, self_is, source_is, index, dim)
    return self_is * share, source_is * run(Gather, share, index, dim)


def product_grads(x, source, index, result, dim, reduce, include_self, grad):
    """The product of the others: by division, except where there are zeros."""

    def product(x, source):
        return run(ScatterReduce, x, source, index, dim, "prod", include_self)

    zero = x == 0
    others = run(Where, zero, 1.0, x)
    to_x = grad * product(others, source) / others
    zero = source == 0
    none = as_operand(zeros_of(grad, x.shape), grad)
    number = run(ScatterAdd, none, run(Cast, zero, grad.dtype), index, dim)
    single = zero & (run(Gather, number, index, dim) == 1)
    without = product(x, run(Where, single, 1.0, source))
    to_source = run(
        Where,
        single,
        run(Gather, grad * without, index, dim),
        run(Gather, grad * result, index, dim) / run(Where, zero, 1.0, source),
    )
    return to_x, to_source
