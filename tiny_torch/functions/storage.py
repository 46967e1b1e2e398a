"""Storages: the flat memory that tensors look at; several may look at one.

https://pytorch.org/docs/stable/storage.html
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tiny_torch import _core
from tiny_torch.base import devices
from tiny_torch.base.arguments import kind_of
from tiny_torch.base.devices import DEVICES, device, is_pinned, pin, to_device
from tiny_torch.base.dtypes import TYPE_NAMES, type_name
from tiny_torch.functions.common import check_kind
from tiny_torch.functions.public import function, method
from tiny_torch.functions.whole_memory import array_of, copy_with_storage, map_file
from tiny_torch.tensor import wrap

MOST_SHOWN = 1000


def warn_of_typed(stacklevel: int) -> None:
    warnings.warn(
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be "
        "the only storage class. This should only matter to you if you are using storages "
        "directly.  To access UntypedStorage directly, use tensor.untyped_storage() instead of "
        "tensor.storage()",
        UserWarning,
        stacklevel=stacklevel,
    )


class _Storage:
    """What both kinds have: a 1-d array over the whole memory."""

    __slots__ = ("_any",)
    _any: Any  # an array on the memory, whose size may change

    is_sparse = is_sparse_csr = is_hpu = False
    filename = None

    @classmethod
    def over(cls, array: Any, dtype: Any = None) -> Any:
        """The memory of an array, as elements of a dtype; of the array's if None."""
        storage = object.__new__(cls)
        _core.refuse_given(array, "looks at the storage of an argument")
        storage._any = array if dtype in (None, array.dtype) else array_of(array, dtype)
        return storage

    @property
    def _array(self) -> Any:
        return array_of(self._any, self._any.dtype)

    def array_of(self, dtype: Any) -> Any:
        """The whole memory as a 1-d array of a dtype."""
        return array_of(self._any, dtype)

    def _writable(self) -> Any:
        """The memory for a write that tensors do not notice: it counts as none of theirs."""
        return self._array.alias()

    @property
    def device(self) -> device:
        return DEVICES[self._any.device]

    @property
    def is_cuda(self) -> bool:
        return self._any.device == "cuda"

    def get_device(self) -> int | None:
        """The GPU's number; None where it is on none."""
        return self.device.index

    def data_ptr(self) -> int:
        """The address of the memory; 0 if there is none."""
        return self._array.data_ptr

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._any.storage_nbytes

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def size(self) -> int:
        """The number of elements."""
        return self._any.storage_nbytes // self._any.itemsize

    def element_size(self) -> int:
        """The number of bytes of an element."""
        return self._any.itemsize

    def copy_(self, source: Any, non_blocking: bool | None = None) -> Any:
        """Takes the bytes of another storage of as many; RuntimeError if it has others."""
        check_kind("copy_", "src", 1, source, "torch.Storage", _Storage)
        if source.nbytes() != self.nbytes():
            raise RuntimeError(
                f"size does not match, self was {self.nbytes()} bytes but src was "
                f"{source.nbytes()} bytes"
            )
        there = to_device(array_of(source._any, _core.uint8), self._any.device)
        array_of(self._writable(), _core.uint8).copy_(there)
        return self

    def resizable(self) -> bool:
        """Whether `resize_` may change its size: NumPy and others do not have its address."""
        return self._any.storage_resizable

    def _resize(self, size: Any) -> None:
        if isinstance(size, bool) or not isinstance(size, int):
            raise RuntimeError(f"resize_ expects an int, but got {type(size).__name__}")
        if size < 0:
            raise RuntimeError(f"resize_ expects a size of at least 0, but got {size}")
        self._any.resize_memory(size * self._any.itemsize)

    def is_shared(self) -> bool:
        """Whether processes that are forked share the memory."""
        return self._any.is_shared()

    def share_memory_(self) -> Any:
        """Moves it into memory that processes which are forked from now on share."""
        self._any.share_memory()
        return self

    def is_pinned(self, device: Any = None) -> bool:
        """Whether it is pinned memory, from which a GPU is copied to without waiting."""
        return is_pinned(self._any)

    def pin_memory(self, device: Any = None) -> Any:
        """A copy in pinned memory; itself if it is pinned."""
        return self.over(pin(self._array))

    def clone(self) -> Any:
        """A copy."""
        return self.over(self._array.clone())

    __copy__ = clone

    def __deepcopy__(self, memo: dict) -> Any:
        """A copy, which copies of tensors on this memory share."""
        return self.over(copy_with_storage(self._array, memo))

    def cpu(self) -> Any:
        """A copy in main memory; itself if it is there."""
        return self.to(device="cpu")

    def cuda(self, device: Any = None, non_blocking: bool = False) -> Any:
        """A copy on the GPU; itself if it is there. AssertionError in a build without CUDA."""
        if device is not None:
            devices.array_module(devices.device(device))
        return self.to(device="cuda", non_blocking=non_blocking)

    def to(self, *, device: Any, non_blocking: bool = False) -> Any:
        """A copy on another device; itself if it is there."""
        name = devices.device(device).type
        if self._any.device == name:
            return self
        return self.over(to_device(self._array, name, non_blocking))

    def tolist(self) -> list:
        """The elements as Python numbers."""
        return self._array.tolist()

    def __len__(self) -> int:
        return self.size()

    def __iter__(self) -> Iterator:
        return iter(self.tolist())

    def __getitem__(self, index: Any) -> Any:
        count = self.size()
        if isinstance(index, bool) or not isinstance(index, int):
            raise TypeError(f"can't index a {self._text()} with {type(index).__name__}")
        if not -count <= index < count:
            raise IndexError(f"index {index} out of range for storage of size {count}")
        return self._array.select(0, index).item()

    def __repr__(self) -> str:
        shown = "\n".join(f" {value}" for value in self.tolist()[:MOST_SHOWN]) or " "
        return f"{shown}\n[torch.storage.{self._text()} of size {len(self)}]"

    def _text(self) -> str:
        return f"UntypedStorage(device={self.device})"


