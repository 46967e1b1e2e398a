"""torch.FloatTensor and its kin: a dtype as a type, from before there were dtypes."""

from __future__ import annotations

import importlib
from typing import Any

from tiny_torch import _core
from tiny_torch.base import layouts
from tiny_torch.base.devices import cuda_count, set_default_device
from tiny_torch.base.dtypes import TYPE_NAMES
from tiny_torch.functions.creation.legacy import legacy_tensor
from tiny_torch.functions.storage import TypedStorage
from tiny_torch.tensor import Tensor


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
