"""The graph that backward walks: a Node per recorded op, joined by edges.

An edge is a pair (node, output number), or (leaf tensor, 0): leaves are the only tensors in the
graph, so an activation dies as soon as no node has saved it. A view's edge is computed when it is
asked for, because a write through another view may have changed what it is made of.

Not here: recording ops (apply.py), walking the graph (engine.py), what in-place writes do to it
(writes.py), what a user sees of a node (nodes.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tiny_torch import _core
from tiny_torch.base.devices import array_module
from tiny_torch.base.modes import ANOMALY, SAVED_HOOKS, modes, module_of
from tiny_torch.tensor import wrap

if TYPE_CHECKING:  # what autograd/nodes.py attaches here and to Node
    from tiny_torch.autograd.multi_grad import register_multi_grad_hook
    from tiny_torch.autograd.nodes import get_gradient_edge
    from tiny_torch.autograd.saved import disable_saved_tensors_hooks, save_on_cpu
    from tiny_torch.autograd.saved import saved_tensors_hooks as saved_tensors_hooks

TensorBase = _core.TensorBase
node_stamp = _core.node_stamp
check_saved = _core.check_saved
EMPTY, STALE, FRESH, SOLE = range(4)  # what check_saved answers; SOLE: fresh, with one holder
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
    # For each of them, the inputs whose gradients are computed from it; (): all are. Where that is
    # said, what is saved may be a function, which is called for it where the op is recorded.
    used_by: tuple[tuple[int, ...], ...] = ()
    # Places in `saved` that go on with the data that was saved, after `input.data = other`: where
    # PyTorch's node saves a view or a result of the input, which that does not reach.
    keeps_data: tuple[int, ...] = ()
    arity = 1  # how many of the arguments are inputs, where `run` or `apply` must know
    outputs = 1
    # Inputs are broadcast and promoted: the engine takes their gradients back to shape and dtype.
    broadcasts = False
    last_first = False  # whether the last input, if it is a leaf, has its gradient first
    # composite(*tensors, *constants): a fused op from simple ones, for `ref` and double backward.
    composite: Any = None
    # The forms in which an op without a gradient takes tensors that require grad, and leaves their
    # history as it is. In the others it refuses them.
    unrecorded: tuple[str, ...] = ()  # "out", "in place"
    overwrites = False  # backward's 4th argument: whether it may write over the first saved array
    # Whether a second backward is refused although no array was saved, because PyTorch's node has
    # saved one: a number as a tensor, or the input for its shape.
    once = False
    # Whether its gradient is piecewise constant in the first input, as that of relu: differentiated
    # again, it gives zeros for the input, as in PyTorch, and not None (`Anchor`).
    piecewise = False
    transposes = False  # its gradient is a transposed view: a product may as well be its transpose
    takes_tensors = False  # backward is a user's: it gets tensors, and answers some

    # ---- what others ask of an op; how it is exported: @form(TheClass) in tools/export ----------
    # PyTorch's name of its node: text, or a function of what is saved and of the node, where one op
    # here is several there. None: the class's name and "Backward0".
    node_name: Any = None
    # What next_functions shows where one op here is several nodes there: a function of the node
    # that answers, per entry, the number of an input, or (name, its own entries). None: the inputs.
    parts: Any = None
    # PyTorch's name of its function: text, where {second} stands for the dims of the second
    # argument and {spatial} for those of the first but two; or a function of the dims of both.
    # None: the class's name in snake case.
    aten: Any = None
    # What `_saved_*` calls arguments of forward and results, beside saved.WORDS: text as
    # "y:exponent", or a function of the node that answers it.
    words: Any = ""
    cost = ""  # the kind of work that it is, of autograd/_profiler/costs.py
    draws = False  # random numbers
    dynamic_shape = False  # whether its results' shapes depend on elements
    # writes(*arguments): those that it writes beside its results, such as running statistics.
    writes: Any = None
    batching = ""  # what vmap calls its write in place, if not "aten::" and its name
    # The dtype that autocast computes it in, of amp/policies.py: "float32", "lower on cuda"; or a
    # function of the arguments that answers such text.
    autocast: Any = ""

    @staticmethod
    def show_saved(values: Any, k: int) -> Any:
        """What `_saved_*` shows of the k-th saved value."""
        return values[k]

    forward: Any = None
    backward: Any = None  # None: the result has no gradient


@_core.register_node
class Node(_core.NodeBase):
    """One recorded op: where its gradients go, and what they are computed from.

    ``Node(op, edges, saved, inputs=None, constants=())``; C++ holds the fields, so that making one
    costs no Python call (autograd/graph.cpp).
    """

    __slots__ = ("__weakref__", "_metadata")

    op: Any
    edges: tuple  # one per input, None where it has no history
    saved: Any
    inputs: Any  # per input (shape, dtype) where the op changed them, or None
    constants: tuple
    hooks: Any  # {id: (output number, hook)}
    sequence: int  # the stamp after forward has written: Note [Versions]

    # Attached by nodes.py, as are other methods for users.
    name: Any  # (): PyTorch's name for it, as in ``grad_fn=<MulBackward0>``
    metadata: Any
    next_functions: Any
    register_hook: Any
    register_prehook: Any

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
            if check_saved(saved.rest(), self.sequence) == STALE:
                raise written_since(self, saved.rest())
            saved = saved.unpack()
        elif saved and check_saved(saved, self.sequence) == STALE:
            saved = self.with_new_data(saved)
        return self.as_tensors(saved, shown or self) if as_tensors else saved

    def with_new_data(self, saved):
        """`saved`, but of an input whose `.data` was set since, the new data, as in PyTorch.

        Raises RuntimeError where a value was written, or the new data has another shape.
        """
        values = list(saved)
        for k, place in enumerate(self.op.saves):
            before = saved[k]
            values[k] = getattr(before, "kept_copy", None) or before
            if place is None or place < 0 or k in self.op.keeps_data:
                continue
            latest = getattr(before, "latest", None)
            if latest is None or latest[1] != name_of_edge(self.edges[place]):
                continue  # as of a leaf, whose `detach` has the same array
            now = latest[0]
            if now.shape != before.shape or now.device != before.device:
                raise RuntimeError(
                    f"{self.name()}: the data of an input was set to {list(now.shape)} on "
                    f"{now.device} since, it was {list(before.shape)} on {before.device}"
                )
            values[k] = now if now.dtype is before.dtype else now.astype(before.dtype)
        if any(getattr(value, "stamp", -1) > self.sequence for value in values):
            raise written_since(self, values)
        return tuple(values)

    def as_tensors(self, saved, shown):
        places = self.op.saves
        result = []
        for k, value in enumerate(saved):
            if not hasattr(value, "stamp"):
                result.append(value)
            elif k >= len(places) or places[k] is None or not value.dtype.is_floating_point:
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

    def is_freed(self) -> bool:
        return self.saved is FREED


def written_since(node, saved) -> RuntimeError:
    """The error that names the first of a node's saved values that was written after it."""
    value = next(v for v in saved if hasattr(v, "stamp") and v.stamp > node.sequence)
    hint = (
        "enable anomaly detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )
    if modes.bits & ANOMALY:
        hint = (
            "the backtrace further above shows the operation that failed to compute its gradient. "
            "The variable was changed in there or anywhere later."
        )
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: [torch.{value.dtype.scalar_type}Tensor {list(value.shape)}], which "
        f"{node.name()} has saved, was written since. Hint: {hint}"
    )


