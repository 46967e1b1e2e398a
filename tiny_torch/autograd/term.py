"""Gradients that are added where their sum is, as they are computed.

Of a weight that is used twice, or whose ``.grad`` holds what an earlier batch gave, each further
gradient would be written into memory of its own, and then added. An op that can add as it computes
answers a Term instead, and the engine says where to: `Run.deliver` in engine.py, and `add_to_grad`
in accumulate.py for a leaf's ``.grad``. Why: Note [Gradients in place], src/README.md.
"""

from __future__ import annotations

from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.graph import run

NDArray = _core.NDArray


class Term:
    """The gradient ``op.forward(*arguments)``, not yet computed.

    ``op.add(total, *arguments)`` adds it to a contiguous array. It holds its arguments alive: those
    of an op whose arguments are large go where they are used at once, to a leaf.
    """

    __slots__ = ("arguments", "op")

    def __init__(self, op: Any, arguments: tuple):
        self.op, self.arguments = op, arguments

    def value(self) -> Any:
        """It alone, in memory that nobody else has."""
        return self.op.forward(*self.arguments)[0]

    def add_to(self, total: Any) -> bool:
        """Adds it in place, if `total` lets it; else False, and nothing is done.

        Halves would round at each addition.
        """
        arguments = self.arguments
        dtype = arguments[0].dtype
        if (
            type(total) is not NDArray
            or total.dtype is not dtype
            or dtype.itemsize == 2
            or not total.is_contiguous()
        ):
            return False
        for value in arguments:
            if type(value) is NDArray and value.overlaps(total):
                return False
        self.op.add(total, *arguments)
        return True


def term(op: Any, x: Any, *others: Any) -> Any:
    """graph.run, put off: at once only where it is to be recorded."""
    return Term(op, (x, *others)) if type(x) is NDArray else run(op, x, *others)


def compute_all(results: Any) -> Any:
    """A backward's results, all of them computed."""
    if type(results) is tuple:
        return tuple([r.value() if type(r) is Term else r for r in results])
    return results.value() if type(results) is Term else results
