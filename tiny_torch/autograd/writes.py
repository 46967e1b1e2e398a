"""What a write in place does to the graph: the tensor's history, its base's, and its views'.

A write through a view is one to the base: `rebase` gives the base a CopySlices node, whose backward
sends the view's region through the op that wrote. Other views of the base find out when they are
asked for their edge: `renew` makes it anew from the base, as AsStrided. Worked through an example:
Note [Views and writes], src/README.md.
"""

from __future__ import annotations

import weakref

from tiny_torch import _core
from tiny_torch.autograd.engine import through_composite
from tiny_torch.autograd.grad_mode import UNRECORDED
from tiny_torch.autograd.graph import Node, Op, edge_of, run
from tiny_torch.autograd.seen import as_formulas_see
from tiny_torch.autograd.view import LEAF, PLAIN, refusal
from tiny_torch.base.devices import array_module
from tiny_torch.base.modes import OFF, modes


def renew(tensor, view):
    """The new edge, from the base, of a view whose memory was written since its edge was made."""
    # The view that wrote last has the base's edge, from `rebase`; the base may be detached since.
    base = tensor.edge if view.stamp == ~tensor.array.stamp else edge_of(view.base)
    # If the base has no edge, it was detached. A view with a history gets a new one even then: the
    # old one is that of other values.
    if base is not None or (tensor.edge is not None and tensor.edge is not LEAF):
        if view.kind != PLAIN:
            if modes.bits & OFF:
                return tensor.edge  # recording is off: nobody will use it
            raise refusal(tensor, "its base or another view of its base has been")
        array, origin = tensor.array, view.base.array
        geometry = (array.shape, array.strides, array.offset - origin.offset)
        node = Node(AsStrided, (base,), (origin_of(origin), *geometry))
        if view.stamp >= 0:  # else the edge is its base's
            move_retained(tensor.edge, (node, 0))
        tensor.edge = (node, 0)
        view.stamp = array.stamp
    return tensor.edge


_core.register_graph(LEAF, renew)


def rebase(tensor, node, output=0):
    """Gives a tensor that was written in place the node of that write."""
    view = tensor._view
    if view is None:
        move_retained(tensor.edge, (node, output))
        tensor.edge = (node, output)
        return
    base, array = view.base, tensor.array
    geometry = (array.shape, array.strides, array.offset - base.array.offset)
    edges = (edge_of(base), *node.edges[1:])
    inputs = node.inputs
    if inputs is not None and inputs[0] is not None:
        inputs = ((base.array.shape, base.array.dtype), *inputs[1:])
    copy = Node(CopySlices, edges, (), inputs)
    move_retained(base.edge, (copy, 0))
    base.edge = (copy, 0)
    before = tensor.edge
    tensor.edge = base.edge
    view.stamp = ~array.stamp  # so that the next question renews it, from this edge
    shown = None  # the node of this view from now on, if the op saved what it has written
    if ~0 in node.op.saves or (before is not None and before is not LEAF and before[0].hooks):
        edge = renew(tensor, view)
        move_retained(before, edge)
        shown = weakref.ref(edge[0])
    copy.saved = (origin_of(base.array), geometry, node, shown)


def move_retained(old, new) -> None:
    """retain_grad follows the tensor to its new node; other hooks stay with the old."""
    if old is not None and old is not LEAF and old[0].hooks:
        old[0].hooks.move_retained(old[1], new)


def origin_of(array) -> tuple:
    """(shape, strides, elements from first to last) of an array."""
    return array.shape, array.strides, reach_of(array.shape, array.strides)


def reach_of(shape, strides) -> int:
    """How many elements of memory lie between the first and the last, both included."""
    last = sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
    return 0 if 0 in shape else last + 1


def overlaps_itself(shape, strides) -> bool:
    """Whether elements may share an address: a dim's stride is within the reach of shorter ones."""
    reach = 0
    for step, n in sorted((step, n) for n, step in zip(shape, strides, strict=True) if n > 1):
        if step <= reach:
            return True
        reach += (n - 1) * step
    return False


class AsStrided(Op):
    """The elements of x's memory at other strides; the view that a write has renewed."""

    @staticmethod
    def forward(x, origin, shape, strides, offset):
        array = x.as_strided(shape, strides, x.offset + offset)
        return array, (origin, shape, strides, offset)

    @staticmethod
    def backward(saved, grad, needs):
        return run(AsStridedAdd, grad, *saved)


