"""Ops that answer elements along a dim and where they stand: what max, sort, cummax, ... share."""

from __future__ import annotations

from typing import Any

from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.graph import Op
from tiny_torch.autograd.term import term
from tiny_torch.ops.gather import FromGather
from tiny_torch.ops.public import (
    check_int,
    check_outs,
    check_tensor,
    named,
    offered_pair,
    refuse_overlap,
)
from tiny_torch.ops.views import wrap_dim
from tiny_torch.tensor import Tensor


class Select(Op):
    """Elements of x along a dim, each as often as it is picked: the gradient goes back to them."""

    outputs = 2
    saves = (~1,)
    method = ""  # of arrays: method(dim, *arguments, out) answers the two

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


class SelectOne(Select):
    """One element per line, whose dim is dropped unless `keepdim`."""

    @classmethod
    def forward(cls, x, dim, keepdim, *arguments, out=None):
        values, positions = getattr(x, cls.method)(dim, keepdim, *arguments, out)
        return (values, positions), (positions, x.shape, dim, keepdim)


# Of those with `out=`: what may not lie where the input does, and what may where it is all of it.
APART = {"kthvalue": 1, "max": 1, "min": 1, "mode": 2}  # how many of the results
SAME = {"sort", "topk"}


def selected(name: str, op: type[Op], out: Any, input: Tensor, *constants: Any) -> Any:
    """The op's two results with their names, written into those of `out` if it is given."""
    if out is None:
        return named(name, apply(op, input, *constants))
    check_outs(name, out, 2)
    for target in out[: APART.get(name, 0)]:
        refuse_overlap(target, (input,))
    if name in SAME:
        refuse_overlap(out[0], (), (input,))
    return named(name, offered_pair(name, out, op, input, *constants), out)


def checked_dim(function: str, input: Any, dim: Any, position: int = 2) -> int:
    """The dim counted from the front; TypeError or IndexError where it is none."""
    if type(dim) is int and isinstance(input, Tensor):
        ndim = input.array.ndim
        if -ndim <= dim < ndim:
            return dim if dim >= 0 else dim + ndim
    check_tensor(function, "input", 1, input)
    return wrap_dim(check_int(function, "dim", position, dim), input.array.ndim)


def check_bool(function: str, argument: str, position: int, value: Any) -> None:
    if value is not True and value is not False:
        raise TypeError(
            f"{function}(): argument '{argument}' (position {position}) must be bool, not "
            f"{type(value).__name__}"
        )
