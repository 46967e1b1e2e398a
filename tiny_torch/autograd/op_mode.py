"""Modes that see every op of a thread, forward and backward: autocast and the profiler are such.

Nothing else is asked of a mode than the two methods of OpMode, and nothing else in the package
knows what modes there are.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

from tiny_torch import _core
from tiny_torch.modes import WATCHED, modes, thread

# The kinds of calls: results in fresh memory, results that show the first argument's memory,
# results written over the first argument, and results that a caller's `out` will hold.
ORDINARY, VIEW, IN_PLACE, OUT = "ordinary", "view", "in place", "out"


class OpMode:
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

    def takes_whole(self, name: str, arguments: tuple) -> bool:
        """Whether it sees a function that is marked `as_one` as an op of that name, not its ops."""
        return False

    def forward(self, call: Callable, op: Any, arguments: tuple, kind: str) -> Any:
        """Answers the op's results; ``call(op, arguments)`` computes and records them."""
        return call(op, arguments)

    def backward(self, call: Callable, node: Any, grad: Any, needs: Any) -> Any:
        """Answers the gradients of a node's inputs; ``call(node, grad, needs)`` computes them."""
        return call(node, grad, needs)

    def __enter__(self) -> Any:
        use((*thread.op_modes, self))
        return self

    def __exit__(self, *exception: Any) -> None:
        use(without(self))


def use(stack: tuple) -> None:
    """These modes see the ops, the last of them first."""
    thread.op_modes = stack
    if stack:
        modes.bits |= WATCHED
    else:
        modes.bits &= ~WATCHED


def without(mode: OpMode) -> tuple:
    """The stack without the mode where it stands innermost; it need not be the last."""
    stack = thread.op_modes
    for i in reversed(range(len(stack))):
        if stack[i] is mode:
            return stack[:i] + stack[i + 1 :]
    return stack


def place_on_stack(mode: OpMode, there: bool) -> None:
    """Makes the mode the innermost one unless it is on the stack, or takes it off."""
    if not there:
        use(without(mode))
    elif mode not in thread.op_modes:
        use((*thread.op_modes, mode))


class innermost:
    """The innermost mode, or `mode`, which is off while the ``with`` lasts."""

    def __init__(self, mode: OpMode | None = None) -> None:
        self.mode = mode or thread.op_modes[-1]

    def __enter__(self) -> OpMode:
        self.stack = thread.op_modes
        use(without(self.mode))
        return self.mode

    def __exit__(self, *exception: Any) -> None:
        use(self.stack)


def through_modes(kind: str, op: Any, arguments: tuple, call: Callable) -> Any:
    """The answer of the innermost mode; ``call(op, arguments)`` goes on to the next."""
    with innermost() as mode:
        return mode.forward(call, op, arguments, kind)


def backward_through_modes(call: Callable, node: Any, grad: Any, needs: Any) -> Any:
    """The same of a node's backward: ``call(node, grad, needs)``."""
    with innermost() as mode:
        return mode.backward(call, node, grad, needs)


Kind = TypeVar("Kind", bound=Callable)
plain_functions: dict[Any, Any] = {}  # {a function as one: the function itself}


def as_one(function: Kind) -> Kind:
    """A function of several ops that a mode may see as one, of the function's name.

    Where no mode is on, the call costs what the function's does.
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
    for mode in reversed(thread.op_modes):
        if mode.takes_whole(function.__name__, given):
            break
    else:
        return function(*args, **kwargs)
    names = tuple(kwargs)

    def call(op: Any, given: tuple) -> Any:
        first, rest = given[: len(args)], given[len(args) :]
        return op(*first, **dict(zip(names, rest, strict=True)))

    kind = ORDINARY if kwargs.get("out") is None else OUT
    with innermost(mode):
        return mode.forward(call, function, given, kind)


_core.see_as_one(seen_as_one)
