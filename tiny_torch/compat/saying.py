"""How stand-ins speak: once for what changes nothing but speed, at each call for what is absent."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

said: set[str] = set()


def say_once(name: str, text: str, stacklevel: int = 3) -> None:
    """Warns the caller's caller, the first time in this process that `name` is the subject."""
    if name not in said:
        said.add(name)
        warnings.warn(f"{name} {text}", stacklevel=stacklevel)


def refusing(name: str, why: str) -> Callable[..., Any]:
    """A function of that full name that raises NotImplementedError, whatever its arguments."""

    def refuse(*arguments: Any, **keywords: Any) -> Any:
        raise NotImplementedError(f"{name} is not in tiny_torch: {why}")

    refuse.__name__ = refuse.__qualname__ = name.rpartition(".")[2]
    refuse.__doc__ = f"Raises NotImplementedError: {why}."
    refuse.refusal = why  # type: ignore[attr-defined]  # which compat/check.py reads
    return refuse


def refusing_class(name: str, why: str) -> type:
    """A class that may be named and derived from; making one raises NotImplementedError."""
    short = name.rpartition(".")[2]
    doc = f"Making one raises NotImplementedError: {why}."
    members = {"__init__": refusing(name, why), "__doc__": doc, "refusal": why}
    members["__class_getitem__"] = classmethod(lambda cls, _: cls)  # annotations: Future[int]
    return type(short, (), members)
