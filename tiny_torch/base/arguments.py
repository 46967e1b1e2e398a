"""Arguments that functions of every row take: `check_*` raises, `as_*` converts."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tiny_torch import _core

are_ints = _core.are_ints  # (values): whether it is a tuple of ints


def kind_of(value: Any) -> str:
    """A value's type, as PyTorch's parser names it."""
    return "torch.dtype" if isinstance(value, _core.dtype) else _core.type_name(value)


def place(position: int | None) -> str:
    return "" if position is None else f" (position {position})"


def wrong_kind(
    function: str, argument: str, kind: str, value: Any, position: int | None = None
) -> TypeError:
    """What PyTorch's parser raises for an argument that is of no such kind."""
    where = f"{function}(): argument '{argument}'" + place(position)
    return TypeError(f"{where} must be {kind}, not {kind_of(value)}")


def is_int(value: Any) -> bool:
    """Whether PyTorch takes it for an int: all that counts, but no bool."""
    if type(value) is int:
        return True
    if isinstance(value, bool):
        return False
    try:
        operator.index(value)
    except (TypeError, ValueError):
        return False
    return True


def as_int(function: str, argument: str, position: int | None, value: Any) -> int:
    if type(value) is not int:
        if not is_int(value):
            raise wrong_kind(function, argument, "int", value, position)
        value = value.__index__()
    if not -(2**63) <= value < 2**63:
        raise ValueError("Overflow when unpacking long long")
    return value


def as_ints(function: str, argument: str, position: int | None, values: Any) -> tuple[int, ...]:
    """Sizes or dims, in a tuple or list, as a tuple."""
    if are_ints(values):
        return values
    if not isinstance(values, (tuple, list)):
        raise wrong_kind(function, argument, "tuple of ints", values, position)
    where = f"{function}(): argument '{argument}'" + place(position)
    for i, value in enumerate(values):
        if not is_int(value):
            raise TypeError(
                f"{where} must be tuple of ints, but found element of type {type(value).__name__} "
                f"at pos {i}"
            )
        if not -(2**63) <= value.__index__() < 2**63:
            raise TypeError(
                f"{where} failed to unpack the object at pos {i + 1} with error "
                '"Overflow when unpacking long long"'
            )
    return tuple([value.__index__() for value in values])


def is_tensor(value: Any) -> bool:
    return isinstance(value, _core.TensorBase)


def is_scalar(tensor: Any) -> bool:
    """Whether a tensor may stand for a number."""
    return tensor.ndim == 0 and not tensor.requires_grad


def as_float(function: str, argument: str, position: int | None, value: Any) -> float:
    if type(value) is float:
        return value
    if not hasattr(type(value), "__float__") or (is_tensor(value) and not is_scalar(value)):
        raise wrong_kind(function, argument, "float", value, position)
    return float(value)


def as_number(function: str, argument: str, position: int | None, value: Any) -> Any:
    """Python's number, NumPy's, or a 0-d tensor's; OverflowError beyond 64 bits."""
    if type(value) is float or (type(value) is int and -(2**63) <= value < 2**64):
        return value
    if is_tensor(value) and is_scalar(value):
        value = value.item()
    if not isinstance(value, bool | int | float | np.number | np.bool_):
        raise wrong_kind(function, argument, "Number", value, position)
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise OverflowError("int too big to convert")
    return value


def check_bool(function: str, argument: str, position: int | None, value: Any) -> None:
    if value is not True and value is not False:
        raise wrong_kind(function, argument, "bool", value, position)


def counted_dim(function: str, dim: Any, ndim: int) -> int:
    """A dim of a method, counted from the front."""
    number = as_int(function, "dim", 1, dim)
    if ndim == 0:
        raise IndexError(f"Dimension specified as {number} but tensor has no dimensions")
    return _core.wrap_dim(number, ndim)
