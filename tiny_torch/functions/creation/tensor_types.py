"""torch.FloatTensor and its kin, from before there were dtypes; x.new(...), x.new_tensor(data)."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np

from tiny_torch import _core
from tiny_torch.autograd.apply import apply_view
from tiny_torch.base import layouts
from tiny_torch.base.devices import cuda_count, device, set_default_device, to_device
from tiny_torch.base.dtypes import TYPE_NAMES
from tiny_torch.base.switches import settings
from tiny_torch.functions.creation.fill import as_sizes, fill_unset
from tiny_torch.functions.creation.from_data import from_data, is_sequence, tensor
from tiny_torch.functions.public import METHODS, method
from tiny_torch.functions.storage import TypedStorage, UntypedStorage
from tiny_torch.ops.shape.views import Alias
from tiny_torch.tensor import Tensor, wrap


def legacy_constructor(cls: type, *args: Any, **options: Any) -> Tensor:
    """torch.Tensor(2, 3): uninitialised, of that shape; torch.Tensor([1, 2]): that data."""
    return legacy_tensor(cls, None, args, options)


def legacy_tensor(cls: type, dtype: Any, args: tuple, options: dict, where: Any = "cpu") -> Tensor:
    """The legacy constructor of a dtype; None: the default one, and a tensor keeps its own."""
    wanted = options.pop("device", None) or where
    if device(wanted).type == "cuda" != where:
        raise RuntimeError(f"legacy constructor expects device type: cpu but {wanted} was passed")
    where = wanted
    named = {name: options.pop(name) for name in ("size", "data") if name in options}
    if options or len(named) + bool(args) > 1:
        raise TypeError("new() received an invalid combination of arguments")
    first = named["data"] if "data" in named else args[0] if len(args) == 1 else None
    kind = dtype or _core.get_default_dtype()
    if isinstance(first, Tensor):
        if dtype is not None and first.dtype is not dtype:
            raise TypeError(f"expected a tensor of dtype {dtype} (got {first.dtype})")
        return alias(first, cls)
    if isinstance(first, UntypedStorage | TypedStorage):
        array = first.array_of(kind)
    elif "size" in named or not is_data(args, named):
        sizes = as_sizes("new", args, named.get("size")) if args or named else (0,)
        array = _core.empty(sizes, kind)
        if settings.fills:
            fill_unset(array)
    elif is_sequence(first) or isinstance(first, str | np.ndarray):
        array = from_data(first, kind)
        array = array.clone() if isinstance(first, np.ndarray) else array
    else:
        raise TypeError(f"new(): data must be a sequence (got {type(first).__name__})")
    return wrap(to_device(array, where), None, cls)


def is_data(args: tuple, named: dict) -> bool:
    """Whether arguments are data, not sizes."""
    if "data" in named:
        return True
    if len(args) != 1 or type(args[0]).__name__ == "Size":
        return False
    if isinstance(args[0], bool) or not hasattr(args[0], "__index__"):
        return True
    return isinstance(args[0], np.ndarray) and not (
        args[0].ndim == 0 and args[0].dtype.kind in "iu"
    )


def alias(x: Tensor, cls: type) -> Tensor:
    """x again, as another tensor on its memory and with its history."""
    if x.requires_grad:
        return x.as_subclass(cls)
    return wrap(x.array, None, cls)


@method
def as_subclass(self: Tensor, cls: Any) -> Any:
    """The tensor again, of a subclass of Tensor: the same memory, and its history.

    https://pytorch.org/docs/stable/generated/torch.Tensor.as_subclass.html

    >>> import tiny_torch as torch
    >>> class Metres(torch.Tensor): ...
    >>> torch.ones(2).as_subclass(Metres)
    Metres([1., 1.])
    """
    shown = apply_view(Alias, self, ())
    made: Any = wrap(shown.array, shown.edge, cls)
    made._view = shown._view
    return made


@method
def new(self: Tensor, *args: Any, **options: Any) -> Tensor:
    """The legacy constructor for this tensor's dtype and device."""
    return legacy_tensor(Tensor, self.array.dtype, args, options, self.array.device)


