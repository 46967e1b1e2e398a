"""Writes the stubs that type checkers and editors read: of what is not plain Python in its place.

python docs/make_stubs.py    # after an edit of public names; tests/compat/test_types.py says when

tiny_torch/_core.pyi is the C++ module's. tiny_torch/functions/_published.pyi tells what
functions/methods.py attaches to Tensor, and the names that __init__.py adds in a loop. Beside a
module of layers, its classes with the constructors that `Layer` makes of functions.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import sys
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import tiny_torch
from tiny_torch import Tensor, _core, nn
from tiny_torch.functions import methods

PACKAGE = Path(tiny_torch.__file__).parent
HEAD = '"""{what} Written by docs/make_stubs.py."""\n'
# What C++ functions answer, where Python relies on it; their arguments C++ checks itself.
ANSWERS = {
    "wrap": "Tensor", "default_generator": "Generator",
    **dict.fromkeys(("get_default_dtype", "promote_types", "result_type"), "dtype"),
    **dict.fromkeys(("can_cast", "fits", "is_grad_enabled", "is_pair", "is_result_shape",
                     "requires_grad"), "_bool"),
    **dict.fromkeys(("get_num_threads", "next_stamp", "wrap_dim"), "int"),
    **dict.fromkeys(("check_tensor", "check_tensors", "require_float",
                     "set_default_dtype"), "None"),
    "type_name": "str",
}  # fmt: skip
OPERANDS = {"unary": 0, "reduce": 0, "binary": 1, "ternary": 2}
FIELDS = {
    "dtype": {"is_floating_point": "_bool", "is_complex": "_bool", "is_signed": "_bool",
              "itemsize": "int", "name": "str"},
    "NDArray": {"dtype": "_dtype", "device": "str", "shape": "tuple[int, ...]", "offset": "int",
                "strides": "tuple[int, ...]", "ndim": "int", "size": "int", "itemsize": "int"},
    "TensorBase": {"shape": "Size", "ndim": "int", "dtype": "_dtype", "device": "_device"},
}  # fmt: skip
SLICED = """\
    @overload
    def __getitem__(self, index: SupportsIndex, /) -> int: ...
    @overload
    def __getitem__(self, index: slice, /) -> Size: ..."""


# ------------------------------------------------------------------------------- the C++ module


def core() -> Iterator[str]:
    yield HEAD.format(what="The C++ module, by its own account.")
    yield "from builtins import bool as _bool  # `bool` is a dtype here"
    yield "from typing import Any, SupportsIndex, overload\n"
    yield "from tiny_torch.base.devices import device as _device"
    yield "from tiny_torch.base.size import Size"
    yield "from tiny_torch.tensor import Tensor\n"
    yield "_dtype = dtype  # where a class has a field of that name"
    for name, value in sorted(vars(_core).items()):
        if isinstance(value, type):
            yield from core_class(name, value)
        elif name.startswith("__"):
            continue
        elif callable(value):
            yield f"def {name}(*args: Any, **kwargs: Any) -> {ANSWERS.get(name, 'Any')}: ..."
        else:
            kind = type(value).__name__
            yield f"{name}: {'_bool' if kind == 'bool' else kind}"


def core_class(name: str, kind: type) -> Iterator[str]:
    base = "(tuple[int, ...])" if issubclass(kind, tuple) else ""
    if kind.__base__ in vars(_core).values():
        base = f"({kind.__base__.__name__})"
    yield f"\nclass {name}{base}:"
    yield "    def __init__(self, *args: Any, **kwargs: Any) -> None: ..."
    records = {r[1]: OPERANDS[r[0]] for r in _core.op_records() if r[0] in OPERANDS}
    for member in sorted(name for name in vars(kind) if hasattr(kind, name)):
        value = vars(kind)[member]
        if member in vars(object) or member.startswith(("__module", "__vectorcall", "_pybind11")):
            continue
        elif issubclass(kind, tuple) and member == "__getitem__":
            yield SLICED
        elif member == "__exit__":  # which lets every exception pass
            yield f"    def {member}(self, *exception: Any) -> None: ..."
        elif member.startswith("__") and callable(value):
            yield f"    def {member}(self, *args: Any) -> Any: ..."
        elif member in FIELDS.get(name, {}):
            yield f"    @property\n    def {member}(self) -> {FIELDS[name][member]}: ..."
        elif inspect.isdatadescriptor(value):
            yield f"    {member}: Any"
        elif name == "NDArray" and member in records:
            operands = "".join([f"{x}: Any, " for x in ("y", "z")[: records[member]]])
            yield f"    def {member}(self, {operands}*args: Any) -> NDArray: ..."
        else:
            yield f"    def {member}(self, *args: Any, **kwargs: Any) -> Any: ..."


# --------------------------------------------------------------------------------- Python's names


class Published:
    """The lines of _published.pyi, and what they have to import."""

    def __init__(self) -> None:
        self.imports: set[str] = set()
        # Annotations cannot say `bool` where a function or a dtype has that name.
        self.hidden = {n for n in vars(tiny_torch) if hasattr(builtins, n)} | {"type"}

    def page(self) -> str:
        in_class = self.methods()
        functions = self.functions()
        lines = [
            HEAD.format(what="What functions/methods.py attaches to Tensor, and torch's names.")
        ]
        lines += sorted(self.imports)
        lines += ["\nclass TensorMethods(TensorBase):", *[f"    {line}" for line in in_class], ""]
        return "\n".join([*lines, *functions]) + "\n"

    def methods(self) -> list[str]:
        self.imports.add("from tiny_torch._core import TensorBase")
        return [
            line
            for name, function in sorted(methods.METHODS.items())
            for line in self.definition(name, function, "self")
        ]

    def functions(self) -> list[str]:
        lines = []
        for name, value in sorted(vars(tiny_torch).items()):
            if name.startswith("_") or name in named_in(tiny_torch) or inspect.ismodule(value):
                continue
            original = inspect.unwrap(value) if callable(value) else value
            home = None
            if not isinstance(value, _core.dtype):
                home = home_of(original, getattr(original, "__name__", name), name)
            if home is not None and home[1] == name:
                self.imports.add(f"from {home[0]} import {name} as {name}")
            elif home is not None:  # "import x as y" shows y to nobody
                self.imports.add(f"from {home[0]} import {home[1]} as _{home[1]}")
                lines.append(f"{name} = _{home[1]}")
            elif inspect.isroutine(original):
                twin = vars(Tensor).get(name) if is_forwarding(original) else None
                lines += self.definition(name, *((twin, "input: Any") if twin else (original,)))
            else:
                lines.append(f"{name}: {self.kind(type(original))}")
        return lines

    def kind(self, kind: type) -> str:
        module, name = home_of(kind, kind.__name__) or ("tiny_torch._core", kind.__name__)
        self.imports.add(f"from {module} import {name} as _{name}")
        return f"_{name}"

    def definition(self, name: str, function: Any, first: str = "") -> list[str]:
        """`def name(...) -> ...: ...`; as a method if `first` is the name of its first argument."""
        head = []
        if isinstance(function, property):
            if function.fset is not None:
                return [f"{name}: {self.answer(function.fget)}"]
            head, function = ["@property"], function.fget
        function = inspect.unwrap(function)
        signature = inspect.signature(function)
        parameters, seen_star = [], False
        for i, p in enumerate(signature.parameters.values()):
            if p.kind is p.KEYWORD_ONLY and not seen_star:
                parameters.append("*")
            seen_star |= p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
            if first and i == 0:
                parameters.append(first)
                continue
            if first and p.name == "out":
                continue
            star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
            text = f"{star}{p.name}: {self.annotation(p.annotation, function)}"
            parameters.append(text if p.default is p.empty else f"{text} = {default(p.default)}")
        if parameters[-1:] == ["*"]:
            parameters.pop()
        answer = self.annotation(signature.return_annotation, function)
        ignore = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
        return [*head, f"def {name}({', '.join(parameters)}) -> {answer}: ...{ignore}"]

    def answer(self, getter: Callable) -> str:
        if inspect.isbuiltin(getter):
            return ANSWERS[getter.__name__]
        return self.annotation(inspect.signature(getter).return_annotation, getter)

    def annotation(self, annotation: Any, function: Callable) -> str:
        if annotation is inspect.Parameter.empty:
            annotation = "Any"
        elif not isinstance(annotation, str):
            annotation = inspect.formatannotation(annotation)
        tree = ast.parse(annotation, mode="eval")
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                node.id = self.imported(node.id, function)
        return ast.unparse(tree)

    def imported(self, name: str, function: Callable) -> str:
        """The name by which an annotation's name is known in the stub, which imports it."""
        value = function.__globals__.get(name, getattr(builtins, name, None))
        if value is getattr(builtins, name, self):
            if name not in self.hidden:
                return name
            self.imports.add(f"from builtins import {name} as _{name}")
            return f"_{name}"
        home = home_of(value, name)
        if home is None:
            module = typing if hasattr(typing, name) else sys.modules[value.__module__]
            self.imports.add(f"from {module.__name__} import {name}")
            return name
        self.imports.add(f"from {home[0]} import {home[1]} as _{home[1]}")
        return f"_{home[1]}"

    def layers(self, module: ModuleType) -> str:
        """The classes of a module of nn, those that `Layer` makes among them."""
        text = []
        for kind in vars(module).values():
            if not inspect.isclass(kind) or kind.__module__ != module.__name__:
                continue
            bases = [self.kind(base) if base.__module__ != kind.__module__ else base.__name__
                     for base in kind.__bases__]  # fmt: skip
            text.append(f"\nclass {kind.__name__}({', '.join(bases)}):")
            members = {n: m for n, m in vars(kind).items() if inspect.isfunction(m)}
            text += [f"    {line}" for name, member in members.items()
                     for line in self.definition(name, member, "self")] or ["    ..."]  # fmt: skip
        head = HEAD.format(what=f"Layers of {Path(module.__file__ or '').name}.")
        return "\n".join([head, *sorted(self.imports), f"\n__all__ = {module.__all__}", *text, ""])


