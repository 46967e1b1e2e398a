"""Ops with a position for each slice along a dim, or for each element of the flat tensor.

`x[1:3]` is a view: `Slice` in ops/shape/views.py.
"""

from __future__ import annotations

from tiny_torch import _core
from tiny_torch.autograd.graph import Op, run
from tiny_torch.autograd.term import term
from tiny_torch.base.devices import array_module
from tiny_torch.ops.elementwise.arithmetic import Where
from tiny_torch.ops.index.brackets import ADD, SET, Spread, as_operand, fit_gradient, fresh
from tiny_torch.ops.index.gather import ScatterReduce
from tiny_torch.ops.shape.views import zeros_of


class IndexSelect(Op):
    """result[k] = x[index[k]] for dim 0."""

    arity = 2
    saves = (1,)

    @staticmethod
    def forward(x, index, dim, out=None):
        return x.index_select(dim, index, out), (index, x.shape, dim)

    @staticmethod
    def backward(saved, grad, needs):
        index, shape, dim = saved
        return term(FromIndexSelect, grad, index, shape, dim), None


class FromIndexSelect(Spread):
    pick = IndexSelect
    node_name = "IndexAddBackward0"
    aten = "index_add"

    @staticmethod
    def add(total, x, index, shape, dim):
        total.index_place_(dim, index, x, ADD, False)


class IndexAdd(Op):
    """result[index[k]] += source[k] for dim 0."""

    arity = 3
    saves = (2,)
    used_by = ((1,),)
    batching = "index_add_"

    @staticmethod
    def forward(x, source, index, dim, out=None):
        result = fresh(x) if out is None else out
        result.index_place_(dim, index, source, ADD, False)
        return result, (index, source.shape, dim)

    @staticmethod
    def backward(saved, grad, needs):
        index, shape, dim = saved
        to_source = run(IndexSelect, grad, index, dim).reshape(shape) if needs[1] else None
        return grad, to_source, None


class IndexCopy(Op):
    """result[index[k]] = source[k] for dim 0."""

    arity = 3
    saves = (2,)
    autocast = "widest on cpu"

    @staticmethod
    def forward(x, source, index, dim, out=None):
        result = fresh(x) if out is None else out
        result.index_place_(dim, index, source, SET, False)
        return result, (index, source.shape, dim)

    @staticmethod
    def backward(saved, grad, needs):
        index, shape, dim = saved
        to_x = run(IndexFill, grad, 0, index, dim) if needs[0] else None
        to_source = run(IndexSelect, grad, index, dim).reshape(shape) if needs[1] else None
        return to_x, to_source, None


class IndexFill(Op):
    """result[index[k]] = value for dim 0."""

    arity = 3
    saves = (2,)
    batching = "index_fill_"

    @staticmethod
    def forward(x, value, index, dim, out=None):
        result = x.clone() if out is None else out
        dtype = None
        if hasattr(value, "shape"):
            dtype = value.dtype
            value = value.astype(x.dtype)
        result.index_place_(dim, index, value, SET, True)
        return result, (index, dtype, dim)

    @staticmethod
    def backward(saved, grad, needs):
        index, dtype, dim = saved
        to_x = run(IndexFill, grad, 0, index, dim) if needs[0] else None
        to_value = None
        if needs[1]:  # each place once, however often it is named
            filled = array_module(grad.device).full(grad.shape, False, _core.bool)
            filled.index_place_(dim, getattr(index, "array", index), True, SET, True)
            to_value = fit_gradient(run(Where, as_operand(filled, grad), grad, 0.0), (), dtype)
        return to_x, to_value, None


class Take(Op):
    """x.flatten()[index]."""

    arity = 2
    saves = (1,)

    @staticmethod
    def forward(x, index, out=None):
        return x.take(index, out), (index, x.shape)

    @staticmethod
    def backward(saved, grad, needs):
        index, shape = saved
        return term(FromTake, grad, index, shape), None


class FromTake(Spread):
    pick = Take
    node_name = "PutBackward0"

    @staticmethod
    def add(total, x, index, shape):
        total.put_(index, x, True)


class Put(Op):
    """x with source written, or added, at positions of its flat elements."""

    arity = 3
    saves = (2,)

    @staticmethod
    def forward(x, source, index, accumulate, out=None):
        result = x.clone() if out is None else out
        result.put_(index, source, accumulate)
        return result, (index, source.shape, accumulate)

    @staticmethod
    def backward(saved, grad, needs):
        index, shape, accumulate = saved
        to_x = grad
        if needs[0] and not accumulate:
            nothing = as_operand(zeros_of(grad, index.shape), grad)
            to_x = run(Put, grad, nothing, index, False)
        return to_x, run(Take, grad, index).reshape(shape) if needs[1] else None, None


class IndexReduce(ScatterReduce):
    """ScatterReduce by an index that is the same for all elements of a slice."""

    batching = ""