@method
def new_tensor(
    self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A copy of data, in this tensor's dtype and on its device unless others are named."""
    return tensor(
        data,
        dtype=dtype or self.array.dtype,
        device=self.array.device if device is None else device,
        requires_grad=requires_grad,
    )


METHODS["__new__"] = staticmethod(legacy_constructor)


class tensortype(type):
    """`isinstance(x, torch.FloatTensor)` asks for the dtype; a call is the legacy constructor."""

    __module__ = "tiny_torch"
    dtype: Any
    layout = layouts.strided
    is_cuda = False
    is_sparse = False

    def __instancecheck__(cls, instance: Any) -> bool:
        if not isinstance(instance, Tensor) or instance.is_cuda:
            return False
        return instance.array.dtype is cls.dtype

    def __call__(cls, *args: Any, **options: Any) -> Tensor:
        return legacy_tensor(Tensor, cls.dtype, args, options)

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


class _LegacyStorage(type):
    """`isinstance(x, torch.FloatStorage)` asks for the dtype; a call makes a TypedStorage."""

    dtype: Any

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype

    def __call__(cls, *arguments: Any, wrap_storage: Any = None) -> TypedStorage:
        return TypedStorage(*arguments, wrap_storage=wrap_storage, dtype=cls.dtype)

    def from_buffer(cls, buffer: Any, byte_order: str = "native") -> TypedStorage:
        return TypedStorage.from_buffer(buffer, byte_order, dtype=cls.dtype)

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


TYPES: dict[str, Any] = {
    name: tensortype(name.removeprefix("torch."), (), {"__module__": "tiny_torch", "dtype": dtype})
    for name, dtype in TYPE_NAMES.items()
}


STORAGES: dict[str, Any] = {
    name: _LegacyStorage(name, (), {"__module__": "tiny_torch", "dtype": dtype})
    for name, dtype in (
        (name.removeprefix("torch.").replace("Tensor", "Storage"), dtype)
        for name, dtype in TYPE_NAMES.items()
    )
}


def dtype_of_type(kind: Any) -> Any:
    """The dtype that a dtype, a type such as torch.FloatTensor, or the name of one stands for.

    Raises ValueError for a name that is none, TypeError for anything else.
    """
    if isinstance(kind, _core.dtype):
        return kind
    if kind is Tensor:
        return _core.get_default_dtype()
    if isinstance(kind, tensortype):
        return kind.dtype
    if not isinstance(kind, str | type):
        raise TypeError("dtype must be a type, str, or dtype object")
    name = kind if isinstance(kind, str) else kind.__name__
    if name.replace("torch.cuda.", "torch.") in TYPES and name not in TYPES:
        raise AssertionError("Torch not compiled with CUDA enabled")
    if name == "torch.Tensor":
        return _core.get_default_dtype()
    if name not in TYPES:
        raise ValueError(f"invalid type: '{name}'")
    return TYPES[name].dtype


def named_object(path: str) -> Any:
    """What "module.name" stands for; ImportError or AttributeError where there is none."""
    first, *names = path.split(".")
    found: Any = importlib.import_module("tiny_torch" if first == "torch" else first)
    for name in names:
        found = getattr(found, name)
    return found


def set_default_tensor_type(t: Any) -> None:
    """`set_default_dtype`, of a type or its name; TypeError where it is no floating type.

    https://pytorch.org/docs/stable/generated/torch.set_default_tensor_type.html
    """
    warnings.warn(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use "
        "torch.set_default_dtype() and torch.set_default_device() as alternatives.",
        stacklevel=2,
    )
    if isinstance(t, str) and t.startswith("torch.cuda."):
        if not cuda_count():
            raise TypeError(f"type {t} not available. Torch not compiled with CUDA enabled.")
        set_default_tensor_type(t.replace("cuda.", "", 1))
        return set_default_device("cuda")
    if isinstance(t, str):
        t = TYPES[t] if t in TYPES else named_object(t)
    if not isinstance(t, tensortype) and t is not Tensor:
        raise TypeError("invalid type object: only floating-point types are supported")
    _core.set_default_dtype(dtype_of_type(t))


FUNCTIONS = {
    **{kind.__name__: kind for kind in TYPES.values()},
    **STORAGES,
    "Storage": STORAGES["FloatStorage"],
    "set_default_tensor_type": set_default_tensor_type,
}