def as_type(dtype: Any) -> Any:
    """The method `float` and its kin: a copy as elements of `dtype`."""

    def convert(self: _Storage) -> TypedStorage:
        array = self._array
        copy = array.clone() if array.dtype is dtype else array.astype(dtype)
        return TypedStorage.over(copy)

    return convert


for _name, _dtype in TYPE_NAMES.items():  # "torch.FloatTensor": float
    _name = _name.removeprefix("torch.").removesuffix("Tensor").lower()
    setattr(_Storage, _name, as_type(_dtype))


def empty_storage(size: int, dtype: Any, device: Any) -> Any:
    name = "cpu" if device is None else devices.device(device).type
    if size < 0:
        raise RuntimeError(f"a storage has at least 0 elements, not {size}")
    return devices.array_module(name).empty((size,), dtype)


class UntypedStorage(_Storage):
    """The memory as bytes; what `Tensor.untyped_storage()` returns.

    UntypedStorage(size) and UntypedStorage(ints) make one. A slice is the same memory.
    """

    __module__ = "tiny_torch.storage"  # where it is public, as its repr says

    __slots__ = ()

    def __init__(self, *arguments: Any, device: Any = None) -> None:
        if len(arguments) > 1:
            raise TypeError(
                "torch.UntypedStorage() received an invalid combination of arguments - got "
                f"({', '.join(map(kind_of, arguments))})"
            )
        first = arguments[0] if arguments else 0
        if isinstance(first, int):
            self._any = empty_storage(first, _core.uint8, device)
            return
        if not isinstance(first, Sequence):
            raise RuntimeError(
                f"torch.UntypedStorage(): Expected a sequence type, but got {type(first).__name__}"
            )
        for item in first:
            if not isinstance(item, int):
                raise RuntimeError(
                    "torch.UntypedStorage(): tried to construct a storage from a sequence "
                    f"({type(first).__name__}), but one of the items was of type "
                    f"{type(item).__name__} instead of int"
                )
        data = _core.from_bytes(bytes(item & 255 for item in first), _core.uint8)
        self._any = data if device is None else to_device(data, devices.device(device).type)

    def __reduce__(self) -> tuple:
        return UntypedStorage._from_bytes, (bytes(_core.storage_bytes(self.cpu()._any)),)

    @classmethod
    def _from_bytes(cls, data: bytes) -> UntypedStorage:
        return cls.over(_core.from_bytes(data, _core.uint8))

    @classmethod
    def over(cls, array: Any, dtype: Any = None) -> Any:
        return super().over(array, _core.uint8)

    @staticmethod
    def from_buffer(buffer: Any, byte_order: str = "native", *, dtype: Any) -> UntypedStorage:
        """A copy of a buffer's bytes, whose numbers of `dtype` become this machine's."""
        storage = UntypedStorage.over(_core.from_bytes(bytes(buffer), _core.uint8))
        if byte_order not in ("native", "little", "big"):
            raise ValueError(f"invalid byte_order '{byte_order}'")
        if storage.nbytes() % dtype.itemsize:
            raise ValueError(
                f"buffer size ({storage.nbytes()}) must be a multiple of element size "
                f"({dtype.itemsize})"
            )
        if byte_order not in ("native", sys.byteorder):
            storage.byteswap(dtype)
        return storage

    @staticmethod
    def from_file(filename: Any, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """A file's first `nbytes` bytes, read as they are asked for.

        Writes go into the file where it is `shared`, which is made as long as it must be; else the
        file stays as it is. RuntimeError for one that is missing or shorter.
        """
        return UntypedStorage.over(map_file(filename, shared, nbytes))

    def new(self) -> UntypedStorage:
        """One of no bytes on the same device."""
        return UntypedStorage(device=self.device)

    def untyped(self) -> UntypedStorage:
        return self

    def type(self) -> str:
        return "torch.storage.UntypedStorage"

    def fill_(self, value: int) -> UntypedStorage:
        """Every byte is `value` modulo 256."""
        if not isinstance(value, int):
            raise RuntimeError(f"fill_ expects int, but got {type(value).__name__}")
        self._writable().copy_(value & 255)
        return self

    def resize_(self, size: int) -> UntypedStorage:
        """Another number of bytes: of more the new ones hold anything.

        Of fewer the rest of the memory is the system's again, and tensors that look at it read
        zeros; on a GPU they must not read it. RuntimeError for memory that NumPy or another
        library has the address of.
        """
        self._resize(size)
        return self

    def byteswap(self, dtype: Any) -> None:
        """Turns the order of the bytes of each number of `dtype`."""
        size = dtype.itemsize
        rows = self._writable().as_strided((self.size() // size, size), (size, 1), 0)
        rows.copy_(rows.flip((1,)))

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            return super().__getitem__(index)
        start, stop = self._bounds(index)
        if self._any.device != "cpu":
            raise NotImplementedError(f"a slice of a storage on {self._any.device}")
        return self.over(_core.from_numpy(_core.to_numpy(self._array)[start:stop]))

    def __setitem__(self, index: Any, value: int) -> None:
        if not isinstance(value, int):
            found = type(value).__name__
            raise RuntimeError(
                f"can only set storage content with a int types, but got {found} instead"
            )
        if isinstance(index, slice):
            start, stop = self._bounds(index)
        elif not isinstance(index, int):
            raise RuntimeError(f"can't index a torch.UntypedStorage with {type(index).__name__}")
        elif not 0 <= index < self.size():
            raise RuntimeError("out of bounds")
        else:
            start, stop = index, index + 1
        self._writable().as_strided((stop - start,), (1,), start).copy_(value & 255)

    def _bounds(self, index: slice) -> tuple[int, int]:
        start, stop, step = index.indices(self.size())
        if step != 1:
            raise RuntimeError(
                f"Trying to slice with a step of {step}, but only a step of 1 is supported"
            )
        return start, max(start, stop)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._any.storage_id == other._any.storage_id

    def __hash__(self) -> int:
        return hash(self._any.storage_id)


WRONG_TYPED = """TypedStorage() received an invalid combination of arguments. Expected one of:
 * (*, torch.device device, torch.dtype dtype)
 * (int size, *, torch.device device, torch.dtype dtype)
 * (Sequence data, *, torch.device device, torch.dtype dtype)
 * (*, UntypedStorage wrap_storage, torch.dtype dtype)"""


class TypedStorage(_Storage):
    """The memory as elements of a dtype; what the deprecated `Tensor.storage()` returns."""

    __module__ = "tiny_torch.storage"  # where it is public, as its repr says

    __slots__ = ()

    def __init__(
        self, *arguments: Any, wrap_storage: Any = None, dtype: Any = None, device: Any = None
    ) -> None:
        warn_of_typed(3)
        if len(arguments) > (wrap_storage is None):
            raise RuntimeError(WRONG_TYPED)
        if wrap_storage is not None:
            if dtype is None or device is not None:
                raise RuntimeError(WRONG_TYPED)
            if not isinstance(wrap_storage, UntypedStorage) or not isinstance(dtype, _core.dtype):
                raise TypeError(WRONG_TYPED)
            self._any = wrap_storage.array_of(dtype)
            return
        dtype = _core.get_default_dtype() if dtype is None else dtype
        first = arguments[0] if arguments else 0
        if isinstance(first, int):
            self._any = empty_storage(first, dtype, device)
        elif isinstance(first, Sequence):
            values = np.array(first)
            if values.dtype.kind not in "biuf" or values.ndim != 1:
                raise TypeError(f"new(): invalid data type '{type(first).__name__}'")
            data = _core.from_numpy(values).astype(dtype)
            self._any = data if device is None else to_device(data, devices.device(device).type)
        else:
            raise TypeError(f"{WRONG_TYPED}\nArgument type not recognized: {type(first)}")

    @staticmethod
    def from_buffer(buffer: Any, byte_order: str = "native", *, dtype: Any = None) -> TypedStorage:
        """A copy of a buffer's bytes, whose numbers of `dtype` become this machine's."""
        dtype = _core.get_default_dtype() if dtype is None else dtype
        return TypedStorage.over(
            UntypedStorage.from_buffer(buffer, byte_order, dtype=dtype).array_of(dtype)
        )

    @property
    def dtype(self) -> Any:
        return self._any.dtype

    def array_of(self, dtype: Any) -> Any:
        """The whole memory as a 1-d array of its own dtype; RuntimeError for another one."""
        if dtype is not self.dtype:
            raise RuntimeError(
                f"Expected a Storage of type {dtype} or an UntypedStorage, but got {self.dtype}"
            )
        return self._array

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return UntypedStorage.over(self._any)

    def type(self) -> str:
        """The name of its type, such as "torch.FloatStorage"."""
        return type_name(self._any.dtype).replace("Tensor", "Storage")

    def pickle_storage_type(self) -> str:
        return self.type().rpartition(".")[2]

    def fill_(self, value: Any) -> TypedStorage:
        """Every element is `value`, which its dtype can hold."""
        self[:] = value
        return self

    def resize_(self, size: int) -> None:
        """Another number of elements, as `UntypedStorage.resize_`."""
        self._resize(size)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return super().__getitem__(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        if not isinstance(index, int | slice):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        if isinstance(value, _Storage):
            raise RuntimeError(f"cannot set item with value type {type(value)}")
        wrap(self._writable())[index] = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedStorage) and self.data_ptr() == other.data_ptr()

    __hash__ = object.__hash__

    def _text(self) -> str:
        return f"TypedStorage(dtype={self.dtype}, device={self.device})"


@function
def is_storage(obj: Any, /) -> bool:
    """Whether `obj` is a storage. https://pytorch.org/docs/stable/generated/torch.is_storage.html

    >>> import tiny_torch as torch
    >>> torch.is_storage(torch.zeros(2).untyped_storage()), torch.is_storage(torch.zeros(2))
    (True, False)
    """
    return isinstance(obj, _Storage)


@method
def untyped_storage(self: Any) -> UntypedStorage:
    """The memory that the tensor looks at.

    https://pytorch.org/docs/stable/generated/torch.Tensor.untyped_storage.html

    >>> import tiny_torch as torch
    >>> x = torch.zeros(2, 3)
    >>> x.untyped_storage().nbytes(), x[1].untyped_storage() == x.untyped_storage()
    (24, True)
    """
    return UntypedStorage.over(self.array)


@method
def storage(self: Any) -> TypedStorage:
    """The memory that the tensor looks at, as elements; deprecated for `untyped_storage`."""
    warn_of_typed(3)
    return TypedStorage.over(self.array)


function(TypedStorage)
function(UntypedStorage)
