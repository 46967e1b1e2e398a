"""Flags of a backend, set together, and put back."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any


def set_all(module: Any, given: dict[str, Any]) -> tuple:
    """Sets the flags that are not None; answers what all were before."""
    before = tuple(getattr(module, name) for name in given)
    for name, value in given.items():
        if value is not None:
            setattr(module, name, value)
    return before


@contextlib.contextmanager
def within(set_flags: Callable[..., tuple], *values: Any) -> Iterator[None]:
    """Within it a backend's flags have these values."""
    before = set_flags(*values)
    try:
        yield
    finally:
        set_flags(*before)
