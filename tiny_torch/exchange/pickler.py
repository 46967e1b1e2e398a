"""Objects → bytes: Python's pickle with PyTorch's names for our types.

A tensor becomes a call of `torch._utils._rebuild_tensor_v2(storage, offset, size, stride, …)`, its
storage a persistent id, `("storage", torch.FloatStorage, key, "cpu", numel)`, whose bytes the
archive holds as record `data/<key>`.
"""

from __future__ import annotations

import codecs
import copyreg
import pickle
from types import FunctionType
from typing import IO, Any

import tiny_torch as torch
from tiny_torch.exchange import core
from tiny_torch.exchange.rebuild import ALLOWED
from tiny_torch.functions.storage import TypedStorage, UntypedStorage


class _StorageClass:
    """Pickled as the class of PyTorch's storages of that name."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name


_UNTYPED = _StorageClass("torch.storage", "UntypedStorage")
_STORAGES = {dtype: _StorageClass("torch", name) for dtype, name in core.STORAGE_NAMES.items()}
# The classes and functions of ours that PyTorch has under a name of its own.
_NAMES = {allowed.value: name for name, allowed in ALLOWED.items() if name.startswith("torch.")}


_PythonPickler: Any = pickle._Pickler  # its stub leaves out the methods that we override


def pickler_of(module: Any) -> type[Any]:
    """The class that saves by a pickle module's Pickler, which must be one in Python."""
    if module is pickle:
        return Pickler
    if not issubclass(module.Pickler, _PythonPickler):
        raise NotImplementedError(
            f"[save] pickle_module={module.__name__}: its Pickler is not one in Python, as "
            "pickle._Pickler is"
        )
    dispatch = module.Pickler.dispatch | {bytes: Pickler.save_bytes}
    return type("Pickler", (Pickler, module.Pickler), {"dispatch": dispatch})


class Pickler(_PythonPickler):
    """Python's pickler in Python: the one in C insists on importing every name that it writes.

    After `dump(obj)`, `storages` holds a record's key and an array over the storage for each.
    """

    def __init__(self, file: IO[bytes], protocol: int) -> None:
        super().__init__(file, protocol)
        self.storages: dict[int, tuple[str, Any]] = {}
        self.dispatch_table = copyreg.dispatch_table | {
            torch.Size: lambda size: (torch.Size, (tuple(size),)),
            torch.device: _reduce_device,
            torch.dtype: core.dtype_name,  # a reduction to text is a global of that name
            _StorageClass: lambda kind: kind.name,
        }

    def persistent_id(self, obj: Any) -> tuple[object, ...] | None:
        """PyTorch's id of a storage; None for everything else."""
        if not isinstance(obj, TypedStorage | UntypedStorage):
            return None
        array = (obj if obj.device.type in ("cpu", "cuda") else obj.cpu())._array
        entry = (str(len(self.storages)), array)
        key, first = self.storages.setdefault(core.storage_key(array), entry)
        if array.dtype != first.dtype:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different "
                "types"
            )
        numel = array.storage_nbytes // array.itemsize
        location = "cuda:0" if array.device == "cuda" else "cpu"
        untyped = isinstance(obj, UntypedStorage)
        kind = _UNTYPED if untyped else _STORAGES[core.dtype_name(array.dtype)]
        return "storage", kind, key, location, numel

    def save_global(self, obj: Any, name: str | None = None) -> None:
        """Writes the name of a class or function."""
        if type(obj) is _StorageClass:
            module = obj.module
        elif isinstance(obj, torch.dtype):
            module = "torch"
        elif obj in _NAMES:
            module, _, name = _NAMES[obj].rpartition(".")
        else:
            path = name or getattr(obj, "__qualname__", obj.__name__)
            if "<locals>" in path.split("."):
                raise AttributeError(f"Can't pickle local object {path!r}")
            super().save_global(obj, name)
            return
        self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        self.memoize(obj)

    def save_bytes(self, obj: bytes) -> None:
        """Writes bytes in the form that PyTorch reads."""
        if obj or self.proto >= 3:
            super().save_bytes(obj)
        else:  # Python writes a call of `bytes`, which PyTorch does not allow
            self.save_reduce(codecs.encode, ("", "latin1"), obj=obj)

    dispatch = _PythonPickler.dispatch | {bytes: save_bytes, FunctionType: save_global}


def _reduce_device(device: torch.device) -> tuple[object, ...]:
    index = () if device.index is None else (device.index,)
    return torch.device, (device.type, *index)
