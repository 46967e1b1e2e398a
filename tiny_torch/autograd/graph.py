"""The graph that backward walks: a Node per recorded op, joined by edges.

An edge is a pair (node, output number), or (leaf tensor, 0): leaves are the only tensors in the
graph, so an activation dies as soon as no node has saved it. A view's edge is computed when it is
asked for, because a write through another view may have changed what it is made of.

Not here: recording ops (apply.py), walking the graph (engine.py).
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.hooks import RETAIN, AccumulateGrad, After, Before, add_to_node
from tiny_torch.autograd.names import name_of
from tiny_torch.autograd.view import (  # noqa: F401  some for others, who look for them here
    IN_FUNCTION,
    LEAF,
    MULTI_OUTPUT,
    PLAIN,
    View,
    refusal,
)
from tiny_torch.devices import array_module
from tiny_torch.modes import (  # noqa: F401  some for others, who look for them here
    ANOMALY,
    INFERENCE,
    NO_GRAD,
    OFF,
    SAVED_HOOKS,
    WATCHED,
    modes,
    thread,
)

TensorBase = _core.TensorBase
node_stamp = _core.node_stamp
check_saved = _core.check_saved
EMPTY, STALE, FRESH, SOLE = range(4)  # what check_saved answers
FREED: Any = ("freed",)


class Op:
    """An operation: how it is computed, and how its gradient is.

    ``forward(*arrays, *constants)`` answers ``(result, saved)``: an array, or a tuple of them where
    ``outputs`` is above 1, and a tuple of what backward needs. ``backward(saved, grad, needs)``
    answers one gradient or None per input, in a tuple unless the op has one input; ``needs[i]`` is
    true (or an edge) where input i wants its. Formulas use what arrays and tensors both have, so
    that they can be differentiated in turn. An elementwise op's forward takes ``out=``, too.
    """

    # The leading entries of `saved`: i is input i, ~j is output j. What follows is constant.
    saves: tuple[int | None, ...] = ()
    # For each of them, the inputs whose gradients are computed from it; (): all are.
    used_by: tuple[tuple[int, ...], ...] = ()
    arity = 1  # how many of the arguments are inputs, where `run` or `apply` must know
    outputs = 1
    suffix = "Backward0"  # of the node's name
    # Inputs are broadcast and promoted: the engine takes their gradients back to shape and dtype.
    broadcasts = False
    # composite(*tensors, *constants): a fused op from simple ones, for `ref` and double backward.
    composite: Any = None
    # Of an op without a gradient: the forms that take what requires grad and leave its history be.
    unrecorded: tuple[str, ...] = ()  # "out", "in place"
    overwrites = False  # backward's 4th argument: whether it may write over the first saved array
    # Whether backward frees what was saved though it holds no array, as in PyTorch, which keeps a
    # number as a tensor, or its input for the shape.
    once = False
    takes_tensors = False  # backward is a user's: it gets tensors, and answers some

    forward: Any = None
    backward: Any = None  # None: the result has no gradient


@_core.register_node
class Node(_core.NodeBase):
    """One recorded op: where its gradients go, and what they are computed from.

    ``Node(op, edges, saved, inputs=None, constants=())``; C++ holds the fields, so that making one
    costs no Python call (bindings/graph.cpp).
    """

    __slots__ = ("__weakref__", "_metadata")

    op: Any
    edges: tuple  # one per input, None where it has no history
    saved: Any
    inputs: Any  # per input (shape, dtype) where the op changed them, or None
    constants: tuple
    hooks: Any  # {id: (output number, hook)}
    sequence: int  # the stamp after forward has written: Note [Versions]

    def name(self) -> str:
        """PyTorch's name for it, as in ``grad_fn=<MulBackward0>``."""
        return name_of(self)

    def unpack(self, as_tensors: bool, shown=None):
        """What the op saved, as backward takes it: arrays, or tensors that have their history.

        An output's history is `shown` if given, else this node. Raises RuntimeError where the
        values are freed, or were written since.
        """
        saved = self.saved
        if saved is FREED:
            raise RuntimeError(
                "Trying to backward through the graph a second time (or directly access saved "
                "tensors after they have already been freed). Saved intermediate values of the "
                "graph are freed when you call .backward() or autograd.grad(). Specify "
                "retain_graph=True if you need to backward through the graph a second time or if "
                "you need to access saved tensors after calling backward."
            )
        if type(saved) is not tuple:
            saved = saved.unpack()
        elif saved and check_saved(saved, self.sequence) == STALE:
            from tiny_torch.autograd.anomaly_mode import written_since

            raise RuntimeError(written_since(self, saved))
        return self.as_tensors(saved, shown or self) if as_tensors else saved

    def as_tensors(self, saved, shown):
        from tiny_torch.tensor import wrap

        places = self.op.saves
        result = []
        for k, value in enumerate(saved):
            if not hasattr(value, "stamp"):
                result.append(value)
            elif k >= len(places) or places[k] is None:
                result.append(wrap(value))
            elif places[k] >= 0:
                edge = self.edges[places[k]]
                leaf = edge is not None and not isinstance(edge[0], Node) and edge[0].array is value
                result.append(edge[0] if leaf else wrap(value, edge))
            else:
                result.append(wrap(value, (shown, ~places[k])))
        return result

    def release(self) -> None:
        """Frees what was saved. An op that saved no array may run again, unless it says `once`."""
        held = self.saved
        if (
            self.op.once
            or type(held) is not tuple
            or (held and check_saved(held, self.sequence) != EMPTY)
        ):
            self.saved = FREED

    @property
    def metadata(self) -> dict:
        """Whatever belongs to this node: anomaly detection's notes, or a user's own."""
        if not hasattr(self, "_metadata"):
            self._metadata: dict = {}
        return self._metadata

    @property
    def next_functions(self) -> tuple:
        """(node, output number) per input; (None, 0) for one that has no gradient."""
        return tuple(
            (None, 0)
            if edge is None
            else (named(edge[0]), edge[1])
            if isinstance(edge[0], Node)
            else (AccumulateGrad(edge[0]), 0)
            for edge in self.edges
        )

    def register_hook(self, function: Any) -> Any:
        """Calls ``function(grad_inputs, grad_outputs)`` after backward of this node."""
        return add_to_node(self, 0, After(function))

    def register_prehook(self, function: Any) -> Any:
        """Calls ``function(grad_outputs)`` before backward of this node."""
        return add_to_node(self, 0, Before(function))

    # Of a user's Function, whose ctx is in PyTorch the node itself. (A __getattr__ that passed on
    # all of it would cost every access to a node's slots a third more.)
    @property
    def saved_tensors(self) -> tuple:
        return self.op.ctx.saved_tensors

    @property
    def needs_input_grad(self) -> tuple:
        return self.op.ctx.needs_input_grad

    def __repr__(self) -> str:
        module = "torch.autograd.function." if hasattr(self.op, "ctx") else ""
        return f"<{module}{self.name()} object at {id(self):#x}>"


