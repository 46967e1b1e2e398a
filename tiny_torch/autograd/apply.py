"""The one place where an op meets its tensors: compute, then record a node if one needs gradients.

By arity, because a call's cost is most of a small op's: ``apply1(op, x, *constants)``,
``apply2(op, x, y)`` whose operands may be numbers, ``applyn(op, inputs, *constants)``.
Beside them ``apply_view`` for ops that answer a view, and ``apply_inplace``. A thread's modes are
read once, as one integer: 0 is plain recording; any bit takes the slow path, which is where
autocast and the profiler will enter.
"""

from __future__ import annotations

from tiny_torch import _core
from tiny_torch.autograd.graph import (
    LEAF,
    PLAIN,
    Node,
    Unrelated,
    modes,
    node_stamp,
    note,
    rebase,
    refusal,
)
from tiny_torch.tensor import Tensor

# finish(result, node=None, x=None): an op's array, or its tuple of them, as tensors. Those of
# floats are outputs of the node, if there is one. If x is given they are views of it, or of its
# base, made as the modes and their number say: view.py.
finish = _core.finish
# edges_of(op, *inputs): edge_of of each; None if nothing is to be recorded: no input has an edge,
# the op (None: any) has no gradient, or the modes say so.
edges_of = _core.edges_of
edges_of_inputs = _core.edges_of_inputs  # (op, arguments, arity=op.arity): of so many of them
# compute(op, inputs, constants=(), out=None): op.forward of their arrays; it may answer in `out`.
compute = _core.compute
# apply_plainly(op, inputs, constants=()): the result as tensors; None, before it is computed, where
# an input may have a history that is to be recorded.
apply_plainly = _core.apply_plainly
# compute_into(op, out, inputs): op.forward, written into the tensor `out`, unless that or an input
# has a history. Whether it was.
compute_into = _core.compute_into
compute_in_place = _core.compute_in_place  # (op, x, others): the same of x and others, into x
# offer(op, outs, inputs, constants): op.forward, computed where the tensors of the tuple `outs`
# are, if they fit: in their places the tensors, else the arrays. None where one has a history, or
# is on another device.
offer = _core.offer
arrays_of = _core.arrays_of  # (inputs): the array of each; a number, or None, as it is
changed = _core.changed  # (arrays, edges, result): what a node's `inputs` are
keep = _core.keep  # (used_by, saved, edges): None in place of what no gradient is computed from


def apply1(op, x, *constants):
    """An op of one tensor."""
    if not constants:
        result, saved = op.forward(x.array)
    elif len(constants) == 1:  # spread out: `*constants` costs a tenth of a microsecond
        result, saved = op.forward(x.array, constants[0])
    else:
        return applied(op, (x, *constants))
    edges = edges_of(op, x)
    if edges is None:
        return finish(result)
    node = Node(op, edges, saved, None, constants)
    return finish(result, node if not modes.bits else note(node))


def apply2(op, x, y):
    """An op of two tensors, or of one and a number: no constants, one result."""
    a = x.array if isinstance(x, Tensor) else x
    b = y.array if isinstance(y, Tensor) else y
    result, saved = op.forward(a, b)
    edges = edges_of(op, x, y)
    if edges is None:
        return finish(result)
    inputs = changed((a, b), edges, result) if op.broadcasts else None
    if op.used_by:
        saved = keep(op.used_by, saved, edges)
    node = Node(op, edges, saved, inputs)
    return finish(result, node if not modes.bits else note(node))


def applyn(op, tensors, *constants):
    """An op of any number of tensors, of which some may be None or numbers."""
    tensor = apply_plainly(op, tensors, constants)
    if tensor is not None:
        return tensor
    result, saved = compute(op, tensors, constants)
    edges = edges_of_inputs(op, tensors, len(tensors))
    if edges is None:
        return finish(result)
    return recorded(op, tensors, constants, edges, result, saved)


def apply(op, *arguments):
    """applyn, of the op's inputs and the constants that follow them."""
    return applied(op, arguments)


