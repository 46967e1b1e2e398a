"""`load(weights_only=False)`: Python's own unpickler, which runs whatever the file says.

A class or function of PyTorch's becomes ours of that name; every other is imported, as pickle does.
"""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tiny_torch.exchange.rebuild import Rebuilder, known_global


def load_pickle(data: bytes, rebuilder: Rebuilder, pickle_module: Any, arguments: dict) -> Any:
    """The object of a pickle whose storages `rebuilder` has; `arguments` are the Unpickler's."""

    class Unpickler(pickle_module.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            if module.partition(".")[0] == "torch":
                return of_torch(module, name)
            return super().find_class(module, name)

        def persistent_load(self, saved_id: Any) -> Any:
            return rebuilder.load_storage(saved_id)

    return Unpickler(io.BytesIO(data), **{"encoding": "utf-8", **arguments}).load()


def of_torch(module: str, name: str) -> Any:
    """What stands here for a global of PyTorch's. Raises AttributeError where there is nothing."""
    known = known_global(f"{module}.{name}")
    if known is not None:
        return known.value
    # A class may stand in another file than PyTorch's: then a package above exports it.
    path = module.split(".")[1:]
    for end in range(len(path), -1, -1):
        home = import_module(".".join(["tiny_torch", *path[:end]]))
        value = home and attribute(home, name)
        if value is not None:
            return value
    raise AttributeError(
        f"[load] Can't get attribute {name!r} of module {module!r}: tiny_torch lacks it"
    )


def import_module(name: str) -> ModuleType | None:
    """The module; None where there is none of that name."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and name.startswith(error.name):
            return None
        raise


def attribute(home: Any, name: str) -> Callable[..., Any] | None:
    """What a dotted name names there; None if nothing."""
    for part in name.split("."):
        home = getattr(home, part, None)
    return home
