"""What this thread's ops must mind: one integer, which each op reads before anything else."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any

from tiny_torch import _core

NO_GRAD: int = 1
INFERENCE: int = 2
OFF: int = NO_GRAD | INFERENCE
ANOMALY: int = 4
SAVED_HOOKS: int = 8
WATCHED: int = 16  # a mode of autograd/op_mode.py wants to see all ops, or those of some names
RECORDED: int = 32  # a profiler notes how long each takes: autograd/record.py
modes: Any = _core.modes  # `bits`: 0 is plain recording
# {bit: the module that implements the mode}: each enters itself here, so that the core, which asks
# it while the bit is set, imports none of them.
module_of: dict[int, Any] = {}


class Scope(_core.Scope):
    """What a ``with`` changes and puts back, whatever interrupts it (src/autograd/scope.cpp).

    Python may be interrupted between any two of its steps: so `current` changes nothing, and
    `restore` can be called again.
    """

    __slots__ = ()

    def current(self) -> Any:
        """What is to be put back."""

    def begin(self) -> Any:
        """Makes the change; answers what ``as`` names."""

    def restore(self, before: Any) -> None:
        """Puts back what `current` has answered."""


class Setting(Scope, ContextDecorator):
    """An attribute that has another value for a while."""

    def __init__(self, owner: Any, name: str, value: Any) -> None:
        self.owner, self.name, self.value = owner, name, value

    def current(self) -> Any:
        return getattr(self.owner, self.name)

    def begin(self) -> None:
        setattr(self.owner, self.name, self.value)

    def restore(self, before: Any) -> None:
        setattr(self.owner, self.name, before)


class Thread(threading.local):
    """What this thread's modes need beside their bits."""

    check_nan = True  # of ANOMALY
    running: Any = None  # the node whose backward runs, under ANOMALY
    origins: Any = None  # of ANOMALY: which ops first made NaN and inf
    saved_hooks: Any = None  # (pack, unpack), under SAVED_HOOKS
    backwards: Any = ()  # weak: the engine's Runs to meet a packed value, a Function, a hook
    checkpoint_contexts: Any = None  # of utils.checkpoint: a context_fn for calls that have none
    watch: Any = None  # of program/: what records this thread's launches
    in_transform = False  # whether one of func runs its function, and may differentiate it twice
    samples: Any = ()  # of func.vmap, outermost first: (array, bytes from the first) of each
    see_node: Any = None  # (node, gradient) of a row of the record that begins, under RECORDED

    def enter_backward(self, run: Any) -> None:
        """Puts `run` behind those Runs within which it goes on: users' code may begin another."""
        self.backwards = (*[r for r in self.backwards if r() not in (None, run)], weakref.ref(run))


thread = Thread()


def outside_of_program(*call: Any, **keywords: Any) -> Any:
    """Calls a function while `_core.is_recording()`: so will the program, with other numbers."""
    return thread.watch.call_outside(*call, **keywords)


# What other rooms have to say before a step: each is called with the optimizer.
checks_of_steps: list[Callable[[Any], None]] = []
