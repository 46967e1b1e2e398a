"""Tensors from numbers, nested sequences and NumPy arrays."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tiny_torch import _core
from tiny_torch.creation import (
    as_sizes,
    check_dtype,
    check_options,
    dtype_of_number,
    finish,
    int64,
)
from tiny_torch.devices import array_module, to_device
from tiny_torch.dtypes import HALVES, check_elements
from tiny_torch.tensor import Tensor, wrap


def tensor(
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A copy of data: numbers, nested sequences, NumPy arrays or tensors.

    Ints become int64, floats the default dtype, bools bool. Raises ValueError for ragged
    sequences, TypeError for what is no number.
    https://pytorch.org/docs/stable/generated/torch.tensor.html

    >>> import tiny_torch as torch
    >>> torch.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    check_options("tensor", None, pin_memory)
    check_dtype("tensor", dtype)
    if isinstance(data, Tensor):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use "
            "sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than "
            "torch.tensor(sourceTensor).",
            UserWarning,
            stacklevel=2,
        )
        array = data.array.clone() if dtype is None else data.array.astype(dtype)
    else:
        array = from_data(data, dtype)
        if isinstance(data, np.ndarray | np.generic):
            array = array.clone()
    if device is not None:
        array = to_device(array, device)
    return finish(array, requires_grad)


def from_data(data: Any, dtype: Any):
    """An NDArray of numbers, nested sequences or NumPy data; it may share NumPy's memory."""
    if isinstance(data, np.ndarray | np.generic):
        array = _core.from_numpy(
            np.array(data) if data.ndim == 0 or not data.flags.writeable else data
        )
        return array if dtype is None or array.dtype is dtype else array.astype(dtype)
    if isinstance(data, bool | int | float):
        if dtype is not None:
            check_elements(np.array(data), dtype)
        return _core.full((), data, dtype or dtype_of_number(data))
    if hasattr(data, "__array__") and not isinstance(data, list | tuple):
        return from_data(np.asarray(data), dtype)
    if not hasattr(data, "__len__") or isinstance(data, str | bytes | dict | set):
        raise TypeError(f"Could not infer dtype of {type(data).__name__}")
    leaves: list = []
    shape = collect(data, leaves, 0)
    kinds = set(map(type, leaves))
    if not kinds <= {bool, int, float}:
        strange = next(
            (leaf for leaf in leaves if not isinstance(leaf, bool | int | float | np.generic)), None
        )
        if strange is not None:
            name = type(strange).__name__
            raise TypeError(
                f"new(): invalid data type '{name}'"
                if isinstance(strange, str)
                else f"Could not infer dtype of {name}"
            )
    if dtype is None:
        if any(isinstance(leaf, float | np.floating) for leaf in leaves) or not leaves:
            dtype = _core.get_default_dtype()
        elif kinds <= {bool, np.bool_}:
            dtype = _core.bool
        else:
            dtype = int64
    try:
        flat = np.array(leaves, dtype=None if dtype.is_floating_point or leaves else dtype.name)
        if flat.dtype.kind == "O":
            raise OverflowError
    except OverflowError:
        raise RuntimeError("Overflow when unpacking long long") from None
    check_elements(flat, dtype)
    with np.errstate(over="ignore"):  # float32 has no larger number than inf
        flat = flat.astype("float32" if dtype in HALVES else dtype.name)  # NumPy has no bfloat16
    array = _core.from_numpy(flat).view(shape) if flat.size else _core.empty(shape, dtype)
    return array.astype(dtype) if dtype in HALVES else array


def collect(data: Any, leaves: list, depth: int) -> tuple:
    """Appends the numbers of nested sequences; answers their shape."""
    if isinstance(data, Tensor):
        if data.ndim == 0:
            leaves.append(data.item())
            return ()
        data = data.tolist()
    if isinstance(data, np.ndarray):
        data = data.tolist()
    if not isinstance(data, list | tuple | range) and not (
        hasattr(data, "__len__")
        and hasattr(data, "__getitem__")
        and not isinstance(data, str | dict)
    ):
        leaves.append(data.item() if isinstance(data, np.generic) else data)
        return ()
    shape: tuple | None = None
    for i, row in enumerate(data):
        below = collect(row, leaves, depth + 1)
        if shape is None:
            shape = below
        elif below != shape:
            if below and shape:
                raise ValueError(
                    f"expected sequence of length {shape[0]} at dim {depth + 1} (got {below[0]})"
                )
            raise TypeError(
                f"not a sequence: element {i} at dim {depth} has shape {below}, others {shape}"
            )
    return (len(data), *(shape or ()))


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """data itself, or a tensor that shares its memory, where dtype and device allow it."""
    if isinstance(data, Tensor):
        return data.to(device=device, dtype=dtype)
    array = from_data(data, dtype)
    return wrap(array if device is None else to_device(array, device))


def from_numpy(ndarray: Any) -> Tensor:
    """A tensor on the memory of a NumPy array.

    Raises TypeError for anything else or an unknown dtype, ValueError for negative strides.
    https://pytorch.org/docs/stable/generated/torch.from_numpy.html
    """
    return wrap(_core.from_numpy(ndarray))


def legacy_constructor(cls: type, *args: Any, **options: Any) -> Tensor:
    """torch.Tensor(2, 3): uninitialised float32 of that shape; torch.Tensor([1, 2]): that data."""
    device = options.pop("device", None)
    if options:
        raise TypeError(f"new() received unexpected keyword arguments {sorted(options)}")
    float32 = _core.float32
    if len(args) == 1 and not isinstance(args[0], int):
        if isinstance(args[0], Tensor):
            return wrap(args[0].array, None, cls)
        array = from_data(args[0], float32)
        array = array.clone() if isinstance(args[0], np.ndarray) else array
        return wrap(array if device is None else to_device(array, device), None, cls)
    shape = as_sizes("new", args) if args else (0,)
    return wrap(array_module(device).empty(shape, float32), None, cls)


def new_tensor(
    self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    return tensor(
        data,
        dtype=dtype or self.array.dtype,
        device=self.array.device if device is None else device,
        requires_grad=requires_grad,
    )


FUNCTIONS = {f.__name__: f for f in (tensor, as_tensor, from_numpy)}
METHODS = {"new_tensor": new_tensor}
