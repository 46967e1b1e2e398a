"""Modes that see ops of a thread, forward and backward: autocast is one (`amp/state.py`), the
tracer of exports another (`tools/export/tracing.py`), memory's recording a third.

A mode says which ops it sees (`sees`, `takes_whole`) and what it does with them (`forward`,
`backward`). Nothing else in the package knows what modes there are.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from tiny_torch import _core
from tiny_torch.base.modes import WATCHED, Scope, modes, module_of

# The kinds of calls: results in fresh memory, results that show the first argument's memory,
# results written over the first argument, and results that a caller's `out` will hold.
ORDINARY, VIEW, IN_PLACE, OUT = "ordinary", "view", "in place", "out"
NO_OPS: frozenset[str] = frozenset()


class OpMode(Scope):
    """Sees the ops of this thread while its ``with`` lasts; the innermost mode sees them first.

    Inside its methods a mode does not see ops, those outside of it do.

    >>> import tiny_torch as torch
    >>> class Names(OpMode):
    ...     def forward(self, call, op, arguments, kind):
    ...         print(op.__name__, kind)
    ...         return call(op, arguments)
    >>> with Names():
    ...     x = torch.ones(2) * 3
    Mul ordinary
    """

    # The names of the ops that `forward` sees, and of functions that are one op to it. None: all
    # ops. An op that no mode sees costs what it costs without modes.
    sees: frozenset[str] | None = None
    casts = False  # whether it chooses the dtypes that ops compute in

    def takes_whole(self, name: str, arguments: tuple) -> bool:
        """Whether it sees a function that is marked `as_one` as an op of that name, not its ops."""
        return False

    def forward(self, call: Callable, op: Any, arguments: tuple, kind: str) -> Any:
        """Answers the op's results; ``call(op, arguments)`` computes and records them."""
        return call(op, arguments)

    def backward(self, call: Callable, node: Any, grad: Any, needs: Any) -> Any:
        """Answers the gradients of a node's inputs; ``call(node, grad, needs)`` computes them."""
        return call(node, grad, needs)

    def current(self) -> int:
        """How often it is on the stack."""
        return modes.op_modes.count(self)

    def begin(self) -> Any:
        use((*modes.op_modes, self))
        return self

    def restore(self, before: int) -> None:
        while modes.op_modes.count(self) > before:
            use(without(self))


def use(stack: tuple) -> None:
    """These modes see the ops, the last of them first."""
    _core.watch(stack, seen_by(stack))


def seen_by(stack: Sequence) -> frozenset[str] | None:
    """The names of the ops that one of the modes sees; None: of all."""
    if len(stack) == 1:
        return stack[0].sees
    names = [mode.sees for mode in stack]
    return None if None in names else NO_OPS.union(*names)


def watch_of(op: Any) -> Callable | None:
    """`through` of the innermost mode that sees the op; None if there is none."""
    for mode in reversed(modes.op_modes):
        if is_seen(op, mode):
            return partial(through, mode)
    return None


def is_seen(op: Any, mode: OpMode) -> bool:
    return mode.sees is None or op.__name__ in mode.sees


def without(mode: OpMode) -> tuple:
    """The stack without the mode where it stands innermost; it need not be the last."""
    stack = modes.op_modes
    i = len(stack) - 1
    while i >= 0 and stack[i] is not mode:
        i -= 1
    return stack[:i] + stack[i + 1 :] if i >= 0 else stack


def place_on_stack(mode: OpMode, there: bool) -> None:
    """Makes the mode the innermost one unless it is on the stack, or takes it off."""
    if not there:
        use(without(mode))
    elif mode not in modes.op_modes:
        use((*modes.op_modes, mode))
    else:
        use(modes.op_modes)  # what it sees may have changed


def through(mode: OpMode, kind: str, op: Any, arguments: tuple, call: Callable) -> Any:
    """A mode's answer; ``call(op, arguments)`` goes on to the next."""
    stack = without(mode)
    return _core.watching(stack, seen_by(stack), mode.forward, call, op, arguments, kind)


def sees_backward() -> bool:
    """Whether one of this thread's modes has a `backward` of its own."""
    return any(type(mode).backward is not OpMode.backward for mode in modes.op_modes)


def backward_through_modes(call: Callable, node: Any, grad: Any, needs: Any) -> Any:
    """The answer of the innermost mode that has one; ``call(node, grad, needs)`` goes on."""
    mode = next(m for m in reversed(modes.op_modes) if type(m).backward is not OpMode.backward)
    stack = without(mode)
    return _core.watching(stack, seen_by(stack), mode.backward, call, node, grad, needs)


Kind = TypeVar("Kind", bound=Callable)
plain_functions: dict[Any, Any] = {}  # {a function as one: the function itself}


def as_one(function: Kind) -> Kind:
    """A function of several ops, or of none, that a mode may see as one op of its name.

    Where no mode sees that name, the call costs what the function's does.
    """
    place = function.__module__, function.__qualname__
    seen: Any = _core.Function(function, function, None, *place, sys.maxsize, True)
    plain_functions[seen] = function
    return seen


def plain_of(function: Any) -> Any:
    """The function without its `as_one`."""
    return plain_functions.get(function, function)


def seen_as_one(function: Callable, args: tuple, kwargs: dict) -> Any:
    """The answer of the innermost mode that takes the function whole, or its own."""
    given = (*args, *kwargs.values())
    for mode in reversed(modes.op_modes):
        if is_seen(function, mode) and mode.takes_whole(function.__name__, given):
            break
    else:
        return function(*args, **kwargs)
    names = tuple(kwargs)

    def call(op: Any, given: tuple) -> Any:
        first, rest = given[: len(args)], given[len(args) :]
        return op(*first, **dict(zip(names, rest, strict=True)))

    kind = ORDINARY if kwargs.get("out") is None else OUT
    return through(mode, kind, function, given, call)


_core.see_as_one(seen_as_one)
module_of[WATCHED] = sys.modules[__name__]
