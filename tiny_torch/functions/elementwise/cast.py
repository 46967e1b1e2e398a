"""clone, contiguous, and to another dtype or device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply, quick
from tiny_torch.base import devices
from tiny_torch.base.devices import array_module, device
from tiny_torch.base.dtypes import type_name
from tiny_torch.base.layouts import (
    check_format,
    contiguous_format,
    has_format,
    preserve_format,
    suggested_format,
)
from tiny_torch.functions.creation.fill import PYTHON_TYPES, as_dtype
from tiny_torch.functions.creation.tensor_types import dtype_of_type
from tiny_torch.functions.public import METHODS, function_and_method, method
from tiny_torch.ops.elementwise.cast import Arranged, Clone, ToCopy, ToDevice, ToInteger
from tiny_torch.tensor import Tensor


@method
def contiguous(self: Tensor, *, memory_format: Any = contiguous_format) -> Tensor:
    """The tensor itself if its elements lie in the order of `memory_format`, else a copy that does.

    Raises RuntimeError for channels_last where there are not four dims.
    https://pytorch.org/docs/stable/generated/torch.Tensor.contiguous.html

    >>> import tiny_torch as torch
    >>> torch.zeros(2, 3).t().contiguous().stride()
    (2, 1)
    """
    if memory_format is contiguous_format:
        return self if self.array.is_contiguous() else apply(Arranged, self, contiguous_format)
    check_format("contiguous", memory_format)
    if has_format(self.array, memory_format):
        return self
    return apply(Arranged, self, memory_format)


@method
def is_contiguous(self: Tensor, *, memory_format: Any = contiguous_format) -> bool:
    """Whether the elements lie in the order of `memory_format`."""
    if memory_format is contiguous_format:
        return self.array.is_contiguous()
    check_format("is_contiguous", memory_format)
    return has_format(self.array, memory_format)


@function_and_method
@quick(Clone)
def clone(input: Tensor, *, memory_format: Any = preserve_format) -> Tensor:
    """A copy with the same strides (if they are dense); gradients pass through.

    https://pytorch.org/docs/stable/generated/torch.clone.html

    >>> import tiny_torch as torch
    >>> torch.clone(torch.tensor([1, 2]))
    tensor([1, 2])
    """
    if memory_format is preserve_format or memory_format is None:
        return apply(Clone, input)
    check_format("clone", memory_format)
    return apply(Arranged, input, memory_format)


def convert(
    x: Tensor,
    dtype: Any = None,
    where: Any = None,
    copy: bool = False,
    memory_format: Any = None,
    non_blocking: bool = False,
) -> Tensor:
    """x in another dtype, on another device; x itself where it is so already, unless `copy`.

    On a GPU's way to the host it is cast before, so that what comes last is the copy which
    `non_blocking` does not wait for.
    """
    if non_blocking and dtype is not None and x.array.device == "cuda":
        x, dtype = convert(x, dtype), None
    result = x
    if (
        where is not None
        and where != x.array.device
        and array_module(where) is not array_module(x.array.device)
    ):
        result = apply(ToDevice, result, device(where).type, non_blocking)
    if dtype is not None and dtype is not x.array.dtype:
        result = apply(ToCopy if dtype.is_floating_point else ToInteger, result, dtype)
    if memory_format is None or memory_format is preserve_format:
        return apply(Clone, x) if copy and result is x else result
    check_format("to", memory_format)
    if result is x and not copy and suggested_format(x.array) is memory_format:
        return x
    arranged = contiguous(result, memory_format=memory_format)
    return apply(Arranged, x, memory_format) if arranged is x else arranged


@method
def to(self: Tensor, *target: Any, memory_format: Any = None, **options: Any) -> Tensor:
    """The tensor in another dtype or on another device, or in those of another tensor.

    to(dtype), to(device, dtype) and to(other), each with non_blocking=False, copy=False: itself
    where nothing changes, unless `copy`. `non_blocking` does not wait for a copy between a GPU and
    pinned memory. Raises AssertionError for "cuda" in a build without it, TypeError for other
    arguments. https://pytorch.org/docs/stable/generated/torch.Tensor.to.html

    >>> import tiny_torch as torch
    >>> torch.tensor([1.5]).to(torch.int64)
    tensor([1])
    """
    if len(target) == 1 and not options:
        only = target[0]
        if isinstance(only, _core.dtype):
            return convert(self, only, None, False, memory_format)
        if isinstance(only, Tensor):
            return convert(self, only.array.dtype, only.array.device, False, memory_format)
        if isinstance(only, str | device):
            return convert(self, None, only, False, memory_format)
    if target and isinstance(target[0], _core.dtype | type):
        names: tuple[str, ...] = TO_DTYPE
    elif target and isinstance(target[0], Tensor):
        names = TO_OTHER
    else:
        names = TO_DEVICE
    values = dict(zip(names, target, strict=False))
    wrong = len(target) > len(names) or "other" in options or options.keys() & values.keys()
    values.update(options)
    other = values.get("other")
    dtype, where, copy = values.get("dtype"), values.get("device"), values.get("copy", False)
    if (
        wrong
        or not values.keys() <= set(names)
        or not (where is None or isinstance(where, device | str | int))
        or not (isinstance(copy, bool) and isinstance(values.get("non_blocking", False), bool))
        or not (dtype is None or isinstance(dtype, _core.dtype) or dtype in PYTHON_TYPES)
    ):
        given = [_core.type_name(value) for value in target]
        given += [f"{name}={type(value).__name__}" for name, value in options.items()]
        raise TypeError(
            f"to() received an invalid combination of arguments - got ({', '.join(given)})"
        )
    if other is not None:
        dtype, where = other.array.dtype, other.array.device
    non_blocking = values.get("non_blocking", False)
    return convert(self, as_dtype("to", dtype), where, copy, memory_format, non_blocking)


TO_DTYPE = ("dtype", "non_blocking", "copy")
TO_DEVICE = ("device", "dtype", "non_blocking", "copy")
TO_OTHER = ("other", "non_blocking", "copy")


def conversion(name: str, dtype: Any) -> Callable[..., Tensor]:
    def method(self: Tensor, *, memory_format: Any = None) -> Tensor:
        if memory_format is None and self.array.dtype is dtype:
            return self
        return convert(self, dtype, None, False, memory_format)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"The tensor as {dtype}; itself if it is that already."
    return method


@method
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor in the dtype and on the device of another."""
    return convert(self, other.array.dtype, other.array.device)


