"""Ops that answer elements along a dim and where they stand: what max, sort, cummax, ... share."""

from __future__ import annotations

from tiny_torch.autograd.graph import Op
from tiny_torch.autograd.term import term
from tiny_torch.ops.index.gather import FromGather


class ValueSelection(Op):
    """Elements of x along a dim, each as often as it is picked: the gradient goes back to them."""

    outputs = 2
    saves = (~1,)
    method = ""  # of arrays: method(dim, *arguments, out) answers the two
    words = "result1:indices"

    @classmethod
    def forward(cls, x, dim, keepdim, *arguments, out=None):
        values, positions = getattr(x, cls.method)(dim, *arguments, out)
        return (values, positions), (positions, x.shape, dim, keepdim)

    @staticmethod
    def backward(saved, grads, needs):
        positions, shape, dim, keepdim = saved
        grad = grads[0]
        if not keepdim and shape:
            grad, positions = grad.unsqueeze(dim), positions.unsqueeze(dim)
        return term(FromGather, grad, positions, shape, dim)


class ValueSelectingReduction(ValueSelection):
    """One element per line, whose dim is dropped unless `keepdim`."""

    @classmethod
    def forward(cls, x, dim, keepdim, *arguments, out=None):
        values, positions = getattr(x, cls.method)(dim, keepdim, *arguments, out)
        return (values, positions), (positions, x.shape, dim, keepdim)
