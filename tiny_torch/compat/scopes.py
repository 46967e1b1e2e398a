"""What the names of a file stand for, scope by scope, as `check` reads it: no code runs.

A name stands for a full name of PyTorch's, such as ``F`` for "torch.nn.functional"; for ELSEWHERE,
a package that is none of ours; for a bool, whether something is there; or for None, what is not
known: an argument, a loop's variable, a class of the file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Final

ELSEWHERE: Final = ""
Meaning = str | bool | None
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Scope:
    """The names of a module, class, function or comprehension."""

    def __init__(self, names: Iterable[str] = (), of_class: bool = False) -> None:
        self.meanings: dict[str, Meaning] = dict.fromkeys(names)
        self.of_class = of_class
        self.outer: dict[str, type] = {}  # name -> ast.Global or ast.Nonlocal


class Scopes:
    """The scopes around a statement, from the module inwards."""

    def __init__(self, chain: Iterable[Scope]) -> None:
        self.chain = list(chain)

    def meaning(self, name: str) -> Meaning:
        for scope in self._readable():
            if name in scope.meanings and name not in scope.outer:
                return scope.meanings[name]
        return None

    def _readable(self) -> Iterator[Scope]:
        """Innermost first; a function does not see the names of the class that it is in."""
        for scope in reversed(self.chain):
            if scope is self.chain[-1] or not scope.of_class:
                yield scope

    def bind(self, name: str, meaning: Meaning) -> None:
        scope = self.chain[-1]
        if scope.outer.get(name) is ast.Global:
            scope = self.chain[0]
        elif name in scope.outer:
            known = (s for s in list(self._readable())[1:] if name in s.meanings)
            scope = next(known, scope)
        scope.meanings[name] = meaning

    def inside(self, scope: Scope) -> Scopes:
        """The scopes around what stands in a new scope here."""
        return Scopes([*reversed([*self._readable()]), scope])


def scope_of(node: ast.AST) -> Scope:
    """A function's scope: what its body binds anywhere is its own from the start, and not known."""
    arguments = getattr(node, "args", None)
    names = [a.arg for a in ast.walk(arguments) if isinstance(a, ast.arg)] if arguments else []
    body = getattr(node, "body", [])
    scope = Scope()
    for part in body if isinstance(body, list) else [body]:
        for inner in _same_scope(part):
            names += bound_by(inner)
            if isinstance(inner, ast.Global | ast.Nonlocal):
                scope.outer |= dict.fromkeys(inner.names, type(inner))
    scope.meanings = {name: None for name in names if name not in scope.outer}
    return scope


def _same_scope(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a statement without those in a scope of their own."""
    yield node
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(node, COMPREHENSIONS):  # its variables are its own, but `:=` binds outside
            yield from (n for n in ast.walk(child) if isinstance(n, ast.NamedExpr))
        else:
            yield from _same_scope(child)


def bound_by(node: ast.AST) -> list[str]:
    """The names that a node itself binds."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        return [node.id]
    if isinstance(node, ast.NamedExpr):
        return [node.target.id]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [alias.asname or alias.name.partition(".")[0] for alias in node.names]
    if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
        return [node.name] if node.name else []
    if isinstance(node, ast.MatchMapping):
        return [node.rest] if node.rest else []
    return []


def defaults_of(arguments: ast.arguments) -> list[ast.expr]:
    return [*arguments.defaults, *filter(None, arguments.kw_defaults)]


def names_caught(handler: ast.ExceptHandler) -> set[str]:
    """The exceptions after which a file goes on: none, if the handler raises again."""
    last = handler.body[-1]
    ends = isinstance(last, ast.Expr) and ast.unparse(last).startswith(("sys.exit(", "exit("))
    if ends or isinstance(last, ast.Raise):
        return set()
    return last_names(handler.type) if handler.type else {"BaseException"}


def names_suppressed(context: ast.expr) -> set[str]:
    """The exceptions of `contextlib.suppress(...)`."""
    match context:
        case ast.Call(ast.Name("suppress") | ast.Attribute(attr="suppress"), kinds):
            return {name for kind in kinds for name in last_names(kind)}
    return set()


def last_names(kinds: ast.expr) -> set[str]:
    parts = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
    return {ast.unparse(part).rpartition(".")[2] for part in parts}


def methods_of(tree: ast.Module) -> set[str]:
    """Attributes that a file's own objects have, or for which it asks by `hasattr`."""
    names = set()
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(body=body):
                names |= {part.name for part in body if hasattr(part, "name")}
            case ast.Attribute(attr=attribute, ctx=ast.Store()):
                names.add(attribute)
            case ast.Call(ast.Name("hasattr" | "getattr"), [_, ast.Constant(str(attribute)), *_]):
                names.add(attribute)
    return names
