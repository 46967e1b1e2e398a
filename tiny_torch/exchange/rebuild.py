"""Data → tensors: what the global names in a file stand for, and how storages are read.

Every function here may be called by a hostile file: each checks the types, and the sizes before
anything is allocated.
"""

from __future__ import annotations

import array
import codecs
from collections import Counter, OrderedDict
from collections.abc import Callable
from pickle import UnpicklingError
from typing import Any, NoReturn

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.base import devices, layouts
from tiny_torch.exchange import core
from tiny_torch.exchange.archive import ArchiveReader
from tiny_torch.exchange.unpickler import Allowed, frozen_set, hashable, set_attributes
from tiny_torch.functions.storage import TypedStorage
from tiny_torch.tensor import wrap

_MAX_INT64 = 2**63 - 1
LAYOUTS = {
    str(value): value for value in layouts.FUNCTIONS.values() if isinstance(value, torch.layout)
}
_SWAP_CODES = {2: "H", 4: "I", 8: "Q"}  # of the array module


class _StorageType:
    """What the name of one of PyTorch's storage classes stands for."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype


class StoragesOfArchive:
    """Reads storages from the records of one archive."""

    def __init__(self, archive: ArchiveReader) -> None:
        self.archive = archive
        self.byteorder = "little"
        if "byteorder" in archive:
            self.byteorder = archive.read("byteorder").decode(errors="replace")
        if self.byteorder not in ("little", "big"):
            raise ValueError(f"Unknown endianness type: {self.byteorder}")

    def read(self, key: str, dtype: torch.dtype, numel: int) -> Any:
        """The storage of that key, as a 1-d array."""
        record = f"data/{key}"
        if self.archive.size(record) != numel * dtype.itemsize:
            raise UnpicklingError(f"record {record} does not have the size of its storage")
        data = self.archive.read(record)
        if self.byteorder == "big" and dtype.itemsize > 1:
            swapped = array.array(_SWAP_CODES[dtype.itemsize], data)
            swapped.byteswap()
            data = swapped.tobytes()
        return array_from_file(data, dtype)


def array_from_file(data: bytes, dtype: torch.dtype) -> Any:
    """A 1-d array of the bytes of a storage. Raises UnpicklingError for a bool of 2."""
    if dtype is torch.bool and data.strip(b"\0\1"):  # undefined behaviour in C++
        raise UnpicklingError("a storage has bools that are neither 0 nor 1")
    return _core.from_bytes(data, dtype)


class Rebuilder:
    """Answers an Unpickler's questions; `read(key, dtype, numel)` is the array of a storage."""

    def __init__(
        self,
        read: Callable[[str, torch.dtype, int], Any],
        map_location: Any,
        user_globals: dict[str, Any],
    ) -> None:
        self.read = read
        self.map_location = map_location
        self.user_globals = user_globals
        self.storages: dict[str, TypedStorage] = {}

    def find_global(self, name: str) -> Allowed:
        """What a name stands for. Raises UnpicklingError for names that are not allowed."""
        if (known := known_global(name)) is not None:
            return known
        module, _, last = name.rpartition(".")
        if module in ("sys", "os", "posix", "nt"):
            raise UnpicklingError(
                f"Trying to load unsupported GLOBAL {name} whose module {module} is blocked."
            )
        if name in self.user_globals:
            value = self.user_globals[name]
            return Allowed(value, value, of_user=True)
        if module == "torch._utils" and last.startswith("_rebuild_"):
            raise NotImplementedError(f"[load] tiny_torch has no tensors that need {name}")
        raise UnpicklingError(
            f"Unsupported global: GLOBAL {name} was not an allowed global by default. Please use "
            f"`tiny_torch.serialization.add_safe_globals([{name}])` or the "
            f"`tiny_torch.serialization.safe_globals([{name}])` context manager to allowlist this "
            "global if you trust this class/function. Or call `tiny_torch.load` with "
            "`weights_only=False`, which can run any code that is in the file: do this only if you "
            "got the file from a trusted source."
        )

    def load_storage(self, saved_id: Any) -> TypedStorage:
        """The storage of a persistent id, read once however often it is asked for."""
        if type(saved_id) is not tuple or len(saved_id) != 5:
            raise UnpicklingError("Only persistent_load of storage is allowed")
        what, kind, key, location, numel = saved_id
        if (type(what), type(key), type(location), type(numel)) != (str, str, str, int):
            raise UnpicklingError("the id of a storage has arguments of a wrong type")
        if what != "storage" or not isinstance(kind, _StorageType):
            raise UnpicklingError("Only persistent_load of storage is allowed")
        dtype = core.find_dtype(kind.dtype)
        if dtype is None:
            raise NotImplementedError(f"[load] tiny_torch has no tensors of dtype {kind.dtype}")
        if key not in self.storages:
            storage = TypedStorage.over(self.read(key, dtype, numel), dtype)
            self.storages[key] = restore(storage, location, self.map_location)
        storage = self.storages[key]
        if storage.dtype != dtype or storage.size() != numel:
            raise UnpicklingError(f"storage {key} has two different types or sizes")
        return storage


