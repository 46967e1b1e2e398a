"""Where the running thread is: the user's line, the module whose forward runs, the optimiser."""

from __future__ import annotations

from pathlib import Path
from types import FrameType
from typing import Any

PACKAGE = str(Path(__file__).parent.parent)
# By file and name, not by code object: modules and optimizers stand in rows above this one.
CALL = f"{PACKAGE}/nn/modules/module.py", "__call__"
RUN = f"{PACKAGE}/autograd/engine.py", "run"
STEP = f"{PACKAGE}/optim/optimizer.py", "wrapper"  # of all optimizers' steps: what runs their hooks


class Place:
    """What the stack tells: the innermost of the user's lines, and whose code runs."""

    __slots__ = ("backward", "line", "modules", "optimizer")

    def __init__(self, frame: FrameType | None) -> None:
        self.line = ""
        self.optimizer = ""
        self.backward = False  # whether the engine walks a graph
        self.modules: list[Any] = []  # those whose forward runs, the innermost first
        while frame is not None:
            file, name = frame.f_code.co_filename, frame.f_code.co_name
            if is_users(file):
                self.line = self.line or f"{file}:{frame.f_lineno}"
            elif (file, name) == CALL:
                self.modules.append(frame.f_locals["self"])
            elif (file, name) == STEP:
                self.optimizer = type(frame.f_locals["args"][0]).__name__
            elif (file, name) == RUN:
                self.backward = True
            frame = frame.f_back


def is_users(file: str) -> bool:
    """Whether the code is neither ours nor Python's own."""
    return not file.startswith((f"{PACKAGE}/", "<frozen"))


class ModulePaths:
    """The paths of modules within the outermost one that runs: "blocks.0.attention"."""

    def __init__(self) -> None:
        self.found: dict[int, dict[int, str]] = {}  # by the outermost, by module
        self.kept: list[Any] = []  # whose ids may not pass to others

    def path(self, modules: list[Any]) -> str:
        """That of the innermost; "" outside of modules."""
        if not modules:
            return ""
        root, module = modules[-1], modules[0]
        if id(root) not in self.found:
            named = list(root.named_modules())
            self.kept += [root, named]
            self.found[id(root)] = {id(m): name for name, m in named}
        name = type(root).__name__
        inner = self.found[id(root)].get(id(module), f"({type(module).__name__})")
        return f"{name}.{inner}" if inner else name