# A node that a user looks at gets a type of PyTorch's name, such as MulBackward0, for the sake of
# tools that draw graphs. So what is no leaf is asked as isinstance(edge[0], Node), never by type().
NAMED: dict[str, type] = {}


def named(node):
    """The node, of the type that has its name."""
    name = node.name().rpartition("::")[2]
    kind = NAMED.get(name)
    if kind is None:
        kind = NAMED[name] = type(name, (Node,), {"__slots__": (), "__module__": Node.__module__})
    node.__class__ = kind
    return node


# edge_of(tensor): its edge, or None where it does not require grad; (tensor, 0) of a leaf. A view
# whose stamp is not its memory's is renewed first.
edge_of: Any = _core.edge_of


def source_of(tensor):
    """The edge of what requires grad. A view from before its base did is a leaf of its own."""
    return edge_of(tensor) or (tensor, 0)


def renew(tensor, view):
    """The edge of a view whose memory has been written since it was made: from its base anew."""
    # Of a view that wrote, rebase has left the base's edge here: the base may be detached since.
    base = tensor.edge if view.stamp == ~tensor.array.stamp else edge_of(view.base)
    # None where the base was detached: what the view showed before the write is no more.
    if base is not None or (tensor.edge is not None and tensor.edge is not LEAF):
        if view.kind != PLAIN:
            if modes.bits & OFF:
                return tensor.edge  # which nobody will record
            raise refusal(tensor, "its base or another view of its base has been")
        array, origin = tensor.array, view.base.array
        geometry = (array.shape, array.strides, array.offset - origin.offset)
        node = Node(AsStrided, (base,), (layout(origin), *geometry))
        if view.stamp >= 0:  # else the edge is its base's
            move_retained(tensor.edge, (node, 0))
        tensor.edge = (node, 0)
        view.stamp = array.stamp
    return tensor.edge


_core.register_graph(LEAF, renew)


def note(node):
    """What modes other than OFF ask of a new node."""
    from tiny_torch.autograd.anomaly_mode import remember

    if modes.bits & ANOMALY:
        remember(node)
    if modes.bits & SAVED_HOOKS:
        pack(node)
    return node


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
    copy.saved = (layout(base.array), geometry, node, shown)