def restore(storage: TypedStorage, location: str, map_location: Any) -> TypedStorage:
    """`storage` where `map_location` wants it. Raises RuntimeError for an unknown location."""
    if callable(map_location):
        mapped = map_location(storage, location)
        if isinstance(mapped, TypedStorage):
            return mapped
        if mapped is not None:
            raise TypeError(f"map_location must return a storage or None, got {type(mapped)}")
    elif isinstance(map_location, dict):
        location = str(map_location.get(location, location))
    elif isinstance(map_location, (str, torch.device)):
        location = str(map_location)
    elif map_location is not None:
        raise TypeError(f"[load] map_location cannot be a {type(map_location).__name__}")
    if location == "cpu":
        return storage
    if location.partition(":")[0] == "cuda":
        check_gpu(location)
        return storage.cuda()
    if location in devices.DEVICES:
        return storage.to(device=location)
    raise RuntimeError(
        "don't know how to restore data location of torch.storage.UntypedStorage (tagged with "
        f"{location})"
    )


def check_gpu(location: str) -> None:
    """Raises PyTorch's RuntimeError where there is no GPU of that number."""
    if not devices.cuda_count():
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is "
            "False. If you are running on a CPU-only machine, please use torch.load with "
            "map_location=torch.device('cpu') to map your storages to the CPU."
        )
    number = torch.device(location).index or 0
    if number >= 1:
        raise RuntimeError(
            f"Attempting to deserialize object on CUDA device {number} but "
            "torch.cuda.device_count() is 1. Please use torch.load with map_location to map your "
            "storages to an existing device."
        )


# ---- the functions that a file may call ------------------------------------------------------


def _rebuild_tensor(storage: Any, offset: Any, shape: Any, strides: Any) -> torch.Tensor:
    return _rebuild_tensor_v2(storage, offset, shape, strides, False, None)


def _rebuild_tensor_v2(
    storage: Any,
    offset: Any,
    shape: Any,
    strides: Any,
    requires_grad: Any,
    hooks: Any,
    metadata: Any = None,
) -> torch.Tensor:
    if not isinstance(storage, TypedStorage) or type(requires_grad) is not bool:
        raise UnpicklingError("a tensor needs a storage and a bool requires_grad")
    if metadata:
        raise NotImplementedError("[load] tiny_torch has no conjugate or negative views")
    offset = _check_region(storage.size(), offset, shape, strides)
    region = storage._array.as_strided(tuple(shape), strides, offset)
    tensor = wrap(region)
    return tensor.requires_grad_() if requires_grad else tensor


def _check_region(size: int, offset: Any, shape: Any, strides: Any) -> int:
    """The offset, once it is sure that every element lies inside a storage of `size` elements."""
    if not isinstance(shape, tuple) or type(strides) is not tuple or len(shape) != len(strides):
        raise UnpicklingError("a tensor's shape and strides must be tuples of one length")
    for number in (offset, *shape, *strides):
        if type(number) is not int or not 0 <= number <= _MAX_INT64:
            raise UnpicklingError("a tensor's offset, sizes and strides must be integers from 0")
    if 0 in shape:
        return min(offset, size)  # no element; a slice at the end may start anywhere
    numel, last = 1, offset
    for length, stride in zip(shape, strides, strict=True):
        numel *= length
        last += (length - 1) * stride
    if last >= size or numel > _MAX_INT64:
        raise UnpicklingError(f"a tensor reaches outside of its storage of {size} elements")
    return offset


