"""Whole steps: the gradients that a program finds and stores, and the calls between its launches.

A step is recorded in pieces, each up to calls that are not: an optimizer's step, `zero_grad`,
clipping. Each piece finds gradients of its leaves and leaves others behind, as it did when it was
recorded: none, one that was there before the step, or one that the program has made.
"""

from __future__ import annotations

from typing import Any

from tiny_torch.autograd.graph import Node, edge_of
from tiny_torch.autograd.view import LEAF
from tiny_torch.program.recorder import Recorder
from tiny_torch.program.values import MISSING
from tiny_torch.tensor import Tensor, wrap

HELD, MADE = "held", "made"
Name = tuple[str, int] | None  # a gradient: which of the ones held before, or made


class Refusal(Exception):
    """Why a function cannot be a program."""


class StepGradients:
    """What a recorded step found and stored in ``.grad``, by piece."""

    def __init__(self, watch: Recorder, everything: list[Tensor]) -> None:
        leaves = [i for i, t in enumerate(everything) if t.requires_grad]
        self.leaves = leaves
        if not all(everything[i].is_leaf for i in leaves):
            raise Refusal("reads a tensor with a history, through which backward() goes on")
        if not all(is_plain_leaf(everything[i]) for i in leaves):
            raise Refusal("has hooks on tensors that it is given")
        self.before = watch.before
        self.held: list[int] = []  # leaves that had a gradient before the step
        self.uses: list[bool] = []  # which of those gradients its launches use
        self.pieces: list[tuple[list, list, list]] = []  # (what is found, what is stored, calls)
        self.names: dict[int, Name] = {}  # of gradients, by ids of their arrays
        arrays: dict[str, list] = {HELD: [], MADE: []}

        def name_of(leaf: int, grad: Tensor | None) -> Name:
            if grad is None:
                return None
            if id(grad.array) not in self.names:
                kind = MADE if watch.recording.made(grad.array) else HELD
                self.names[id(grad.array)] = kind, len(arrays[kind])
                arrays[kind].append(grad.array)
                if kind == HELD:
                    self.held.append(leaf)
            return self.names[id(grad.array)]

        there: set[Name] = {None}  # what has been stored
        for piece in watch.pieces:
            starts = [(i, piece.start.get(id(everything[i]), MISSING)) for i in leaves]
            found = [(i, name_of(i, grad)) for i, grad in starts if grad is not MISSING]
            if any(name not in there and name[0] == MADE for _, name in found if name):
                raise Refusal("has a gradient that another call has stored")
            ends = [(i, piece.end.get(id(everything[i]))) for i in leaves]
            stored = [
                (i, name_of(i, end))
                for (i, end), (_, start) in zip(ends, starts, strict=True)
                if end is not start and not (end is None and start is MISSING)
            ]
            if any(name[0] == HELD for _, name in stored if name):
                raise Refusal("stores a gradient that it does not compute")
            there |= {name for _, name in stored}
            self.pieces.append((found, stored, piece.calls))
        # Of each piece: the gradients held before the step that no later piece finds.
        last = {name[1]: p for p, (found, _, _) in enumerate(self.pieces)
                for _, name in found if name and name[0] == HELD}  # fmt: skip
        self.ends = [[k for k, end in last.items() if end == p] for p in range(len(self.pieces))]
        self.arrays = arrays  # for who makes the program; then they are dropped
        self.layouts = [(a.shape, a.strides, a.dtype) for a in arrays[HELD]]

    def take_arrays(self) -> tuple[list, list]:
        """The gradients that were there before, and those that launches make: once."""
        arrays, self.arrays, self.names = self.arrays, {}, {}
        return arrays[HELD], arrays[MADE]

    def find(self, everything: list[Tensor]) -> list | None:
        """The arrays of gradients before a step; None if others are there, or hooks, than then."""
        if not all(map(is_plain_leaf, map(everything.__getitem__, self.leaves))):
            return None
        grads = [everything[i]._grad for i in self.held]
        arrays = [g.array for g in grads if g is not None]
        if [(a.shape, a.strides, a.dtype) for a in arrays] != self.layouts:
            return None
        found = self.pieces[0][0]
        return arrays if StepRun(self, everything, arrays, 0).finds(found) else None


class StepRun:
    """A run of a step. `held` are arrays of gradients before it, `skip` the number of results."""

    def __init__(
        self, step: StepGradients, everything: list[Tensor], held: list, skip: int, fill: Any = None
    ) -> None:
        self.step, self.everything, self.skip = step, everything, skip
        self.fill = fill  # makes a call that of this run
        self.held = held
        self.made: dict[int, Tensor] = {}
        self.piece = 0

    def advance(self, results: list) -> None:
        """Behind a piece: stores its gradients, makes the calls, looks at what the next finds."""
        _, stored, calls = self.step.pieces[self.piece]
        for k in self.step.ends[self.piece]:
            self.held[k] = None  # so that a call which drops the gradient frees its memory
        for i, name in stored:
            self.everything[i]._grad = None if name is None else self.gradient(name[1], results)
        for call in calls:
            self.fill(call)()
        self.piece += 1
        if self.piece < len(self.step.pieces) and not self.finds(self.step.pieces[self.piece][0]):
            raise RuntimeError(
                "record: within a step, gradients are others than when it was recorded"
            )

    def gradient(self, k: int, results: list) -> Tensor:
        if k not in self.made:
            self.made[k] = wrap(results[self.skip + k])
        return self.made[k]

    def finds(self, found: list) -> bool:
        """Whether the leaves have these gradients."""
        for i, name in found:
            grad = self.everything[i]._grad
            if grad is None or name is None:
                if grad is not name:
                    return False
                continue
            kind, k = name
            if grad.array is not (self.held[k] if kind == HELD else self.made[k].array):
                return False
        return True


def is_plain_leaf(tensor: Tensor) -> bool:
    """Whether its gradient is stored, and nobody else wants to see it."""
    is_leaf = tensor.edge is LEAF if tensor._view is None else tensor.is_leaf
    return is_leaf and not (tensor._hooks or tensor._post_hooks)


def has_hooks(tensor: Tensor) -> bool:
    """Whether hooks want to see the tensor's gradient."""
    node = edge_of(tensor)[0]
    return bool(node.hooks) if isinstance(node, Node) else not is_plain_leaf(tensor)
