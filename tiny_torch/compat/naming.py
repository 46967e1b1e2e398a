"""Under the runner, classes and functions say where PyTorch has them: `torch.nn.Linear.__module__`.

Packages look there what they were given: opt_einsum takes the first part of a tensor's
`type(x).__module__` for the library that computes, lightning's mode that leaves weights empty asks
whether a function is one of `torch.nn.init`. Outside of the runner both are ours.
"""

from __future__ import annotations

import sys
from types import FunctionType, ModuleType
from typing import Any

from tiny_torch import _core
from tiny_torch.compat.paths import public_name
from tiny_torch.compat.refused import names_of_pytorch

ours: dict[Any, str] = {}  # the modules of the classes and functions that were renamed
IN_C = {"Generator": "torch._C"}  # whose names PyTorch shows elsewhere
OF_CPP = ("torch", "torch.linalg", "torch.special")  # where functions are of C++ in PyTorch


def rename(module: ModuleType) -> None:
    """Renames those classes of a module that PyTorch has at the module's public path.

    Functions, too, where the module defines them, and they are of Python in PyTorch, and those that
    a pickled tensor names.
    """
    for function in set(vars(module).get("NAMED_IN_PICKLES", ())).difference(ours):
        ours[function] = function.__module__
        function.__module__ = public_name(function.__module__)
    known = names_of_pytorch()
    space = public_name(module.__name__)
    for name in known.get(space, ()):
        found = vars(module).get(name)
        if type(found) in (FunctionType, _core.Function):
            if found.__module__ != module.__name__ or space in OF_CPP:
                continue
        elif not isinstance(found, type) or not found.__module__.startswith("tiny_torch"):
            continue
        home = public_name(found.__module__)
        ours[found] = found.__module__
        found.__module__ = IN_C.get(name, home if home in known else space)


def rename_all() -> None:
    """Renames the classes of all modules that are loaded: of those deep down first."""
    loaded = [name for name in sys.modules if name.partition(".")[0] == "tiny_torch"]
    for name in sorted(loaded, key=lambda name: -name.count(".")):
        rename(sys.modules[name])
    # `typing.get_type_hints` looks there for what the annotations of a class mean. Not `torch`
    # itself: it may be what is being imported just now.
    for found, module in ours.items():
        home = sys.modules.get(module)
        if home is not None and found.__module__ == public_name(module) != "torch":
            sys.modules.setdefault(found.__module__, home)


def restore() -> None:
    """Gives the classes their names back."""
    while ours:
        found, module = ours.popitem()
        found.__module__ = module
