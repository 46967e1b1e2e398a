"""What asking for a name that is not here answers: its full name, where it was asked, what is near.

`install` gives the modules at PyTorch's paths a `__getattr__`, which Python calls for names that
a module does not have. `_core.Unlisted`, where Python looks last for a tensor's attribute, gets a
descriptor for each of PyTorch's names that Tensor lacks: dir(Tensor) does not list them.
"""

from __future__ import annotations

import difflib
import dis
import functools
import importlib
import os
import re
import sys
from collections.abc import Callable
from fnmatch import fnmatchcase
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import FrameType, ModuleType
from typing import Any

from tiny_torch import _core
from tiny_torch.compat import paths
from tiny_torch.compat.refused import names_of_pytorch
from tiny_torch.tensor import Tensor

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
IMPORT_FROM = dis.opmap["IMPORT_FROM"]

# PyTorch's names that may come (LATER), and those that are not meant to be here (OUTSIDE).
LATER = {"torch.distributed": ("*",)}
OUTSIDE = {
    "torch": ("sparse*", "quantize*", "package"),
    "torch.export": ("*",),
    "torch.onnx": ("*",),
    "torch.nn": ("quantized", "quantizable", "qat"),
    "torch.Tensor": (
        "cdouble", "cfloat", "chalf", "stft", "istft", "*sparse*", "*_indices", "to_mkldnn",
        "dequantize", "int_repr", "q_*", "qscheme",
    ),
}  # fmt: skip


ASKED = {module for module, _ in paths.WHERE}


def matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def user_line(frame: FrameType | None) -> str:
    """The file and line outside of this package that a frame was called from."""
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(PACKAGE) and not file.startswith("<frozen"):
            return f"{file}:{frame.f_lineno}"
        frame = frame.f_back
    return "?"


def message(owner: Any, namespace: str, name: str, frame: FrameType | None) -> str:
    """What to say of a name that a module or class of ours lacks: is it PyTorch's, what is near?"""
    text = f"{namespace}.{name} is not in tiny_torch ({user_line(frame)})"
    if matches(name, LATER.get(namespace, ())):
        return text + ": it may come later"
    if matches(name, OUTSIDE.get(namespace, ())):
        return text + ": it is outside of what tiny_torch covers"
    theirs = names_of_pytorch().get(namespace, frozenset())
    if name in theirs:
        return text + "; PyTorch has it"
    if name.startswith("_"):  # of these, the list has modules only
        return text
    if theirs:
        text += ", nor in PyTorch"
    near = difflib.get_close_matches(name, [n for n in theirs or dir(owner) if n[0] != "_"], n=1)
    if not near:
        return text
    text += f"; did you mean {namespace}.{near[0]}?"
    return text if hasattr(owner, near[0]) else text[:-1] + ", which is not in tiny_torch either?"


def unknown_text(name: str) -> str:
    """What to say of a full name, such as "torch.nn.nosuch", that is not here."""
    short = re.sub(r"^F\.", "nn.functional.", re.sub(r"^(tiny_)?torch\.", "", name))
    space, _, last = short.rpartition(".")
    path = f"tiny_torch.{space}".rstrip(".")
    try:
        owner = Tensor if path == "tiny_torch.Tensor" else importlib.import_module(path)
    except ModuleNotFoundError:
        return unknown_text(space)
    return message(owner, paths.public_name(path), last, None).replace(" (?)", "")


def error(owner: Any, namespace: str, name: str, frame: FrameType | None) -> AttributeError:
    # Python adds name= and obj= where both are missing, and then guesses from dir(obj) by itself.
    return AttributeError(message(owner, namespace, name, frame), name=name)


def getattr_of(module: ModuleType) -> Any:
    own = module.__name__  # which run.py changes
    namespace = paths.public_name(own)

    def __getattr__(name: str) -> Any:
        found = paths.find(own, name)
        if found is not None:
            return found
        if name.startswith("__"):  # Python itself asks for these
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
        caller = sys._getframe(1)
        # `from torch import name` would hide an AttributeError's text.
        if caller.f_code.co_code[caller.f_lasti] == IMPORT_FROM:
            raise ImportError(message(module, namespace, name, caller), name=module.__name__)
        raise error(module, namespace, name, caller)

    return __getattr__


class Absent:
    """An attribute that PyTorch's tensors have and ours lack: asking for it says so.

    Unlike a `__getattr__` of the class it costs nothing where attributes are found.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        raise error(owner, "torch.Tensor", self.name, sys._getframe(1))


def is_public(module: str) -> bool:
    return module.split(".")[0] == "tiny_torch" and "._" not in module and ".ops" not in module


def is_asked(module: str) -> bool:
    """True if a module says what is missing: private ones, such as torch._tensor, among them."""
    return is_public(module) or module in ASKED


class Finder(MetaPathFinder):
    """Lets the public modules that are loaded later, too, say what is missing."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if not is_asked(fullname):
            return None
        later = sys.meta_path[sys.meta_path.index(self) + 1 :]
        spec = next(filter(None, (f.find_spec(fullname, path, target) for f in later)), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module
            spec.loader.exec_module = functools.partial(load_and_answer, execute)  # type: ignore[method-assign]
        return spec


def load_and_answer(execute: Callable[[ModuleType], None], module: ModuleType) -> None:
    execute(module)
    for follow in FOLLOWING:
        follow(module)


def answer(module: ModuleType) -> None:
    """Has a module list what is loaded when it is asked for, and say what is missing."""
    vars(module).setdefault("__getattr__", getattr_of(module))
    vars(module).setdefault(
        "__dir__", lambda: sorted({*vars(module), *paths.names(module.__name__)})
    )


FOLLOWING = [answer]  # what is done with each public module that is loaded later


def install() -> None:
    """Lets the public modules, and Tensor, say what is missing."""
    sys.meta_path.insert(0, Finder())
    for name in names_of_pytorch()["torch.Tensor"].difference(dir(Tensor), vars(_core.Unlisted)):
        setattr(_core.Unlisted, name, Absent(name))
    for name, module in list(sys.modules.items()):
        if is_asked(name):
            answer(module)
