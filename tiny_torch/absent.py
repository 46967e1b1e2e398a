"""What asking for a name that is not here answers: its full name, where it was asked, what is near.

`install` gives the modules at PyTorch's paths a `__getattr__`, which Python calls for names that
a module does not have.
"""

from __future__ import annotations

import difflib
import dis
import os
import sys
from types import FrameType, ModuleType
from typing import Any

PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
IMPORT_FROM = dis.opmap["IMPORT_FROM"]

# Of PyTorch's names: what may come, and what is not meant to be here.
LATER = {
    "torch": (
        "compile", "autocast", "amp", "jit", "vmap", "profiler", "distributed", "multiprocessing",
    ),
    "torch.cuda": ("amp", "Event", "Stream", "current_stream", "stream", "memory_*",
        "max_memory_*"),
    "torch.func": ("vmap",),
    "torch.nn": ("DataParallel", "parallel"),
    "torch.utils": ("checkpoint",),
}  # fmt: skip
OUTSIDE = {
    "torch": (
        "complex*", "view_as_complex", "view_as_real", "polar", "real", "imag", "conj", "sparse*",
        "quantize*", "quantization", "ao", "fft", "stft", "istft", "fx", "onnx", "hub", "package",
        "export",
    ),
    "torch.utils": ("tensorboard",),
    "torch.nn": ("quantized", "quantizable", "qat"),
}  # fmt: skip


def public_name(module: str) -> str:
    """PyTorch's name of a module of ours."""
    return "torch" + module.removeprefix("tiny_torch")


def matches(name: str, names: tuple[str, ...]) -> bool:
    return any(name == n or (n.endswith("*") and name.startswith(n[:-1])) for n in names)


def place(frame: FrameType | None) -> str:
    """The file and line outside of this package that a frame was called from."""
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(PACKAGE) and not file.startswith("<frozen"):
            return f"{file}:{frame.f_lineno}"
        frame = frame.f_back
    return "?"


def message(module: str, name: str, names: list[str], frame: FrameType | None) -> str:
    """What to say of a name that a module of ours, which has `names`, does not have."""
    namespace = public_name(module)
    text = f"{namespace}.{name} is not in tiny_torch ({place(frame)})"
    if matches(name, LATER.get(namespace, ())):
        return text + ": it may come later"
    if matches(name, OUTSIDE.get(namespace, ())):
        return text + ": it is outside of what tiny_torch covers"
    near = difflib.get_close_matches(name, [n for n in names if not n.startswith("_")], n=1)
    return text + (f"; did you mean {namespace}.{near[0]}?" if near else "")


def getattr_of(module: ModuleType) -> Any:
    def __getattr__(name: str) -> Any:
        if name.startswith("__"):  # Python itself asks for these
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
        caller = sys._getframe(1)
        text = message(module.__name__, name, dir(module), caller)
        # `from torch import name` would hide an AttributeError's text.
        if caller.f_code.co_code[caller.f_lasti] == IMPORT_FROM:
            raise ImportError(text, name=module.__name__)
        raise AttributeError(text)  # without name=, of which Python would say the same again

    return __getattr__


def install() -> None:
    """Gives the public modules that are loaded a `__getattr__` that says what is missing."""
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == "tiny_torch" and "._" not in name and ".ops" not in name:
            vars(module).setdefault("__getattr__", getattr_of(module))