def _rebuild_meta_tensor_no_storage(
    dtype: Any, shape: Any, strides: Any, requires_grad: Any
) -> torch.Tensor:
    if not isinstance(dtype, torch.dtype) or type(requires_grad) is not bool:
        raise UnpicklingError("a tensor on meta needs a dtype and a bool requires_grad")
    _check_region(_MAX_INT64, 0, shape, strides)
    tensor = torch.empty_strided(tuple(shape), strides, dtype=dtype, device="meta")
    return tensor.requires_grad_() if requires_grad else tensor


def _rebuild_sparse_tensor(layout: Any, data: Any) -> torch.Tensor:
    if layout is not torch.sparse_coo:
        raise NotImplementedError(f"[load] tiny_torch has no tensors of layout {layout}")
    if type(data) is not tuple or len(data) not in (3, 4):
        raise UnpicklingError("a sparse tensor needs its indices, values, size and is_coalesced")
    indices, values, size, *is_coalesced = data
    parts = isinstance(indices, torch.Tensor) and isinstance(values, torch.Tensor)
    if not parts or not isinstance(size, torch.Size):
        raise UnpicklingError("a sparse tensor needs two tensors and a Size")
    tensor = layouts.sparse_room().building.sparse_coo_tensor(indices, values, size)
    return tensor.coalesce() if True in is_coalesced else tensor  # whether the file lies or not


def _rebuild_tensor_v3(*arguments: Any) -> NoReturn:
    # PyTorch writes it only for dtypes without a storage class, of which there are no tensors here.
    if len(arguments) > 6 and isinstance(arguments[6], torch.dtype):
        torch.empty(0, dtype=arguments[6])
    raise UnpicklingError("_rebuild_tensor_v3 with a dtype that has a storage class")


def _rebuild_parameter(data: Any, requires_grad: Any, hooks: Any) -> torch.nn.Parameter:
    if type(data) is not torch.Tensor or type(requires_grad) is not bool:
        raise UnpicklingError("a Parameter needs a Tensor and a bool requires_grad")
    return torch.nn.Parameter(data, requires_grad)


def _rebuild_parameter_with_state(
    data: Any, requires_grad: Any, hooks: Any, state: Any
) -> torch.nn.Parameter:
    parameter = _rebuild_parameter(data, requires_grad, hooks)
    set_attributes(parameter, state)
    return parameter


def _rebuild_from_type_v2(function: Any, cls: Any, arguments: Any, state: Any) -> torch.Tensor:
    known = _rebuild_tensor_v2, _rebuild_meta_tensor_no_storage, _rebuild_sparse_tensor
    if function not in known or not isinstance(cls, type) or not issubclass(cls, torch.Tensor):
        raise UnpicklingError("a tensor of a class needs the tensor's function and the class")
    tensor = function(*arguments)
    if cls is not torch.Tensor:
        tensor = tensor.as_subclass(cls)
    set_attributes(tensor, state)
    return tensor


def _size(numbers: Any) -> torch.Size:
    if type(numbers) is not tuple or not all(type(number) is int for number in numbers):
        raise UnpicklingError("a Size is made of integers")
    return torch.Size(numbers)


def _device(kind: Any, index: Any = None) -> torch.device:
    if type(kind) is not str or (index is not None and type(index) is not int):
        raise UnpicklingError("a device is made of a name and a number")
    return torch.device(kind) if index is None else torch.device(kind, index)


def _get_layout(name: Any) -> torch.layout:
    if type(name) is not str or name not in LAYOUTS:
        raise UnpicklingError("a layout is one of PyTorch's names")
    return LAYOUTS[name]