class AsStridedAdd(Op):
    """AsStrided's transpose: zeros in the origin's layout, plus x at the strided positions."""

    @staticmethod
    def forward(x, origin, shape, strides, offset):
        before, after = beyond(origin, shape, strides, offset)
        memory = place_strided(x, before + origin[2] + after, shape, strides, before + offset)
        result = share_evenly(memory, origin, before).as_strided(*origin[:2], before)
        return result, (origin, shape, strides, offset)

    @staticmethod
    def backward(saved, grad, needs):
        return run(Region, grad, *saved)


def beyond(origin, shape, strides, offset) -> tuple[int, int]:
    """How many elements a strided view needs before and after the memory of its origin."""
    return max(0, -offset), max(0, offset + reach_of(shape, strides) - origin[2])


def laid_out(x, origin, before=0, after=0):
    """A copy of x in the layout of `origin`, alone in its memory, with zeros in and around it."""
    shape, strides, extent = origin
    memory = place_strided(x, before + extent + after, shape, strides, before)
    return share_evenly(memory, origin, before).as_strided(shape, strides, before)


def place_strided(x, size, shape, strides, offset):
    """Zeros, with x at strided positions; elements that share an address add up."""
    memory = x.new_full((size,), 0)
    if overlaps_itself(shape, strides):
        positions = array_module(x.device).arange(0, 1, size, _core.int64)
        positions = positions.as_strided(shape, strides, offset).reshape((-1,))
        memory.index_put_((positions,), x.reshape((-1,)), True)
    else:
        memory.as_strided(shape, strides, offset).copy_(x)
    return memory


def share_evenly(memory, origin, offset):
    """Where elements of the origin share an address, an equal part of it for each."""
    shape, strides, _ = origin
    if not overlaps_itself(shape, strides):
        return memory
    ones = memory.new_full(shape, 1).astype(_core.float32)  # a half counts to 256 or 2048 only
    number = place_strided(ones, memory.size, shape, strides, offset)
    number.masked_fill_(number == 0, 1)
    return (memory / number).astype(memory.dtype)


class Region(Op):
    """What AsStrided would show if x were laid out as the origin is: x itself need not be."""

    @staticmethod
    def forward(x, origin, shape, strides, offset):
        before, after = beyond(origin, shape, strides, offset)
        result = laid_out(x, origin, before, after).as_strided(shape, strides, before + offset)
        return result, (origin, shape, strides, offset)

    @staticmethod
    def backward(saved, grad, needs):
        return run(AsStridedAdd, grad, *saved)


class OutsideRegion(Op):
    """x with zeros in the region that AsStrided would show; its own transpose."""

    @staticmethod
    def forward(x, origin, shape, strides, offset):
        before, after = beyond(origin, shape, strides, offset)
        result = laid_out(x, origin, before, after)
        result.as_strided(shape, strides, before + offset).copy_(0)
        return result, (origin, shape, strides, offset)

    @staticmethod
    def backward(saved, grad, needs):
        return run(OutsideRegion, grad, *saved)


class CopySlices(Op):
    """The base after an op wrote in place through one of its views.

    The view's region has the gradient of that op, everything else passes unchanged.
    """

    node_name = "torch::autograd::CopySlices"
    once = True

    @staticmethod
    def backward(saved, grad, needs):
        origin, geometry, node, shown = saved
        region = run(Region, grad, origin, *geometry)
        if hasattr(grad, "array") and node.op.composite is not None and 0 in node.op.saves:
            inner = through_composite(node, region, needs)
        elif hasattr(grad, "array"):
            inner = node.op.backward(node.unpack(True, shown and shown()), region, needs)
        else:  # which may call a user's Function, or hooks on what was saved
            values = _core.within(UNRECORDED, node.unpack, False, shown and shown())
            inner = as_formulas_see(
                _core.within(UNRECORDED, node.op.backward, values, region, needs)
            )
        first, *others = inner if isinstance(inner, tuple) else (inner,)
        if not needs[0]:
            return (None, *others)
        rest = run(OutsideRegion, grad, origin, *geometry)
        if first is not None:
            if overlaps_itself(*geometry[:2]):  # each of those that share an address has it all
                ones = run(AsStridedAdd, first.new_full(first.shape, 1), origin, *geometry)
                first = first / run(Region, ones, origin, *geometry)
            rest = rest + run(AsStridedAdd, first, origin, *geometry)
        return (rest, *others)
