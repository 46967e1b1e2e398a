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
    OFF,
    PLAIN,
    Node,
    Unrelated,
    edge_of,
    modes,
    node_stamp,
    note,
    rebase,
    refusal,
)
from tiny_torch.tensor import Tensor, wrap

# finish(result, node=None, x=None): an op's array, or its tuple of them, as tensors. Those of
# floats are outputs of the node, if there is one. If x is given they are views of it, or of its
# base, made as the modes and their number say: view.py.
finish = _core.finish


def apply1(op, x, *constants):
    """An op of one tensor."""
    result, saved = op.forward(x.array, *constants) if constants else op.forward(x.array)
    if (x.edge is None and x._view is None) or op.backward is None:
        return finish(result)
    bits = modes.bits
    edge = None if bits and bits & OFF else edge_of(x)
    if edge is None:
        return finish(result)
    node = Node(op, (edge,), saved, None, constants)
    return finish(result, node if not bits else note(node))


def apply2(op, x, y):
    """An op of two tensors, or of one and a number: no constants, one result."""
    a = x.array if isinstance(x, Tensor) else x
    b = y.array if isinstance(y, Tensor) else y
    result, saved = op.forward(a, b)
    # edge_of, but for the call
    if a is x:
        edge_x = None
    elif x._view is None:
        edge_x = x.edge if x.edge is not LEAF else (x, 0)
    else:
        edge_x = edge_of(x)
    if b is y:
        edge_y = None
    elif y._view is None:
        edge_y = y.edge if y.edge is not LEAF else (y, 0)
    else:
        edge_y = edge_of(y)
    if (edge_x is None and edge_y is None) or op.backward is None:
        return wrap(result)
    bits = modes.bits
    if bits and bits & OFF:
        return wrap(result)
    inputs = None
    if op.broadcasts:
        first = a.unless_like(result) if edge_x is not None else None
        second = b.unless_like(result) if edge_y is not None else None
        if first is not None or second is not None:
            inputs = (first, second)
    if op.used_by and (edge_x is None or edge_y is None):
        saved = keep(op, saved, (edge_x, edge_y))
    node = Node(op, (edge_x, edge_y), saved, inputs)
    return wrap(result, (node if not bits else note(node), 0))


def applyn(op, tensors, *constants):
    """An op of any number of tensors, of which some may be None or numbers."""
    arrays = []
    tracked = False  # whether one may have a history
    for t in tensors:
        if isinstance(t, Tensor):
            arrays.append(t.array)
            if t.edge is not None or t._view is not None:
                tracked = True
        else:
            arrays.append(t)
    result, saved = op.forward(*arrays, *constants)
    if not tracked or op.backward is None:
        return finish(result)
    bits = modes.bits
    if bits & OFF:
        return finish(result)
    edges = tuple([edge_of(t) if isinstance(t, Tensor) else None for t in tensors])
    if edges.count(None) == len(edges):
        return finish(result)
    inputs = broadcast_inputs(op, arrays, edges, result)
    node = Node(op, edges, keep(op, saved, edges), inputs, constants)
    return finish(result, node if not bits else note(node))


def apply(op, *arguments):
    """applyn, of the op's inputs and the constants that follow them."""
    return applyn(op, arguments[: op.arity], *arguments[op.arity :])


def apply_fused(op, *arguments):
    """apply, of an op with a kernel of its own; on `ref`, which has none, of its composite."""
    if arguments[0].array.device == "ref":
        return op.composite(*arguments)
    arity = op.arity
    if arity == 1:
        return apply1(op, *arguments)
    return applyn(op, arguments[:arity], *arguments[arity:])


def is_wanted(op, k, edges) -> bool:
    """Whether a gradient that may be asked for is computed from saved[k]."""
    if not op.used_by:
        return True
    for i in op.used_by[k]:  # noqa: SIM110  a generator costs five times as much
        if edges[i] is not None:
            return True
    return False


def keep(op, saved, edges):
    """What a node has to hold: None in place of what no gradient will be computed from."""
    used_by = op.used_by
    if not used_by or None not in edges:
        return saved
    if len(edges) == 2:  # the most common case, in a third of the time
        i = 1 if edges[0] is None else 0
        if len(saved) == 2:
            return saved[0] if i in used_by[0] else None, saved[1] if i in used_by[1] else None
    places = len(used_by)
    return tuple(
        [v if k >= places or is_wanted(op, k, edges) else None for k, v in enumerate(saved)]
    )


def broadcast_inputs(op, arrays, edges, result):
    if not op.broadcasts:
        return None
    inputs = tuple(
        [
            None if edge is None else array.unless_like(result)
            for array, edge in zip(arrays, edges, strict=True)
        ]
    )
    return None if inputs.count(None) == len(inputs) else inputs


def apply_view(op, x, *constants):
    """An op whose result, or several, show x's own memory."""
    result, saved = op.forward(x.array, *constants)
    if x.edge is None and x._view is None:
        return finish(result, None, x)
    bits = modes.bits
    edge = None if bits & OFF else edge_of(x)
    if edge is None:
        return finish(result, None, x)
    node = Node(op, (edge,), saved, None, constants)
    return finish(result, node if not bits else note(node), x)


def apply_inplace(op, x, *arguments):
    """x becomes op(x, ...), in its own memory; its history, and its base's, follow."""
    array = x.array
    arrays = [array]
    tracked = x.edge is not None or x._view is not None
    for t in arguments:
        if isinstance(t, Tensor):
            arrays.append(t.array)
            if t.edge is not None or t._view is not None:
                tracked = True
        else:
            arrays.append(t)
    if not tracked or modes.bits & OFF:
        op.forward(*arrays, out=array)
        return x
    edges = tuple([edge_of(t) if isinstance(t, Tensor) else None for t in (x, *arguments)])
    recording = edges.count(None) != len(edges) or x.requires_grad
    if recording:
        check_inplace(x)
        if modes.inference_seen:
            node_stamp(keep(op, saved_inputs(op, arrays), edges))  # raises before x is written
    if recording and 0 in op.saves and is_wanted(op, op.saves.index(0), edges):
        arrays[0] = arrays[0].clone()  # backward wants what is about to be overwritten
    result, saved = op.forward(*arrays, out=x.array)
    if not recording:
        return x
    if op.backward is None:
        rebase(x, Node(Unrelated, edges[:1], (), None, (op.__name__,)))
        return x
    inputs = None
    if op.broadcasts:  # x's gradient, too: the op may have computed in another dtype
        inputs = broadcast_inputs(op, arrays, edges, result) or (None,) * len(edges)
        inputs = ((result.shape, result.dtype), *inputs[1:])
    saved = keep(op, saved, edges)
    if op.composite is None:
        node = Node(op, edges, saved, inputs)
    else:
        node = Node(op, edges[: op.arity], saved, inputs, arguments[op.arity - 1 :])
    if saved_what_it_wrote(op, arrays, result):
        result.mark_written()  # makes the node's saved value stale
    rebase(x, node if not modes.bits else note(node))
    return x


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
