"""Copies that keep the shape: clone, contiguous, and to another dtype or device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply1
from tiny_torch.autograd.graph import Op, run
from tiny_torch.devices import array_module, device, to_device
from tiny_torch.dtypes import TYPE_NAMES
from tiny_torch.ops.elementwise import Cast, Clone
from tiny_torch.tensor import Tensor

PYTHON_TYPES = {float: _core.float64, int: _core.int64, bool: _core.bool}


class ToInteger(Op):
    """A dtype that has no gradient: integers and bool."""

    @staticmethod
    def forward(x, dtype):
        return x.astype(dtype), ()


class Contiguous(Op):
    """A copy in row-major order."""

    @staticmethod
    def forward(x):
        return (x.clone() if x.is_contiguous() else x.contiguous()), ()

    @staticmethod
    def backward(saved, grad, needs):
        return grad


class ToDevice(Op):
    @staticmethod
    def forward(x, where):
        return to_device(x, where), (x.device,)

    @staticmethod
    def backward(saved, grad, needs):
        return run(ToDevice, grad, saved[0])


def check_format(function: str, memory_format: Any, *supported: str) -> None:
    if str(memory_format).removeprefix("torch.") not in supported:
        raise NotImplementedError(f"{function}(memory_format={memory_format})")


def contiguous(self: Tensor, memory_format: Any = "contiguous_format") -> Tensor:
    """The tensor itself if its elements lie in row-major order, else a copy that does.

    Raises NotImplementedError for another memory format.
    https://pytorch.org/docs/stable/generated/torch.Tensor.contiguous.html

    >>> import tiny_torch as torch
    >>> torch.zeros(2, 3).t().contiguous().stride()
    (2, 1)
    """
    check_format("contiguous", memory_format, "contiguous_format")
    return self if self.array.is_contiguous() else apply1(Contiguous, self)


def is_contiguous(self: Tensor, memory_format: Any = "contiguous_format") -> bool:
    """Whether the elements lie in row-major order."""
    check_format("is_contiguous", memory_format, "contiguous_format")
    return self.array.is_contiguous()


def clone(input: Tensor, *, memory_format: Any = "preserve_format") -> Tensor:
    """A copy with the same strides (if they are dense); gradients pass through.

    https://pytorch.org/docs/stable/generated/torch.clone.html

    >>> import tiny_torch as torch
    >>> torch.clone(torch.tensor([1, 2]))
    tensor([1, 2])
    """
    check_format("clone", memory_format, "contiguous_format", "preserve_format")
    keeps = str(memory_format).endswith("preserve_format")
    return apply1(Clone if keeps else Contiguous, input)


def convert(
    x: Tensor, dtype: Any = None, where: Any = None, copy: bool = False, memory_format: Any = None
) -> Tensor:
    """x in another dtype, on another device; x itself where it is so already, unless `copy`."""
    if memory_format is not None:
        check_format("to", memory_format, "contiguous_format", "preserve_format")
    result = x
    if where is not None and array_module(where) is not array_module(x.array.device):
        result = apply1(ToDevice, result, device(where).type)
    if dtype is not None and dtype is not x.array.dtype:
        result = apply1(Cast if dtype.is_floating_point else ToInteger, result, dtype)
    if copy and result is x:
        result = apply1(Clone, x)
    return contiguous(result) if str(memory_format).endswith("contiguous_format") else result


def to(
    self: Tensor,
    *target: Any,
    dtype: Any = None,
    device: Any = None,
    other: Tensor | None = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """The tensor in another dtype or on another device, or in those of another tensor.

    Itself where nothing changes, unless `copy`. Raises AssertionError for "cuda".
    https://pytorch.org/docs/stable/generated/torch.Tensor.to.html

    >>> import tiny_torch as torch
    >>> torch.tensor([1.5]).to(torch.int64)
    tensor([1])
    """
    flags = []  # non_blocking, copy
    for value in target if other is None else (other, *target):
        if isinstance(value, _core.dtype):
            dtype = value
        elif isinstance(value, Tensor):
            dtype, device = value.array.dtype, value.array.device
        elif isinstance(value, bool):
            flags.append(value)
        elif isinstance(value, type) and value in PYTHON_TYPES:
            dtype = PYTHON_TYPES[value]
        elif value is not None:
            device = value
    if isinstance(dtype, type):
        dtype = PYTHON_TYPES.get(dtype, dtype)
    if dtype is not None and not isinstance(dtype, _core.dtype):
        raise TypeError(f"to(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    return convert(self, dtype, device, copy or flags[1:2] == [True], memory_format)


def conversion(name: str, dtype: Any) -> Callable[..., Tensor]:
    def method(self, memory_format=None):
        return convert(self, dtype, None, False, memory_format)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"The tensor as {dtype}; itself if it is that already."
    return method


def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor in the dtype and on the device of another."""
    return convert(self, other.array.dtype, other.array.device)


def type_method(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the tensor's type; or the tensor in a dtype, given as such or by that name.

    Raises ValueError for a name that is none.
    https://pytorch.org/docs/stable/generated/torch.Tensor.type.html

    >>> import tiny_torch as torch
    >>> torch.zeros(1).type(), torch.zeros(1).type("torch.LongTensor")
    ('torch.FloatTensor', tensor([0]))
    """
    if dtype is None:
        return next(name for name, kind in TYPE_NAMES.items() if kind is self.array.dtype)
    if isinstance(dtype, str):
        if dtype not in TYPE_NAMES:
            raise ValueError(f"invalid type: '{dtype}'")
        dtype = TYPE_NAMES[dtype]
    if isinstance(dtype, type):
        dtype = PYTHON_TYPES.get(dtype, dtype)
    if not isinstance(dtype, _core.dtype):
        raise TypeError("dtype must be a type, str, or dtype object")
    return convert(self, dtype)


def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor on the CPU; itself if it is there already."""
    return convert(self, None, "cpu", False, memory_format)


def cuda(
    self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None
) -> Tensor:
    """Raises AssertionError: there is no CUDA in this build."""
    raise AssertionError("Torch not compiled with CUDA enabled")


FUNCTIONS: dict[str, Callable] = {"clone": clone}
METHODS: dict[str, Any] = {
    **FUNCTIONS,
    "contiguous": contiguous,
    "is_contiguous": is_contiguous,
    "to": to,
    "type": type_method,
    "type_as": type_as,
    "cpu": cpu,
    "cuda": cuda,
    "bool": conversion("bool", _core.bool),
    "byte": conversion("byte", _core.uint8),
    "char": conversion("char", _core.int8),
    "short": conversion("short", _core.int16),
    "int": conversion("int", _core.int32),
    "long": conversion("long", _core.int64),
    "half": conversion("half", _core.float16),
    "bfloat16": conversion("bfloat16", _core.bfloat16),
    "float": conversion("float", _core.float32),
    "double": conversion("double", _core.float64),
}
