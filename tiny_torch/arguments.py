"""Arguments that functions of every row take, checked."""

from __future__ import annotations

from typing import Any

from tiny_torch import _core


def check_int(function: str, argument: str, position: int, value: Any) -> int:
    if type(value) is int:
        return value
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(
            f"{function}(): argument '{argument}' (position {position}) must be int, not "
            f"{type(value).__name__}"
        )
    return value.__index__()


def counted_dim(function: str, dim: Any, ndim: int) -> int:
    """A dim of a method, counted from the front."""
    number = check_int(function, "dim", 1, dim)
    if ndim == 0:
        raise IndexError(f"Dimension specified as {number} but tensor has no dimensions")
    return _core.wrap_dim(number, ndim)
