"""The ops of views.

A view's gradient goes back the way the view came. Views that keep some of the elements, in their
order, are all one op (Part): zeros everywhere else.
"""

from __future__ import annotations

from math import prod
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import check_inplace
from tiny_torch.autograd.engine import sum_to
from tiny_torch.autograd.graph import Node, Op, edge_of, note, run
from tiny_torch.autograd.term import term
from tiny_torch.autograd.writes import move_retained
from tiny_torch.base.devices import array_module
from tiny_torch.base.modes import OFF, modes
from tiny_torch.tensor import Tensor

show = _core.show  # (array, steps): the view that a chain of its own methods leads to
wrap_dim = _core.wrap_dim  # (dim, ndim): counted from the front; IndexError where there is none
are_ints = _core.are_ints  # (values): whether it is a tuple of ints

Steps = tuple[tuple[str, tuple], ...]  # names of an array's view methods, and their arguments


# --------------------------------------------------------------------------------- what ops share


def zeros_of(like: Any, shape: tuple) -> Any:
    """An array of zeros with the dtype and device of an array or tensor."""
    array = getattr(like, "array", like)
    return array_module(array.device).full(shape, 0, array.dtype)


def empty(array: Any, shape: tuple) -> Any:
    """An array of anything with the dtype and device of another."""
    return array_module(array.device).empty(shape, array.dtype)


def unique_dims(dims: Any, ndim: int) -> tuple:
    wrapped = tuple([wrap_dim(dim, ndim) for dim in dims])
    for dim in wrapped:
        if wrapped.count(dim) > 1:
            raise RuntimeError(f"dim {dim} appears multiple times in the list of dims")
    return wrapped


# ------------------------------------------------------------------------------------------- ops


class Part(Op):
    """Some of x's elements in their order, by view methods; its subclasses are only names."""

    @staticmethod
    def forward(x, steps):
        return show(x, steps), (x.shape, steps)

    @staticmethod
    def backward(saved, grad, needs):
        shape, steps = saved
        whole = prod(shape) == prod(grad.shape)
        return grad.reshape(shape) if whole else term(Place, grad, shape, steps)


class Place(Op):
    """Zeros, with x where `steps` lead: the transpose of Part."""

    @staticmethod
    def forward(x, shape, steps):
        result = zeros_of(x, shape)
        show(result, steps).copy_(x)
        return result, (steps,)

    @staticmethod
    def backward(saved, grad, needs):
        return run(Part, grad, saved[0])

    @staticmethod
    def add(total, x, shape, steps):
        part = show(total, steps)
        part.add(x, part)


class Alias(Part):
    pass


class Select(Part):
    pass


class Slice(Part):
    pass


class Diagonal(Part):
    pass


class Squeeze(Part):
    @staticmethod
    def node_name(saved, node):
        ((_, (dims,)),) = node.constants[0]
        return (
            f"SqueezeBackward{int(len(dims) == 1)}"  # which squeeze() of one dim of size 1 is, too
        )


class Unsqueeze(Part):
    pass


class View(Op):
    @staticmethod
    def forward(x, shape):
        return x.view(shape), (x.shape,)

    @staticmethod
    def backward(saved, grad, needs):
        return grad.reshape(saved[0])


class Reshape(Op):
    """A copy in another shape, where no view can show it."""

    node_name = "UnsafeViewBackward0"
    cost = "copy"

    @staticmethod
    def forward(x, shape):
        return x.reshape(shape), (x.shape,)

    @staticmethod
    def backward(saved, grad, needs):
        return grad.reshape(saved[0])


class Transpose(Op):
    transposes = True

    @staticmethod
    def forward(x, dim0, dim1):
        return x.transpose(dim0, dim1), (dim0, dim1)

    @staticmethod
    def backward(saved, grad, needs):
        return grad.transpose(*saved)


class T(Transpose):
    pass


class Permute(Op):
    words = "dims:dims"

    @staticmethod
    def forward(x, dims):
        return x.permute(dims), (dims,)

    @staticmethod
    def backward(saved, grad, needs):
        dims = [dim % len(saved[0]) for dim in saved[0]]
        return grad.permute(tuple([dims.index(i) for i in range(len(dims))]))


class Expand(Op):
    """Sizes of 1 repeated by a stride of 0; their gradients add up."""

    @staticmethod
    def forward(x, shape):
        return x.expand(shape), (x.shape,)

    @staticmethod
    def backward(saved, grad, needs):
        return sum_to(grad, saved[0], grad.dtype)


class Unfold(Op):
    """All windows along a dim; elements in several windows add up their gradients."""

    @staticmethod
    def forward(x, dim, size, step):
        return x.unfold(dim, size, step), (x.shape, dim, size, step)

    @staticmethod
    def backward(saved, grad, needs):
        return run(Fold, grad, *saved)


class Fold(Op):
    """The sum of windows where they came from: the transpose of Unfold."""

    @staticmethod
    def forward(x, shape, dim, size, step):
        saved = (dim, size, step)
        if not shape:
            return x.reshape(()), saved
        dim = dim % len(shape)
        # (windows, size): where each element of each window came from
        positions = array_module(x.device).arange(0, 1, shape[dim], _core.int64)
        positions = positions.unfold(0, size, step)
        order = list(range(len(shape)))
        order.insert(dim + 1, len(shape))
        result = zeros_of(x, shape)
        result.index_put_((None,) * dim + (positions,), x.permute(tuple(order)), True)
        return result, saved

    @staticmethod
    def backward(saved, grad, needs):
        return grad.unfold(*saved)


def apply_view_inplace(op: type[Op], x: Tensor, *constants: Any) -> Tensor:
    """x becomes a view of itself: another array on the same memory, in the same tensor.

    As in PyTorch that counts as a write: values saved of x are stale, and its views are renewed.
    """
    edge = edge_of(x)
    if modes.bits & OFF:
        if x._view is not None or (edge is not None and edge[0] is x):
            edge = None  # a view is renewed; what else has a history must keep one that fits
    elif edge is not None:
        check_inplace(x)
    array, saved = op.forward(x.array, *constants)
    array.mark_written()  # which is refused of an inference tensor outside its mode
    x.array = array
    if edge is not None:
        node = Node(op, (edge,), saved, None, constants)
        if modes.bits:
            note(node)
        move_retained(x.edge, (node, 0))
        x.edge = (node, 0)
        if x._view is not None:
            x._view.stamp = array.stamp
    return x
