"""`python -m tiny_torch check PATH…`: what scripts use of PyTorch that is not here.

Reads the text only: imports and their aliases (`import torch.nn.functional as F`), and names behind
them. It cannot know which objects are tensors: methods are listed where no list, dict, string or
array has one of that name. A line says where, what, and whether importing the file stops there.
What a file asks for by `hasattr` is not missing: without it, the file takes another way.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import tiny_torch
from tiny_torch.compat import absent, torchvision
from tiny_torch.compat.run import NOT_COVERED, spec_of
from tiny_torch.compat.scopes import (
    ELSEWHERE,
    Meaning,
    Scope,
    Scopes,
    bound_by,
    defaults_of,
    is_self,
    methods_of,
    names_caught,
    names_suppressed,
    scope_of,
)

# what `import` answers with under the runner
OURS = {"torch": tiny_torch, "torchvision": torchvision}
USAGE = """\
usage: python -m tiny_torch check PATH…

Lists what Python files, and those in folders, use of PyTorch that tiny_torch lacks, by file and
line. Exits with 1 if the import of a file would stop, with 2 if a file cannot be read."""
# Attributes that other objects have, too.
COMMON = {name for kind in (dict, list, str, set, slice, np.ndarray, Path) for name in dir(kind)}
# What a handler may name to catch that a module, or a name, is missing.
PRECISE = {"ImportError", "ModuleNotFoundError", "AttributeError"}
BROAD = {"Exception", "BaseException"}
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)


@dataclass(frozen=True, order=True)
class Finding:
    """One name that is missing at one line."""

    file: str
    line: int
    text: str
    stops: bool
    optional: bool = False  # the file goes on without it: it stands in a `try`

    def __str__(self) -> str:
        end = " [stops the import]" if self.stops else ""
        return f"{self.file}:{self.line}: {self.text}{' [optional]' if self.optional else end}"


class Reader(ast.NodeVisitor):
    """Walks a file's statements in the order in which they run, and collects what is missing.

    Bodies of functions come last, when the names of the module are what a call would find.
    """

    def __init__(self, file: Path, tree: ast.Module) -> None:
        self.file = file
        self.scopes = Scopes([Scope()])
        self.late = 0  # inside of functions, or of a `try` that goes on without the name
        self.optional = 0  # inside of a `try` that expects a name to be missing
        self.found: set[Finding] = set()
        self.own_methods = methods_of(tree)
        self.given: set[str] = set()  # names of PyTorch's that the file sets itself
        self.waiting: list[tuple[Scopes, Function]] = []  # functions, whose bodies come later
        self.annotations_wait = any(
            isinstance(node, ast.ImportFrom)
            and node.module == "__future__"
            and any(alias.name == "annotations" for alias in node.names)
            for node in tree.body
        )
        self.run(tree.body)
        self.late = 1
        while self.waiting:
            self.scopes, function = self.waiting.pop()
            self.run(function.body if isinstance(function.body, list) else [function.body])

    def note(self, node: ast.AST, text: str, stops: bool = True) -> None:
        line = getattr(node, "lineno", 0)
        stops = stops and not self.late
        self.found.add(Finding(str(self.file), line, text, stops, self.optional > 0))

    # ---- imports

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            top = alias.name.partition(".")[0]
            if top in OURS:
                self.look_up(node, alias.name)
                self.scopes.bind(alias.asname or top, alias.name if alias.asname else top)
            else:
                self.look_for_package(node, alias.name)
                self.scopes.bind(alias.asname or top, ELSEWHERE)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        ours = not node.level and module.partition(".")[0] in OURS
        if not node.level and not ours:
            self.look_for_package(node, module)
        there = ours and self.look_up(node, module)
        for alias in node.names:
            name = f"{module}.{alias.name}"
            if alias.name != "*":
                known = there and self.look_up(node, name)
                self.scopes.bind(alias.asname or alias.name, name if known else ELSEWHERE)

    def look_for_package(self, node: ast.AST, module: str) -> None:
        top = module.partition(".")[0]
        if top in NOT_COVERED and module != "safetensors.torch":
            self.note(node, f"{top} is built on PyTorch itself and not covered by tiny_torch")
        elif not (is_installed(top) or any(beside(self.file, top))):
            self.note(node, f"{top} is not installed")

    # ---- names

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.look_at(node)
        else:
            self.scopes.bind(node.id, None)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        name = self.full_name(node)
        if name and not isinstance(node.ctx, ast.Load):
            self.given.add(name)
        elif not self.look_at(node):
            if self.root(node) != ELSEWHERE and not is_self(node.value):
                self.look_at_method(node)
            self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        match node:
            case ast.Call(ast.Name("getattr"), [owner, ast.Constant(str(attribute))], []):
                name = self.full_name(owner)
                if name:
                    self.look_up(node, f"{name}.{attribute}")

    def look_at(self, node: ast.expr) -> bool:
        """Looks up torch.x.y; False if the expression is none of that kind."""
        name = self.full_name(node)
        if name and isinstance(node, ast.Attribute):
            self.look_up(node, name)
        return bool(name)

    def look_at_method(self, node: ast.Attribute) -> None:
        theirs = absent.names_of_pytorch()["torch.Tensor"]
        lacking = node.attr in theirs - COMMON and not hasattr(tiny_torch.Tensor, node.attr)
        if lacking and node.attr not in self.own_methods:
            text = absent.message(tiny_torch.Tensor, "torch.Tensor", node.attr, None)
            self.note(node, text.replace(" (?)", ""), stops=False)

    def full_name(self, node: ast.expr) -> str | None:
        """PyTorch's name for an expression, such as "torch.nn.Linear" for `nn.Linear`."""
        if isinstance(node, ast.Name):
            meaning = self.scopes.meaning(node.id)
            return meaning if isinstance(meaning, str) and meaning else None
        if isinstance(node, ast.Attribute):
            owner = self.full_name(node.value)
            return f"{owner}.{node.attr}" if owner else None
        return None

    def root(self, node: ast.expr) -> Meaning:
        """What the first name of `a.b.c` stands for."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return self.scopes.meaning(node.id) if isinstance(node, ast.Name) else None

    def look_up(self, node: ast.AST, name: str) -> bool:
        """Notes what is missing of a full name; True if all of it is there."""
        missing, owner = self.missing(name)
        if missing:
            space, _, part = missing.rpartition(".")
            self.note(node, absent.message(owner, space, part, None).replace(" (?)", ""))
        elif hasattr(owner, "refusal"):
            self.note(node, f"{name} raises when it is called: {owner.refusal}", stops=False)
        return not missing

    def missing(self, name: str) -> tuple[str, Any]:
        """("", its value), or (the start of a full name that is not there, its owner)."""
        space, *parts = name.split(".")
        owner: Any = OURS[space]
        for part in parts:
            space = f"{space}.{part}"
            if space in self.given or not isinstance(owner, ModuleType | type):
                return "", None  # of an object, anything may come
            value = member(owner, part)
            if value is None:
                return space, owner
            owner = value[0]
        return "", owner

    # ---- what a name stands for

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self.assign(target, node.value)

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.scopes.bind(target.id, self.full_name(value) or self.truth(value))
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            self.visit(target)
            if not any(isinstance(part, ast.Starred) for part in (*target.elts, *value.elts)):
                for each, part in zip(target.elts, value.elts, strict=False):
                    self.assign(each, part)
        else:
            self.visit(target)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.visit_later([node.annotation], self.annotations_wait)
        if node.value is None:
            return
        self.visit(node.value)
        self.assign(node.target, node.value)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self.assign(node.target, node.value)

    def visit_with_variables(self, node: ast.expr) -> None:
        outside = self.scopes
        for number, generator in enumerate(node.generators):  # type: ignore[attr-defined]
            self.visit(generator.iter)  # the first of them is evaluated outside
            if not number:
                self.scopes = outside.inside(Scope())
            self.visit(generator.target)
            for condition in generator.ifs:
                self.visit(condition)
        for part in ("key", "value", "elt"):
            if hasattr(node, part):
                self.visit(getattr(node, part))
        self.scopes = outside

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_with_variables

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for now in [*node.decorator_list, *defaults_of(node.args)]:
            self.visit(now)
        arguments = [a for a in ast.walk(node.args) if isinstance(a, ast.arg)]
        for annotation in filter(None, [node.returns, *(a.annotation for a in arguments)]):
            self.visit_later([annotation], self.annotations_wait)
        self.scopes.bind(node.name, None)
        self.waiting.append((self.scopes.inside(scope_of(node)), node))

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for now in defaults_of(node.args):
            self.visit(now)
        self.waiting.append((self.scopes.inside(scope_of(node)), node))

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for now in [*node.decorator_list, *node.bases, *node.keywords]:
            self.visit(now)
        outside = self.scopes
        self.scopes = outside.inside(Scope(of_class=True))
        self.run(node.body)
        self.scopes = outside
        self.scopes.bind(node.name, None)

    # ---- what runs, and when

    def run(self, statements: Sequence[ast.AST]) -> None:
        """Visits statements in turn, up to one that leaves for want of a name."""
        for statement in statements:
            self.visit(statement)
            if isinstance(statement, ast.If) and self.truth(statement.test) is not None:
                taken = statement.body if self.truth(statement.test) else statement.orelse
                if taken and isinstance(taken[-1], LEAVES):
                    return

    def truth(self, test: ast.expr) -> bool | None:
        """Whether a test holds here, such as `hasattr(torch, "x")`; None if it cannot be told."""
        match test:
            case ast.UnaryOp(ast.Not(), inner):
                held = self.truth(inner)
                return None if held is None else not held
            case ast.BoolOp(op, parts):
                decides = isinstance(op, ast.Or)
                held_parts = {self.truth(part) for part in parts}
                if decides in held_parts:
                    return decides
                return None if None in held_parts else not decides
            case ast.Call(ast.Name("hasattr"), [owner, ast.Constant(str(part))]):
                return self.has(owner, part)
            case ast.Compare(ast.Constant(str(part)), [op], [ast.Call(ast.Name("dir"), [owner])]):
                held = self.has(owner, part)
                return held if held is None or isinstance(op, ast.In) else not held
            case ast.Call(
                ast.Name("getattr"), [owner, ast.Constant(str(part)), ast.Constant(None | False)]
            ):
                return False if self.has(owner, part) is False else None
            case ast.Compare(ast.Call() | ast.NamedExpr() as found, [op], [ast.Constant(None)]):
                return isinstance(op, ast.Is | ast.Eq) if self.truth(found) is False else None
            case ast.NamedExpr(_, inner):
                return self.truth(inner)
            case ast.Name(name):
                meaning = self.scopes.meaning(name)
                return meaning if isinstance(meaning, bool) else None
            case ast.Constant(bool(held)) if self.optional:  # `HAS_X = True` after an import
                return held
        return None

    def has(self, owner: ast.expr, attribute: str) -> bool | None:
        """Whether an expression has an attribute; None where it is nothing of PyTorch's."""
        name = self.full_name(owner)
        return not self.missing(f"{name}.{attribute}")[0] if name else None

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        held = self.truth(node.test)
        text = ast.unparse(node.test)
        if held is not False:
            self.run_later(node.body, "__name__" in text or "TYPE_CHECKING" in text)
        if held is not True:
            self.run(node.orelse)

    def visit_While(self, node: ast.While) -> None:
        self.visit(node.test)
        if self.truth(node.test) is not False:
            self.run(node.body)
        self.run(node.orelse)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.visit(node.test)
        held = self.truth(node.test)
        if held is not False:
            self.visit(node.body)
        if held is not True:
            self.visit(node.orelse)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for part in node.values:
            self.visit(part)
            if self.truth(part) is isinstance(node.op, ast.Or):
                return  # what follows is not evaluated

    def visit_Try(self, node: ast.Try) -> None:
        caught = {name for handler in node.handlers for name in names_caught(handler)}
        before = dict(self.scopes.chain[-1].meanings)
        count = sum(finding.optional for finding in self.found)
        optional = bool(caught & PRECISE)
        self.optional += optional
        self.run_later(node.body, bool(caught & (PRECISE | BROAD)))
        failed = sum(finding.optional for finding in self.found) > count
        if not failed:
            self.run(node.orelse)
            before = dict(self.scopes.chain[-1].meanings)
        for handler in node.handlers:
            self.visit_later([handler], True)
        if not failed:  # what the handlers set, nobody has set
            self.scopes.chain[-1].meanings |= before
        self.optional -= optional
        self.run(node.finalbody)

    visit_TryStar = visit_Try

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.type:
            self.visit(node.type)
        if node.name:
            self.scopes.bind(node.name, None)
        self.run(node.body)

    def visit_With(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            self.visit(item)
        caught = {name for item in node.items for name in names_suppressed(item.context_expr)}
        self.optional += bool(caught & PRECISE)
        self.run_later(node.body, bool(caught & (PRECISE | BROAD)))
        self.optional -= bool(caught & PRECISE)

    visit_AsyncWith = visit_With

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        self.visit(node.iter)
        self.visit(node.target)
        self.run(node.body)
        self.run(node.orelse)

    visit_AsyncFor = visit_For

    def visit_pattern(self, node: ast.AST) -> None:
        for name in bound_by(node):
            self.scopes.bind(name, None)
        self.generic_visit(node)

    visit_MatchAs = visit_MatchStar = visit_MatchMapping = visit_pattern

    def visit_later(self, nodes: Iterable[ast.AST], late: bool) -> None:
        self.late += late
        for node in nodes:
            self.visit(node)
        self.late -= late

    def run_later(self, statements: Sequence[ast.AST], late: bool) -> None:
        self.late += late
        self.run(statements)
        self.late -= late


def member(owner: Any, name: str) -> tuple[Any] | None:
    """(value,) of an attribute or a submodule; None without."""
    if isinstance(owner, ModuleType) and not hasattr(owner, name):
        path = f"{owner.__name__}.{name}"
        return (importlib.import_module(path),) if spec_of(path) is not None else None
    return (getattr(owner, name),) if hasattr(owner, name) else None


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
    if path.is_dir():
        return sorted(file for file in path.rglob("*.py") if file.is_file())
    return [path]


def check(path: Path) -> list[Finding]:
    """What one file lacks, by line. SyntaxError or ValueError, if it is no Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of escapes in its strings
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
    files, found, unread = [], [], 0
    for argument in arguments:
        try:
            files += files_of(Path(argument))
        except OSError as error:
            print(error, file=sys.stderr)
            unread += 1
    for file in files:
        try:
            found += check(file)
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
            print(f"{file}: cannot be read: {error or type(error).__name__}", file=sys.stderr)
            unread += 1
    if not files:
        return 2
    needed = [finding for finding in found if not finding.optional]
    stops = sum(finding.stops for finding in found)
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{len(files)} files: {len(needed)} places lack something, {stops} stop the import")
    return 2 if unread else int(stops > 0)
