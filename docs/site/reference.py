"""The reference: a page of markdown for each public module, from what Python says of its names."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tiny_torch
from tiny_torch.autograd.graph import Op
from tiny_torch.tools import where

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tests"))

from cases.api_names import NAMESPACES  # noqa: E402

MODULES = ["tiny_torch"] + [f"tiny_torch.{name}" for name in (
    "Tensor", "nn", "nn.functional", "nn.init", "nn.utils", "nn.utils.rnn", "optim",
    "optim.lr_scheduler", "optim.swa_utils", "autograd", "autograd.functional", "func", "amp",
    "linalg", "special", "distributions", "random", "utils", "utils.data", "utils.checkpoint",
    "utils.viz", "utils.memory", "utils.monitor", "datasets", "transforms",
    "transforms.functional", "models", "metrics", "profiler", "export", "onnx", "safetensors",
    "cpu", "cuda", "backends.cpu", "accelerator", "testing", "hub",
)]  # fmt: skip

WIDTH = 88
ADDRESSED = re.compile(r"<(?:function )?(\S.*?) at 0x\w+>")  # a default, as repr() shows it


@dataclasses.dataclass
class Entry:
    """A public name, and what it stands for."""

    name: str
    value: Any

    @property
    def signature(self) -> str:
        try:
            text = str(inspect.signature(self.value))
        except (TypeError, ValueError):  # built in
            return self.name
        text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)  # annotations are strings
        text = ADDRESSED.sub(lambda m: m[1] if m[1].isidentifier() else "...", text)
        text = text.removesuffix(" -> None")
        whole = f"class {self.name}{text}" if inspect.isclass(self.value) else self.name + text
        return whole if len(whole) <= WIDTH else a_line_each(whole)

    @property
    def is_made(self) -> bool:
        """Whether a function made it from an op, so that its place would tell nothing."""
        code = getattr(inspect.unwrap(self.value), "__code__", None)
        return bool(code and code.co_freevars)


def a_line_each(signature: str) -> str:
    """A signature with a line for each parameter: breaks at commas outside of inner brackets."""
    depth, shown = 0, []
    for letter in signature:
        shown.append(letter)
        depth += (letter in "([{") - (letter in ")]}")
        if depth == 1 and letter == "(" and len(shown) < signature.index("(") + 2:
            shown.append("\n    ")
        elif depth == 1 and letter == ",":
            shown.append("\n   ")
        elif depth == 0 and letter == ")":
            shown.insert(-1, ",\n")
    return "".join(shown)


def op_of(entry: Entry, full: str) -> str | None:
    """Where the op stands, as path:line, that a function is for."""
    if full.rpartition(".")[0] not in ("tiny_torch", "tiny_torch.nn.functional"):
        return None
    ops = where.reachable(full, entry.value, Op) if inspect.isroutine(entry.value) else []
    return place_of(ops[0]) if ops else None


def place_of(value: Any) -> str | None:
    """Where it is written, as path:line."""
    found = where.place(value)
    return f"{found[0].relative_to(ROOT)}:{found[1]}" if found else None


def resolve(name: str) -> Any:
    """The module, or the class Tensor."""
    return tiny_torch.Tensor if name == "tiny_torch.Tensor" else importlib.import_module(name)


def is_ours(value: Any, space: str = "tiny_torch") -> bool:
    return (getattr(value, "__module__", None) or "").startswith(space)


def entries(name: str) -> Iterator[Entry]:
    """The public functions and classes of a module, in alphabetical order."""
    space = resolve(name)
    listed = getattr(space, "__all__", None)
    of_torch = NAMESPACES.get(name.replace("tiny_torch", "torch", 1))
    for each in sorted(listed or dir(space), key=str.lower):
        value = getattr(space, each, None)
        if each.startswith("_") or not callable(value) or not inspect.getdoc(value):
            continue
        # without a list of its own, a module's helpers are public by their spelling alone
        if listed or (each in of_torch if of_torch else is_ours(value, name)):
            yield Entry(each, value)


def methods(kind: type) -> Iterator[Entry]:
    """Those that a class itself defines and explains."""
    for name, value in vars(kind).items():
        function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if not name.startswith("_") and inspect.isfunction(function) and function.__doc__:
            yield Entry(name, function)


def markdown(docstring: str) -> str:
    """A docstring as markdown: prose with its names as code, and examples."""
    parts = re.split(r"((?:^>>> .*\n?)(?:^(?!\s*$).*\n?)*)", docstring, flags=re.M)
    blocks = []
    for i, part in enumerate(parts):
        if i % 2:
            blocks.append(f"```pycon\n{part.strip()}\n```")
        elif part.strip():
            blocks.append(prose(part.strip()))
    return "\n\n".join(blocks)


def prose(text: str) -> str:
    """Everything outside of backticks stands as it is; addresses are links."""
    pieces = re.split(r"(``[^`]+``|`[^`]+`|https?://[^\s)>]*[^\s)>.,;])", text)
    shown = []
    for i, piece in enumerate(pieces):
        if not i % 2:
            shown.append(re.sub(r"([*_<\[\]#|\\])", r"\\\1", piece))
        else:
            shown.append(f"<{piece}>" if piece.startswith("http") else piece)
    return "".join(shown)


@functools.cache
def compared() -> frozenset[str]:
    """The names that tests/sweep.py compares with PyTorch's."""
    return frozenset(f"{space}.{name}" for space, names in NAMESPACES.items() for name in names)


def told(entry: Entry, full: str, level: int) -> str:
    """A name: its signature, what it does, where it stands."""
    op = op_of(entry, full)
    place = None if op and entry.is_made else place_of(entry.value)
    facts = [f"`{place}`"] if place else []
    if op:
        facts.append(f"op: `{op}`")
    if full.replace("tiny_torch", "torch", 1) in compared():
        facts.append("[compared with PyTorch's](../compatibility.md)")
    lines = [
        f"{'#' * level} {entry.name} {{ #{full} }}",
        f"```python\n{entry.signature}\n```",
        markdown(inspect.getdoc(entry.value) or ""),
    ]
    return "\n\n".join([*lines, *([" · ".join(facts)] if facts else [])])


def page(name: str) -> str:
    """The page of a module."""
    space = resolve(name)
    shown = [f"# {name}", markdown(inspect.getdoc(space) or "") if name != "tiny_torch" else ""]
    for entry in entries(name):
        full = f"{name}.{entry.name}"
        shown.append(told(entry, full, 2))
        if inspect.isclass(entry.value) and is_ours(entry.value) and full != "tiny_torch.Tensor":
            shown += [told(m, f"{full}.{m.name}", 3) for m in methods(entry.value)]
    return "\n\n".join(filter(None, shown)) + "\n"