def default(value: Any) -> str:
    plain = value is None or isinstance(value, bool | int | str) or value in (0.5, 1.0)
    return repr(value) if plain else "..."


def is_forwarding(function: Callable) -> bool:
    """Whether it takes whatever the method of its name takes."""
    return list(inspect.signature(function).parameters) == ["input", "args", "kwargs"]


@functools.cache
def named_in(module: ModuleType) -> frozenset[str]:
    """The names that a type checker sees in a module of Python."""
    names = set()
    for node in ast.parse(Path(module.__file__ or "").read_text()).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
    return frozenset(names | defined_in(module))


@functools.cache
def defined_in(module: ModuleType) -> frozenset[str]:
    names = set()
    for node in ast.parse(Path(module.__file__ or "").read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return frozenset(names)


def home_of(value: Any, *names: str) -> tuple[str, str] | None:
    """(module, name) of the package where a value is defined under one of the names."""
    for path, module in sorted(sys.modules.items()):
        if (
            not path.startswith("tiny_torch.") or path != module.__name__
        ):  # an alias of another path
            continue
        if str(getattr(module, "__file__", "")).endswith(".py"):
            for name in names:
                if vars(module).get(name) is value and name in defined_in(module):
                    return path, name
    return None


def pages() -> dict[Path, str]:
    made = {sys.modules[kind.__module__] for kind in vars(nn).values() if is_made(kind)}
    return {
        PACKAGE / "_core.pyi": "\n".join(core()) + "\n",
        PACKAGE / "functions" / "_published.pyi": Published().page(),
        **{Path(m.__file__ or "").with_suffix(".pyi"): Published().layers(m) for m in made},
    }


def is_made(kind: Any) -> bool:
    """True if `Layer` made the constructor of a class."""
    return (
        isinstance(kind, type)
        and " for " in vars(kind).get("__init__", is_made).__code__.co_filename
    )


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text)