# edge_of(tensor): its edge, or None where it does not require grad; (tensor, 0) of a leaf. A view
# whose stamp is not its memory's is renewed first.
edge_of: Any = _core.edge_of


def name_of_edge(edge):
    """What tells edges apart, and keeps nothing alive."""
    return edge and (id(edge[0]), edge[1])


def source_of(tensor):
    """The edge of what requires grad. A view from before its base did is a leaf of its own."""
    return edge_of(tensor) or (tensor, 0)


def note(node):
    """A new node, which the modes that are on have seen."""
    if modes.bits & ANOMALY:
        module_of[ANOMALY].remember(node)
    if modes.bits & SAVED_HOOKS:
        module_of[SAVED_HOOKS].pack(node)
    return node


def run(op, x, *others):
    """An op inside a backward formula: on tensors it is recorded, on arrays only computed."""
    if isinstance(x, TensorBase) or (others and isinstance(others[0], TensorBase)):
        return _core.apply(op, x, *others)
    return op.forward(x, *others)[0]


class Identity(Op):
    """A mark in the graph: the same value, one node further."""

    @staticmethod
    def backward(saved, grad, needs):
        return grad


class Anchor(Op):
    """Its first input. That is piecewise constant in the second, whose gradient is zeros."""

    @staticmethod
    def backward(saved, grad, needs):
        zeros = grad.new_full(grad.shape, 0) if needs[1] else None
        return grad if needs[0] else None, zeros


def anchor(results, edge):
    """A node's gradients, the first of which leads to the input that has this edge, too."""
    first, *others = results if type(results) is tuple else (results,)
    if first is None or edge is None:
        return results
    return wrap(first.array, (Node(Anchor, (edge_of(first), edge), ()), 0)), *others


class Unrelated(Op):
    """What an op without a gradient has left in place: nothing of what was there before."""

    @staticmethod
    def node_name(saved, node):
        return f"{node.constants[0]}Backward0"

    @staticmethod
    def backward(saved, grad, needs):
        return None


class InLayout(Op):
    """A copy of x laid out as ``.grad`` of a leaf: like it if dense, else contiguous; or sparse."""

    node_name = "CloneBackward0"
    aten = "clone"

    @staticmethod
    def forward(x, leaf):
        if x.strides is None:
            return x.clone(), ()
        if leaf.is_dense():
            copy = leaf.empty_like()
        else:
            copy = array_module(leaf.device).empty(leaf.shape, leaf.dtype)
        copy.copy_(x)
        return copy, ()

    @staticmethod
    def backward(saved, grad, needs):
        return grad


class GradientEdge(NamedTuple):
    """Where the gradient of a tensor goes: may stand for it in grad and backward."""

    node: Any
    output_nr: int

    @property
    def edge(self) -> tuple:
        """As the engine has it: of a leaf, the tensor."""
        leads_on = isinstance(self.node, Node)
        return (self.node, self.output_nr) if leads_on else (self.node.variable, 0)


__all__ = [
    "GradientEdge", "Node", "disable_saved_tensors_hooks", "get_gradient_edge",
    "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
]  # fmt: skip
