"""Modes that see every op of a thread, forward and backward: autocast and the profiler are such.

Nothing else is asked of a mode than the two methods of OpMode, and nothing else in the package
knows what modes there are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tiny_torch.modes import WATCHED, modes, thread

# The kinds of calls: results in fresh memory, results that show the first argument's memory, and
# results written over the first argument.
ORDINARY, VIEW, IN_PLACE = "ordinary", "view", "in place"


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

    def forward(self, call: Callable, op: Any, arguments: tuple, kind: str) -> Any:
        """Answers the op's results; ``call(op, arguments)`` computes and records them."""
        return call(op, arguments)

    def backward(self, call: Callable, node: Any, grad: Any, needs: Any) -> Any:
        """Answers the gradients of a node's inputs; ``call(node, grad, needs)`` computes them."""
        return call(node, grad, needs)

    def __enter__(self) -> Any:
        thread.op_modes = (*thread.op_modes, self)
        modes.bits |= WATCHED
        return self

    def __exit__(self, *exception: Any) -> None:
        thread.op_modes = thread.op_modes[:-1]
        if not thread.op_modes:
            modes.bits &= ~WATCHED


class innermost:
    """The innermost mode, which is off while the ``with`` lasts."""

    def __enter__(self) -> OpMode:
        self.stack = thread.op_modes
        thread.op_modes = self.stack[:-1]
        if not thread.op_modes:
            modes.bits &= ~WATCHED
        return self.stack[-1]

    def __exit__(self, *exception: Any) -> None:
        thread.op_modes = self.stack
        modes.bits |= WATCHED


def through_modes(kind: str, op: Any, arguments: tuple, call: Callable) -> Any:
    """The answer of the innermost mode; ``call(op, arguments)`` goes on to the next."""
    with innermost() as mode:
        return mode.forward(call, op, arguments, kind)


def backward_through_modes(call: Callable, node: Any, grad: Any, needs: Any) -> Any:
    """The same of a node's backward: ``call(node, grad, needs)``."""
    with innermost() as mode:
        return mode.backward(call, node, grad, needs)
