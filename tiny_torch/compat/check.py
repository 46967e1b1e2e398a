"""`python -m tiny_torch check PATH…`: what scripts use of PyTorch that is not here.

Reads the text only: imports and their aliases (`import torch.nn.functional as F`), and names behind
them. It cannot know which objects are tensors: methods are listed where no list, dict, string or
array has one of that name. A line says where, what, and whether importing the file stops there.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import tiny_torch
from tiny_torch.compat import absent, torchvision
from tiny_torch.compat.run import NOT_COVERED, exists

# what `import` answers with under the runner
OURS = {"torch": tiny_torch, "torchvision": torchvision}
USAGE = """\
usage: python -m tiny_torch check PATH…

Lists what Python files, and those in folders, use of PyTorch that tiny_torch lacks, by file and
line. Exits with 1 if the import of a file would stop, with 2 if a path cannot be read."""
# Attributes that other objects have, too.
COMMON = {name for kind in (dict, list, str, set, slice, np.ndarray, Path) for name in dir(kind)}
CAUGHT = {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException"}


@dataclass(frozen=True, order=True)
class Finding:
    """One name that is missing at one line."""

    file: str
    line: int
    text: str
    stops: bool

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}{' [stops the import]' if self.stops else ''}"


class Reader(ast.NodeVisitor):
    """Walks a file's statements and collects what is missing."""

    def __init__(self, file: Path, tree: ast.Module) -> None:
        self.file = file
        self.aliases: dict[
            str, str
        ] = {}  # what a name of the file is, such as F: torch.nn.functional
        self.late = 0  # inside of functions, or of a `try` that goes on without the name
        self.found: set[Finding] = set()
        self.annotations_wait = any(
            isinstance(node, ast.ImportFrom)
            and node.module == "__future__"
            and any(alias.name == "annotations" for alias in node.names)
            for node in tree.body
        )
        self.visit(tree)

    def note(self, node: ast.AST, text: str, stops: bool = True) -> None:
        line = getattr(node, "lineno", 0)
        self.found.add(Finding(str(self.file), line, text, stops and not self.late))

    # ---- imports

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            top = alias.name.partition(".")[0]
            if top in OURS:
                self.look_up(node, alias.name)
                self.aliases[alias.asname or top] = alias.name if alias.asname else top
            else:
                self.look_for_package(node, alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        if node.level:
            return
        if module.partition(".")[0] not in OURS:
            self.look_for_package(node, module)
        elif self.look_up(node, module):
            for alias in node.names:
                name = f"{module}.{alias.name}"
                if alias.name != "*" and self.look_up(node, name):
                    self.aliases[alias.asname or alias.name] = name

    def look_for_package(self, node: ast.AST, module: str) -> None:
        top = module.partition(".")[0]
        if top in NOT_COVERED and module != "safetensors.torch":
            self.note(node, f"{top} is built on PyTorch itself and not covered by tiny_torch")
        elif not (is_installed(top) or any(beside(self.file, top))):
            self.note(node, f"{top} is not installed")

    # ---- names

    def visit_Name(self, node: ast.Name) -> None:
        self.look_at(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if not self.look_at(node):
            self.look_at_method(node)
            self.visit(node.value)

    def look_at(self, node: ast.expr) -> bool:
        """Looks up torch.x.y; False if the expression is none of that kind."""
        name = self.full_name(node)
        if name is not None and isinstance(node, ast.Attribute):
            self.look_up(node, name)
        return name is not None

    def look_at_method(self, node: ast.Attribute) -> None:
        theirs = absent.names_of_pytorch()["torch.Tensor"]
        if node.attr in theirs - COMMON and not hasattr(tiny_torch.Tensor, node.attr):
            text = absent.message(tiny_torch.Tensor, "torch.Tensor", node.attr, None)
            self.note(node, text.replace(" (?)", ""), stops=False)

    def full_name(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Name):
            return self.aliases.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self.full_name(node.value)
            return f"{owner}.{node.attr}" if owner else None
        return None

    def look_up(self, node: ast.AST, name: str) -> bool:
        """Notes what is missing of a full name; True if all of it is there."""
        space, *parts = name.split(".")
        owner: Any = OURS[space]
        for part in parts:
            if not isinstance(owner, ModuleType | type):
                return True  # of an object, anything may come
            value = member(owner, part)
            if value is None:
                text = absent.message(owner, space, part, None).replace(" (?)", "")
                self.note(node, text)
                return False
            owner, space = value[0], f"{space}.{part}"
        if hasattr(owner, "refusal"):
            self.note(node, f"{space} raises when it is called: {owner.refusal}", stops=False)
        return True

    # ---- what runs when

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        name = self.full_name(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.aliases.pop(target.id, None)
                if name is not None:
                    self.aliases[target.id] = name

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for now in [
            *node.decorator_list,
            *node.args.defaults,
            *filter(None, node.args.kw_defaults),
        ]:
            self.visit(now)
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        for annotation in filter(None, [node.returns, *(a.annotation for a in arguments)]):
            self.visit_later([annotation], self.annotations_wait)
        self.visit_later(node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.visit_later([node.annotation], self.annotations_wait)
        if node.value is not None:
            self.visit(node.value)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit_later([node.body])

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        text = ast.unparse(node.test)
        self.visit_later(node.body, "__name__" in text or "TYPE_CHECKING" in text)
        self.visit_later(node.orelse, False)

    def visit_Try(self, node: ast.Try) -> None:
        names = {ast.unparse(h.type) if h.type else "Exception" for h in node.handlers}
        self.visit_later(node.body, any(name in text for text in names for name in CAUGHT))
        for part in (node.handlers, node.orelse, node.finalbody):
            self.visit_later(part, part is node.handlers)

    def visit_later(self, nodes: Any, late: bool = True) -> None:
        self.late += late
        for node in nodes:
            self.visit(node)
        self.late -= late


def member(owner: Any, name: str) -> tuple[Any] | None:
    """(value,) of an attribute or a submodule; None without."""
    if isinstance(owner, ModuleType) and not hasattr(owner, name):
        path = f"{owner.__name__}.{name}"
        return (importlib.import_module(path),) if exists(path) else None
    found = inspect.getattr_static(owner, name, None) if isinstance(owner, type) else None
    lacks = isinstance(found, absent.Absent) or not hasattr(owner, name)
    return None if lacks else (getattr(owner, name),)


def is_installed(package: str) -> bool:
    """Whether Python would find it; of `torch` itself nobody asks."""
    if package in sys.modules or package in sys.builtin_module_names:
        return True
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def beside(file: Path, module: str) -> Iterator[Path]:
    """The files or folders of that name next to a file, or next to a folder that it is in."""
    for folder in file.resolve().parents:
        for path in (folder / f"{module}.py", folder / module):
            if path.exists():
                yield path


def files_of(path: Path) -> list[Path]:
    """A file, or the Python files in a folder."""
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file or folder")
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


def check(path: Path) -> list[Finding]:
    """What one file lacks, by line. SyntaxError and UnicodeDecodeError, if it is no Python."""
    tree = ast.parse(path.read_bytes(), str(path))
    return sorted(Reader(path, tree).found)


def main(arguments: list[str]) -> int:
    """The exit code of `python -m tiny_torch check` with these arguments."""
    if arguments[:1] in (["-h"], ["--help"]):
        print(USAGE)
        return 0
    if not arguments or arguments[0].startswith("-"):
        print(USAGE, file=sys.stderr)
        return 2
    try:
        files = [file for path in arguments for file in files_of(Path(path))]
        found = [finding for file in files for finding in check(file)]
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        print(error, file=sys.stderr)
        return 2
    stops = sum(finding.stops for finding in found)
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{len(files)} files: {len(found)} places lack something, {stops} stop the import")
    return int(stops > 0)