def applied(op, arguments):
    tensor = apply_plainly(op, arguments)
    if tensor is not None:
        return tensor
    result, saved = compute(op, arguments)
    edges = edges_of_inputs(op, arguments)
    if edges is None:
        return finish(result)
    arity = op.arity
    return recorded(op, arguments[:arity], arguments[arity:], edges, result, saved)


def recorded(op, tensors, constants, edges, result, saved):
    """The result, as the output of a new node."""
    inputs = changed(arrays_of(tensors), edges, result) if op.broadcasts else None
    if op.used_by:
        saved = keep(op.used_by, saved, edges)
    node = Node(op, edges, saved, inputs, constants)
    return finish(result, node if not modes.bits else note(node))


def apply_fused(op, *arguments):
    """apply, of an op with a kernel of its own; on `ref`, which has none, of its composite."""
    if arguments[0].array.device == "ref":
        return op.composite(*arguments)
    return applied(op, arguments)


def apply_view(op, x, *constants):
    """An op whose result, or several, show x's own memory."""
    if len(constants) == 1:
        result, saved = op.forward(x.array, constants[0])
    else:
        result, saved = op.forward(x.array, *constants)
    edges = edges_of(op, x)
    if edges is None:
        return finish(result, None, x)
    node = Node(op, edges, saved, None, constants)
    return finish(result, node if not modes.bits else note(node), x)


def apply_inplace(op, x, *arguments):
    """x becomes op(x, ...), in its own memory; its history, and its base's, follow."""
    if compute_in_place(op, x, arguments):
        return x
    inputs = (x, *arguments)
    arrays = arrays_of(inputs)
    if not x.array.dtype.is_floating_point:
        op.forward(*arrays, out=x.array)
        return x
    edges = edges_of(None, *inputs)
    check_inplace(x)
    if modes.inference_seen:
        node_stamp(keep(op.used_by, saved_inputs(op, arrays), edges))  # raises before x is written
    if 0 in op.saves and is_wanted(op, op.saves.index(0), edges):
        # Backward wants what is about to be overwritten.
        arrays = (arrays[0].clone(), *arrays[1:])
    result, saved = op.forward(*arrays, out=x.array)
    if op.backward is None:
        rebase(x, Node(Unrelated, edges[:1], (), None, (op.__name__,)))
        return x
    inputs = None
    if op.broadcasts:  # x's gradient, too: the op may have computed in another dtype
        inputs = changed(arrays, edges, result) or (None,) * len(edges)
        inputs = ((result.shape, result.dtype), *inputs[1:])
    saved = keep(op.used_by, saved, edges)
    if op.composite is None:
        node = Node(op, edges, saved, inputs)
    else:
        node = Node(op, edges[: op.arity], saved, inputs, arguments[op.arity - 1 :])
    if saved_what_it_wrote(op, arrays, result):
        result.mark_written()  # makes the node's saved value stale
    rebase(x, node if not modes.bits else note(node))
    return x


def is_wanted(op, k, edges) -> bool:
    """Whether a gradient that may be asked for is computed from saved[k]."""
    return not op.used_by or any(edges[i] is not None for i in op.used_by[k])


def saved_inputs(op, arrays) -> tuple:
    """What of the inputs an op will save, in the places of its `saved`."""
    return tuple([arrays[i] if i is not None and i > 0 else None for i in op.saves])


def saved_what_it_wrote(op, arrays, result) -> bool:
    """x.mul_(x): what backward wants of the other operand is no more."""
    others = [arrays[place] for place in op.saves if place is not None and place > 0]
    return any(hasattr(a, "stamp") and a.storage_id == result.storage_id for a in others)


def check_inplace(x, used="is being") -> None:
    """Refuses, as PyTorch does, writes whose gradient could not be told."""
    view = x._view
    if view is not None:
        if view.kind != PLAIN:
            if x.is_inference():
                x.array.mark_written()  # which is refused outside inference mode
            raise refusal(x, "is being")
        if x.requires_grad and view.base.is_leaf:
            raise RuntimeError(
                f"a view of a leaf Variable that requires grad {used} used in an in-place "
                "operation."
            )
    if x.edge is LEAF:
        raise RuntimeError(
            f"a leaf Variable that requires grad {used} used in an in-place operation."
        )