@method("type")
def type_method(self: Tensor, dtype: str | type | None = None, non_blocking: bool = False) -> Any:
    """The name of the tensor's type; or the tensor in a dtype, given as such or by that name.

    Raises ValueError for a name that is none, AssertionError for a type of CUDA's.
    https://pytorch.org/docs/stable/generated/torch.Tensor.type.html

    >>> import tiny_torch as torch
    >>> torch.zeros(1).type(), torch.zeros(1).type("torch.LongTensor")
    ('torch.FloatTensor', tensor([0]))
    """
    if dtype is None:
        where = "" if self.array.device in ("cpu", "ref") else self.array.device + "."
        return type_name(self.array.dtype).replace("torch.", "torch." + where, 1)
    if isinstance(dtype, str) and dtype.startswith("torch.cuda."):
        array_module("cuda")
        kind = dtype_of_type(dtype.replace("cuda.", "", 1))
        return convert(self, kind, "cuda", non_blocking=non_blocking)
    if isinstance(dtype, str | type) and self.array.device == "cuda":
        return convert(self, dtype_of_type(dtype), "cpu", non_blocking=non_blocking)
    return convert(self, dtype_of_type(dtype))


@method
def cpu(self: Tensor, *, memory_format: Any = None) -> Tensor:
    """The tensor on the CPU; itself if it is there already."""
    return convert(self, None, "cpu", False, memory_format)


@method
def cuda(
    self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None
) -> Tensor:
    """The tensor on a GPU; itself if it is there already.

    Raises AssertionError in a build without CUDA, RuntimeError for another device.
    https://pytorch.org/docs/stable/generated/torch.Tensor.cuda.html
    """
    where = devices.device("cuda" if device is None else device)
    if where.type != "cuda":
        raise RuntimeError("Invalid device, must be cuda device")
    array_module(where)
    return convert(self, None, where, False, memory_format, non_blocking)


CONVERSIONS = {
    "bool": _core.bool,
    "byte": _core.uint8,
    "char": _core.int8,
    "short": _core.int16,
    "int": _core.int32,
    "long": _core.int64,
    "half": _core.float16,
    "bfloat16": _core.bfloat16,
    "float": _core.float32,
    "double": _core.float64,
}


METHODS |= {name: conversion(name, dtype) for name, dtype in CONVERSIONS.items()}
