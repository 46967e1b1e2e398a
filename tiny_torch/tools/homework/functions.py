"""A student's Python in its process: with as much of the framework as call.py imports, or none."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tiny_torch.tools.homework.task import Task
from tiny_torch.tools.homework.values import decode, encode


def open_task(task: Task, request: dict[str, Any]) -> tuple[Callable, list[Path]]:
    """See WAYS of worker.py. A namespace is asked for by our own solution, from which nothing is
    taken."""
    namespace = request["namespace"]
    whole = bool(namespace) or needs_framework(task)
    if whole:
        load_framework()
    call = task.call()
    # what call.py has not loaded is nothing that a solution needs
    readable = [Path(sys.modules["numpy"].__path__[0])] if "numpy" in sys.modules else []
    used = importlib.import_module("tiny_torch.tools.homework.used") if whole else None
    if whole and not task.stands_alone:
        task.solution()  # loads its modules while files can be read
    if not namespace and "tiny_torch._core" in sys.modules:
        importlib.import_module("tiny_torch.tools.homework.absent").take_out(task, whole)

    def load() -> Callable[[bytes], bytes]:
        mine = task.load(request["text"], namespace)
        if used:
            used.replace(task, mine)
        return lambda message: encode({"value": call(mine, **decode(message))})

    return load, readable


def needs_framework(task: Task) -> bool:
    """Whether call.py, or what a solution may import, is more of it than arrays."""
    found = list(task.imports)
    for node in ast.walk(ast.parse((task.folder / "call.py").read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    ours = {name for name in found if name.split(".")[0] == "tiny_torch"}
    return bool(ours - {"tiny_torch._core"})


def load_framework() -> None:
    """In the place of the name that worker.START has made for this package."""
    del sys.modules["tiny_torch"]
    sys.path.append(str(Path(__file__).parents[3]))  # where it is not installed
    importlib.import_module("tiny_torch")
