"""Writes tiny_torch/compat/torch_names.txt: PyTorch's public names of the modules that we have.

python docs/make_torch_names.py    # needs PyTorch; test_names.py says when
"""

import contextlib
import importlib
import inspect
import pkgutil
import sys
import textwrap
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "tiny_torch" / "compat" / "torch_names.txt"
HEAD = """# The public names of PyTorch {version}, and its submodules, by namespace.
# Written by docs/make_torch_names.py; compat/absent.py looks here whether a name is PyTorch's.
"""
IMPORTED = {"torch", "TYPE_CHECKING", "T", "F"}  # which modules of PyTorch's have by the way


def namespaces() -> dict[str, Any]:
    """PyTorch's modules at the paths of our public ones, and torch.Tensor."""
    import torch

    from tiny_torch.compat.paths import HOMES, NAMES, PATHS, ROOMS, full, public_path
    from tiny_torch.compat.refused import WHY

    for path, rooms in ROOMS.items():
        for room in rooms.split():
            importlib.import_module(f"{full(path)}.{room}")
    for path in (*HOMES, *[home for _, home, _ in PATHS], "compiler", "types"):
        with contextlib.suppress(ModuleNotFoundError):  # one that needs an optional package
            importlib.import_module(full(path))
    for name in (*NAMES, *WHY):
        importlib.import_module(name)
    found = {}
    ours = (["compat"], ["functions"], ["ops"])
    for name in sorted({public_path(name) for name in sys.modules}):
        parts = name.split(".")
        if parts[0] == "tiny_torch" and parts[1:2] not in ours and "._" not in name:
            path = ".".join(["torch", *parts[1:]])
            try:
                found[path] = importlib.import_module(path)
            except ImportError:  # a module of ours alone
                continue
    return {**found, "torch.Tensor": torch.Tensor}


def is_of_torch(value: Any) -> bool:
    home = value.__name__ if inspect.ismodule(value) else getattr(value, "__module__", None)
    return home is None or home.split(".")[0] == "torch"


def names_of(space: Any) -> list[str]:
    names = {n for n in dir(space) if not n.startswith("_")}
    if isinstance(inner := getattr(space, "m", None), ModuleType):
        # cudnn and mkldnn: an object with flags, around the module
        flags = {n for n in vars(type(space)) if not n.startswith("_")}
        return sorted(flags.union(names_of(inner)), key=lambda name: (name.lower(), name))
    if inspect.ismodule(space):
        names = {n for n in names - IMPORTED if is_of_torch(getattr(space, n))}
        names.update(getattr(space, "__all__", ()))
        names.update(module.name for module in pkgutil.iter_modules(getattr(space, "__path__", ())))
    return sorted(names, key=lambda name: (name.lower(), name))


def page() -> str:
    import torch

    warnings.simplefilter("ignore")
    lines = [HEAD.format(version=torch.__version__.split("+")[0])]
    for path, space in namespaces().items():
        text = textwrap.fill(" ".join(names_of(space)), 98, break_on_hyphens=False)
        lines += [path, textwrap.indent(text, "  ")]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
