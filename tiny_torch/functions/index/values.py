"""Numbers and tensors that are written into elements: what they may be."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tiny_torch import _core
from tiny_torch.base.devices import array_module
from tiny_torch.base.dtypes import HALVES, check_range
from tiny_torch.ops.common import fits
from tiny_torch.ops.index.brackets import is_expanded
from tiny_torch.tensor import Tensor

LIMIT = 2**63  # ints beyond have no place in a tensor


def warn_expanded(name: str, array: Any) -> None:
    """PyTorch's warning before a write to elements that share an address."""
    if is_expanded(array):
        warnings.warn(
            f"Use of {name} on expanded tensors is deprecated. Please clone() the tensor before "
            "performing this operation. This also applies to advanced indexing e.g. "
            "tensor[indices] = tensor",
            stacklevel=3,
        )


def plain_number(value: Any, x: Tensor) -> Any:
    if type(value) is not float and type(value) is not int:
        if isinstance(value, np.generic):
            value = value.item()
        if not isinstance(value, bool | int | float):
            raise TypeError(f"can't assign a {_core.type_name(value)} to a {x.type()}")
    return value


def checked_number(value: Any, x: Tensor) -> Any:
    """A number that x can hold; TypeError, OverflowError or RuntimeError if it cannot."""
    if fits(value, x):
        return value
    value = plain_number(value, x)
    if type(value) is int and not -LIMIT <= value < LIMIT:
        if not 0 < value < 2 * LIMIT:
            raise OverflowError("int too big to convert")
        value = float(value)
    check_range(value, x.array.dtype)
    return value


def single_value(name: str, value: Any, x: Tensor) -> Any:
    """A number that x can hold, or a 0-d tensor of one."""
    if not isinstance(value, Tensor):
        return checked_number(value, x)
    if value.array.ndim:
        raise RuntimeError(
            f"{name} only supports a 0-dimensional value tensor, but got tensor with "
            f"{value.array.ndim} dimension(s)."
        )
    if value.array.dtype is not x.array.dtype and value.array.device != "meta":
        check_range(value.array.item(), x.array.dtype)
    return value


def assigned_number(value: Any, x: Tensor) -> Any:
    """A number that x[index] takes: of a half dtype beyond its largest, too, as infinity."""
    if fits(value, x):
        return value
    value = plain_number(value, x)
    if type(value) is int and not -LIMIT <= value < LIMIT:
        raise ValueError("Overflow when unpacking long long")
    if x.array.dtype not in HALVES:
        check_range(value, x.array.dtype)
    return value


def as_values(value: Any, array: Any) -> Any:
    """What index_put_ writes: a tensor, or an array of one element in the target's dtype."""
    if isinstance(value, Tensor):
        return value
    return array_module(array.device).full((), value, array.dtype)


def check_mean(name: str, reduce: str, x: Tensor) -> None:
    if reduce == "mean" and x.array.dtype is _core.bool:
        raise NotImplementedError(f"{name}(reduce='mean') of bool")
