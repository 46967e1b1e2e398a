"""The one place where an op meets its tensors: compute, then record a node if one needs gradients.

``apply(op, *arguments)`` takes the op's inputs (tensors, numbers, None) and its constants.
``apply_many(op, tensors, *constants)`` is for ops of any number of inputs, ``apply_view`` for ops
that answer a view, ``apply_inplace`` for those that write. Each reads this thread's modes before
anything else, as one integer. While no mode is on but those that switch recording off, or that do
not want to see the op, C++ does what `in_modes` spells out here (autograd/apply.cpp); in any other
mode they come here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tiny_torch import _core
from tiny_torch.autograd.graph import Node, Unrelated, node_stamp, note
from tiny_torch.autograd.view import LEAF, PLAIN, refusal
from tiny_torch.autograd.writes import rebase
from tiny_torch.base.modes import RECORDED, WATCHED, modes, module_of

Definition = TypeVar("Definition", bound=Callable)
apply = _core.apply
apply_unasked = _core.apply_unasked  # TypeError where one has a __torch_function__: overrides.py
apply_view = _core.apply_view
apply_many = _core.apply_many
# finish(result, node=None, x=None): an op's array, or its tuple of them, as tensors. Those of
# floats are outputs of the node, if there is one. If x is given they are views of it, or of its
# base, made as the modes and their number say: view.py.
finish = _core.finish
# edges_of(op, *inputs): edge_of of each; None if nothing is to be recorded: no input has an edge,
# the op (None: any) has no gradient, or the modes say so.
edges_of = _core.edges_of
# compute_into(op, out, inputs): op.forward, written into the tensor `out`, unless that or an input
# has a history, or a mode wants to see the op. Whether it was.
compute_into = _core.compute_into
compute_in_place = _core.compute_in_place  # (op, x, others): the same of x and others, into x
# offer(op, outs, inputs, constants): op.forward, which is offered the memory of the tensors `outs`:
# a result is the tensor where that was taken, else an array. None where one has a history, or is
# on another device, or a mode wants to see the op.
offer = _core.offer
arrays_of = _core.arrays_of  # (inputs): the array of each; a number, or None, as it is
changed = _core.changed  # (arrays, edges, result): what a node's `inputs` are
keep = _core.keep  # (used_by, saved, edges): None in place of what no gradient is computed from


def quick(
    first: Any, count: int = 1, numbers: bool = False, *,
    sizes: bool = False, swapped: bool = False, in_place: bool = False,
) -> Callable[[Definition], Definition]:  # fmt: skip
    """Marks a function with what answers a call of `count` arguments by position in its place.

    It is an op, if all of them are tensors, or behind the first, numbers, if `numbers`; or of a
    tensor and any number of `sizes`. Its operands may be `swapped`, or the first written
    `in_place`. Or it is a function of C++, which answers None where the function has to.
    """
    takes = 3 if sizes else int(numbers) if isinstance(first, type) else 2

    def mark(function: Definition) -> Definition:
        exact = 0 if sizes else count  # without a size the function says what is missing
        function.__dict__["quick"] = first, exact, takes, 1 if swapped else 2 if in_place else 0
        return function

    return mark


def in_modes(op, arguments, arity, as_view):
    """What `apply` and its kin do, step by step: where a mode is on, and for arrays of Python.

    Answers the op's result as a tensor, or a tuple of them. The first `arity` of the arguments are
    inputs, op.arity if it is negative; the results are views of the first if `as_view`.
    """
    if (watch := watch_of(op)) is not None:

        def call(op, arguments):
            return again(op, arguments, arity, as_view)

        return watch("view" if as_view else "ordinary", op, arguments, call)
    if op.composite is not None and not isinstance(arguments[0].array, _core.NDArray):
        return op.composite(*arguments)
    arrays = arrays_of(arguments)
    result, saved = op.forward(*arrays)
    shown = arguments[:1] if as_view else ()
    arity = op.arity if arity < 0 else arity
    edges = edges_of(op, *arguments[:arity])
    if edges is None:
        return finish(result, None, *shown)
    inputs = changed(arrays, edges, result) if op.broadcasts else None
    node = Node(op, edges, keep(op.used_by, saved, edges), inputs, arguments[arity:])
    return finish(result, note(node), *shown)


def watch_of(op):
    """What calls the op through the innermost mode that sees it; None if there is none."""
    return module_of[WATCHED].watch_of(op) if modes.bits & WATCHED else None


def again(op, arguments, arity, as_view):
    """The call that a mode has seen, from its beginning."""
    if as_view:
        return apply_view(op, *arguments)
    if arity >= 0:
        return apply_many(op, arguments[:arity], *arguments[arity:])
    return apply(op, *arguments)


_core.register_apply(in_modes)


def compute(op, arguments, out=None):
    """op.forward of the arguments' arrays: (result, saved). The result may stand in `out`."""
    if (watch := watch_of(op)) is not None:
        result = watch("out", op, arguments, compute_tensors)
        several = isinstance(result, tuple)
        return (arrays_of(result) if several else result.array), ()
    return _core.compute(op, arguments, out)


def compute_tensors(op, arguments):
    """compute's result, as a tensor or a tuple of them."""
    return finish(compute(op, arguments)[0])


def apply_inplace(op, x, *arguments):
    """x becomes op(x, ...), in its own memory; its history, and its base's, follow."""
    if compute_in_place(op, x, arguments):
        return x
    inputs = (x, *arguments)
    if (watch := watch_of(op)) is not None:
        return watch("in place", op, inputs, lambda op, given: apply_inplace(op, *given))
    row = module_of[RECORDED].enter_write(op, inputs) if modes.bits & RECORDED else None
    try:
        return write_into_history(op, x, arguments)
    finally:
        _core.leave(row, x)


def write_into_history(op, x, arguments):
    """apply_inplace of tensors of which one has a history, or is on another device."""
    inputs = (x, *arguments)
    arrays = arrays_of(inputs)
    if not x.array.dtype.is_floating_point or "in place" in op.unrecorded:
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
    """The inputs that an op will save, in their places of `saved`."""
    return tuple([arrays[i] if i is not None and i > 0 else None for i in op.saves])


def saved_what_it_wrote(op, arrays, result) -> bool:
    """x.mul_(x): what backward wants of the other operand is no more."""
    others = [arrays[place] for place in op.saves if place is not None and place > 0]
    return any(hasattr(a, "stamp") and a.storage_id == result.storage_id for a in others)


def check_inplace(x, used="is being") -> None:
    """Refuses, as PyTorch does, writes whose gradient could not be found."""
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