def move_retained(old, new) -> None:
    """retain_grad follows the tensor to its new node; other hooks stay with the old."""
    if old is None or old is LEAF or old[0].hooks is None:
        return
    hooks = old[0].hooks
    moving = [
        key for key, (output, hook) in hooks.items() if output == old[1] and hook.turn == RETAIN
    ]
    if moving:
        new[0].hooks = OrderedDict((key, (new[1], hooks.pop(key)[1])) for key in moving)


def layout(array) -> tuple:
    """(shape, strides, elements from first to last) of an array."""
    return array.shape, array.strides, reach_of(array.shape, array.strides)


def reach_of(shape, strides) -> int:
    """How many elements of memory lie between the first and the last, both included."""
    last = sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
    return 0 if 0 in shape else last + 1


def overlaps(shape, strides) -> bool:
    """Whether elements may share an address: a dim's stride is within the reach of shorter ones."""
    reach = 0
    for step, n in sorted((step, n) for n, step in zip(shape, strides, strict=True) if n > 1):
        if step <= reach:
            return True
        reach += (n - 1) * step
    return False


def run(op, x, *others):
    """An op inside a backward formula: on tensors it is recorded, on arrays only computed."""
    if isinstance(x, TensorBase) or (others and isinstance(others[0], TensorBase)):
        from tiny_torch.autograd.apply import apply  # the recorder needs Tensor, which needs this)

        return apply(op, x, *others)
    return op.forward(x, *others)[0]


class Identity(Op):
    """A mark in the graph: the same value, one node further."""

    @staticmethod
    def backward(saved, grad, needs):
        return grad


class Unrelated(Op):
    """What an op without a gradient has left in place: nothing of what was there before."""

    @staticmethod
    def backward(saved, grad, needs):
        return None


class InLayout(Op):
    """A copy of x laid out as ``.grad`` of a leaf is: like it if it is dense, else contiguous."""

    @staticmethod
    def forward(x, leaf):
        if leaf.is_dense():
            copy = leaf.empty_like()
        else:
            copy = array_module(leaf.device).empty(leaf.shape, leaf.dtype)
        copy.copy_(x)
        return copy, ()

    @staticmethod
    def backward(saved, grad, needs):
        return grad


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
        memory = placed(x, before + origin[2] + after, shape, strides, before + offset)
        result = evened(memory, origin, before).as_strided(*origin[:2], before)
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
    memory = placed(x, before + extent + after, shape, strides, before)
    return evened(memory, origin, before).as_strided(shape, strides, before)


def placed(x, size, shape, strides, offset):
    """Zeros, with x at strided positions; elements that share an address add up."""
    memory = x.new_full((size,), 0)
    if overlaps(shape, strides):
        positions = array_module(x.device).arange(0, 1, size, _core.int64)
        positions = positions.as_strided(shape, strides, offset).reshape((-1,))
        memory.index_put_((positions,), x.reshape((-1,)), True)
    else:
        memory.as_strided(shape, strides, offset).copy_(x)
    return memory


def evened(memory, origin, offset):
    """Where elements of the origin share an address, an equal part of it for each."""
    shape, strides, _ = origin
    if not overlaps(shape, strides):
        return memory
    number = placed(memory.new_full(shape, 1), memory.size, shape, strides, offset)
    number.masked_fill_(number == 0, 1)
    return memory / number


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

    suffix = ""
    once = True

    @staticmethod
    def backward(saved, grad, needs):
        origin, geometry, node, shown = saved
        region = run(Region, grad, origin, *geometry)
        if hasattr(grad, "array") and node.op.composite is not None and 0 in node.op.saves:
            from tiny_torch.autograd.engine import through_composite  # which needs this module

            inner = through_composite(node, region, needs)
        else:
            values = node.unpack(hasattr(grad, "array"), shown and shown())
            inner = node.op.backward(values, region, needs)
            if node.op.takes_tensors and not hasattr(grad, "array"):
                from tiny_torch.autograd.seen import hidden  # which needs this module

                inner = hidden(inner)
        first, *others = inner if isinstance(inner, tuple) else (inner,)
        if not needs[0]:
            return (None, *others)
        rest = run(OutsideRegion, grad, origin, *geometry)
        if first is not None:
            rest = rest + run(AsStridedAdd, first, origin, *geometry)
        return (rest, *others)


from tiny_torch.autograd.saved import (  # noqa: E402  which needs this module
    GradientEdge,
    get_gradient_edge,
    pack,
    save_on_cpu,
    saved_tensors_hooks,
)

__all__ = ["GradientEdge", "Node", "get_gradient_edge", "save_on_cpu", "saved_tensors_hooks"]
