"""What a solution in Python may contain: no way around the task.

A task is over a framework that works, so `return their_function(x)` would always do. A file may
import what its task lists, and must not look into the interpreter.
"""

from __future__ import annotations

import ast

ALWAYS = ("__future__", "typing", "collections.abc", "math")
# builtins that run text, open files, or reach what is not given
REFUSED = {
    "__builtins__", "__import__", "__loader__", "__spec__", "breakpoint", "compile", "delattr",
    "eval", "exec", "getattr", "globals", "locals", "memoryview", "open", "setattr", "vars",
}  # fmt: skip


def broken(text: str, imports: tuple[str, ...]) -> str:
    """The first rule that a file breaks, with its line; empty if it keeps them all."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"it is no Python: {error}"
    allowed = (*ALWAYS, *imports)
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        found = ""
        if isinstance(node, ast.Import):
            found = ", ".join(x.name for x in node.names if x.name not in allowed)
        elif isinstance(node, ast.ImportFrom):
            found = "" if node.module in allowed and not node.level else str(node.module)
        elif isinstance(node, ast.Name) and node.id in REFUSED:
            return f"line {line}: `{node.id}` is not for a solution"
        elif isinstance(node, ast.Attribute) and is_hidden(node.attr):
            return f"line {line}: `.{node.attr}` looks into the interpreter"
        if found:
            return f"line {line}: imports {found}; a solution needs {', '.join(allowed)}"
    return ""


def is_hidden(name: str) -> bool:
    """Attributes through which a function reaches frames, modules and classes."""
    special = (
        name.startswith("__") and name.endswith("__") and name not in ("__init__", "__class__")
    )
    return special or name.startswith(("f_", "gi_", "cr_", "tb_", "co_"))
