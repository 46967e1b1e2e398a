"""Modes that are told when Python reads a tensor, or does with it what no op does.

While one is on, in any thread, the methods named here ask this thread's modes first; while none is,
they are the plain methods. So it costs nothing outside of such modes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tiny_torch.autograd.op_mode import OpMode
from tiny_torch.base.modes import modes
from tiny_torch.tensor import Tensor

# By which a tensor becomes Python's numbers.
READERS = (
    "item", "tolist", "numpy", "__bool__", "__float__", "__int__", "__index__", "__complex__",
)  # fmt: skip


class ReadingMode(OpMode):
    """A mode whose `read` comes before the methods named in `methods`, and `after` behind them."""

    methods: tuple[str, ...] = READERS

    def read(self, tensor: Tensor, method: str, arguments: tuple) -> None:
        """Before ``tensor.method(*arguments)``; what it raises is raised by the call."""

    def after(self, tensor: Tensor, method: str, result: Any) -> None:
        """After the method has answered."""

    def begin(self) -> Any:
        patches.add(self)
        return super().begin()

    def restore(self, before: int) -> None:
        super().restore(before)
        if not before:
            patches.discard(self)


class Patches:
    """The modes that are on, and the methods that tell them so."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # a signal handler may begin a mode while another begins
        self.users: dict[str, set[int]] = {}  # by method: the ids of the modes that ask for it
        self.plain: dict[str, Any] = {}

    def add(self, mode: ReadingMode) -> None:
        with self.lock:
            for name in mode.methods:
                self.users.setdefault(name, set()).add(id(mode))
                if name not in self.plain:
                    self.plain[name] = getattr(Tensor, name)
                    setattr(Tensor, name, watched_method(name, self.plain[name]))

    def discard(self, mode: ReadingMode) -> None:
        with self.lock:
            for name in mode.methods:
                users = self.users.get(name, set())
                users.discard(id(mode))
                if not users and name in self.plain:
                    setattr(Tensor, name, self.plain[name])
                    del self.plain[name]


patches = Patches()


def watched_method(name: str, plain: Callable) -> Callable:
    """The method, which tells this thread's modes, the innermost first."""

    def method(tensor: Tensor, *args: Any, **kwargs: Any) -> Any:
        asked = [mode for mode in modes.op_modes if name in getattr(mode, "methods", ())]
        for mode in reversed(asked):
            mode.read(tensor, name, args)
        result = plain(tensor, *args, **kwargs)
        for mode in asked:
            mode.after(tensor, name, result)
        return result

    return method
