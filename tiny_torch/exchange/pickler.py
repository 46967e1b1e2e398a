"""Objects → bytes: Python's pickle with PyTorch's names for our types.

A tensor becomes a call of `torch._utils._rebuild_tensor_v2(storage, offset, size, stride, …)`, its
storage a persistent id, `("storage", torch.FloatStorage, key, "cpu", numel)`, whose bytes the
archive holds as record `data/<key>`.
"""

from __future__ import annotations

import codecs
import copyreg
import pickle
from collections import OrderedDict
from typing import IO, Any, NoReturn

import tiny_torch as torch
from tiny_torch.exchange import core
from tiny_torch.functions.storage import TypedStorage, UntypedStorage


class _TorchName:
    """Pickled as the global of that name in PyTorch."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __call__(self) -> NoReturn:  # pickle wants what it writes calls of to be callable
        raise TypeError(f"{self.module}.{self.name} exists in PyTorch only")


class _StorageOf:
    """Pickled as a reference to the storage of an array."""

    def __init__(self, array: Any) -> None:
        self.array = array


_REBUILD_TENSOR = _TorchName("torch._utils", "_rebuild_tensor_v2")
_REBUILD_META = _TorchName("torch._utils", "_rebuild_meta_tensor_no_storage")
_REBUILD_PARAMETER = _TorchName("torch._utils", "_rebuild_parameter")
_REBUILD_PARAMETER_WITH_STATE = _TorchName("torch._utils", "_rebuild_parameter_with_state")
_REBUILD_FROM_TYPE = _TorchName("torch._tensor", "_rebuild_from_type_v2")
_TENSOR = _TorchName("torch", "Tensor")
_SIZE = _TorchName("torch", "Size")
_DEVICE = _TorchName("torch", "device")
_UNTYPED = _TorchName("torch.storage", "UntypedStorage")
_STORAGES = {dtype: _TorchName("torch", name) for name, dtype in core.STORAGE_DTYPES.items()}


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
            torch.Tensor: _reduce_tensor,
            torch.nn.Parameter: _reduce_parameter,
            torch.Size: lambda size: (_SIZE, (tuple(size),)),
            torch.device: _reduce_device,
            torch.dtype: core.dtype_name,  # a reduction to text is a global of that name
            _TorchName: lambda name: name.name,
        }

    def persistent_id(self, obj: Any) -> tuple[object, ...] | None:
        """PyTorch's id of a storage; None for everything else."""
        if type(obj) is _StorageOf:
            array = obj.array
        elif isinstance(obj, TypedStorage | UntypedStorage):
            array = (obj if obj.device.type in ("cpu", "cuda") else obj.cpu())._array
        else:
            return None
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
        if type(obj) is _TorchName:
            module, name = obj.module, obj.name
        elif isinstance(obj, torch.dtype):
            module = "torch"
        else:
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

    dispatch = _PythonPickler.dispatch | {bytes: save_bytes}


def _reduce_tensor(tensor: torch.Tensor) -> tuple[object, ...]:
    if tensor.is_meta:
        shape, strides = tuple(tensor.shape), tensor.stride()
        return _REBUILD_META, (tensor.dtype, shape, strides, tensor.requires_grad)
    arguments, attributes = _tensor_arguments(tensor), core.user_attributes(tensor)
    if not attributes:
        return _REBUILD_TENSOR, arguments
    return _REBUILD_FROM_TYPE, (_REBUILD_TENSOR, _TENSOR, arguments, attributes)


def _reduce_parameter(parameter: torch.nn.Parameter) -> tuple[object, ...]:
    attributes = core.user_attributes(parameter)
    arguments: tuple[object, ...] = (parameter.data, parameter.requires_grad, OrderedDict())
    if not attributes:
        return _REBUILD_PARAMETER, arguments
    return _REBUILD_PARAMETER_WITH_STATE, (*arguments, attributes)


def _tensor_arguments(tensor: torch.Tensor) -> tuple[object, ...]:
    if not (tensor.is_cpu or tensor.is_cuda):  # by way of a copy, as PyTorch does
        tensor = tensor.cpu()
    array = tensor.array
    shape, strides = tuple(array.shape), tuple(array.strides)
    # hooks are never saved, but PyTorch expects the argument
    return _StorageOf(array), array.offset, shape, strides, tensor.requires_grad, OrderedDict()


def _reduce_device(device: torch.device) -> tuple[object, ...]:
    index = () if device.index is None else (device.index,)
    return _DEVICE, (device.type, *index)