def _encode(text: Any, encoding: Any) -> bytes:
    if type(text) is not str or encoding not in ("latin1", "latin-1"):
        raise UnpicklingError("bytes are written as latin1 text")
    return text.encode("latin1")


def _bytes() -> bytes:
    return b""


def _bytearray(data: Any = b"") -> bytearray:
    if type(data) is not bytes:
        raise UnpicklingError("a bytearray is made of bytes")
    return bytearray(data)


def _complex(real: Any, imaginary: Any) -> complex:
    if type(real) is not float or type(imaginary) is not float:
        raise UnpicklingError("a complex number is made of floats")
    return complex(real, imaginary)


def _ordered_dict(items: Any = None) -> OrderedDict[Any, Any]:
    pairs = [] if items is None else items  # Python 2 writes a list of lists of two
    if type(pairs) is not list or any(
        type(pair) not in (list, tuple) or len(pair) != 2 for pair in pairs
    ):
        raise UnpicklingError("an OrderedDict is made of pairs")
    return OrderedDict((hashable(key), value) for key, value in pairs)


def _counter(counts: Any) -> Counter[Any]:
    if type(counts) is not dict:
        raise UnpicklingError("a Counter is made of a dict")
    return Counter(counts)


def _set(items: Any) -> set[Any]:
    if type(items) is not list:
        raise UnpicklingError("a set is made of a list")
    return set(map(hashable, items))


def _frozenset(items: Any) -> frozenset[Any]:
    if type(items) is not list:
        raise UnpicklingError("a frozenset is made of a list")
    return frozen_set(items)


def _function(function: Callable[..., object]) -> Allowed:
    return Allowed(function, function)


def known_global(name: str) -> Allowed | None:
    """What a name of tensors and containers stands for; None for another."""
    if name in ALLOWED:
        return ALLOWED[name]
    module, _, last = name.rpartition(".")
    if module != "torch":
        return None
    if last in core.STORAGE_DTYPES:
        return Allowed(_StorageType(core.STORAGE_DTYPES[last]))
    dtype = core.find_dtype(last)
    return None if dtype is None else Allowed(dtype)


# name in the file → what goes on the stack, and what a call of it runs
ALLOWED: dict[str, Allowed] = {
    "torch._utils._rebuild_tensor": _function(_rebuild_tensor),
    "torch._utils._rebuild_tensor_v2": _function(_rebuild_tensor_v2),
    "torch._utils._rebuild_meta_tensor_no_storage": _function(_rebuild_meta_tensor_no_storage),
    "torch._utils._rebuild_sparse_tensor": _function(_rebuild_sparse_tensor),
    "torch._utils._rebuild_tensor_v3": _function(_rebuild_tensor_v3),
    "torch._utils._rebuild_parameter": _function(_rebuild_parameter),
    "torch._utils._rebuild_parameter_with_state": _function(_rebuild_parameter_with_state),
    "torch._tensor._rebuild_from_type_v2": _function(_rebuild_from_type_v2),
    "torch.serialization._get_layout": _function(_get_layout),
    "torch.Tensor": Allowed(torch.Tensor),
    "torch.storage.UntypedStorage": Allowed(_StorageType("uint8")),
    "torch.Size": Allowed(torch.Size, _size),
    "torch.device": Allowed(torch.device, _device),
    "_codecs.encode": Allowed(codecs.encode, _encode),
    "builtins.bytes": Allowed(bytes, _bytes),
    "builtins.bytearray": Allowed(bytearray, _bytearray),
    "builtins.complex": Allowed(complex, _complex),
    "builtins.set": Allowed(set, _set),
    "builtins.frozenset": Allowed(frozenset, _frozenset),
    "collections.OrderedDict": Allowed(OrderedDict, _ordered_dict),
    "collections.Counter": Allowed(Counter, _counter),
}
# The functions of tensors, which a pickle names where PyTorch has them.
NAMED_IN_PICKLES: list[Any] = []
for _name, _allowed in ALLOWED.items():
    if "._rebuild_" in _name or "._get_" in _name:
        NAMED_IN_PICKLES.append(_allowed.value)
        _allowed.value.__module__ = f"tiny_{_name.rpartition('.')[0]}"
