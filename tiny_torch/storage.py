"""Storages: the flat memory that tensors look at; several may look at one.

https://pytorch.org/docs/stable/storage.html
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from typing import Any

from tiny_torch import _core, devices
from tiny_torch.autograd.view import LEAF
from tiny_torch.devices import DEVICES, device, is_pinned, pinned, to_device
from tiny_torch.dtypes import type_name
from tiny_torch.tensor import wrap

MOST_SHOWN = 1000


def copied_with_storage(array: Any, memo: dict) -> Any:
    """A copy of an array with all of its storage, which other copies of the same `memo` share."""
    if array.device != "cpu" or not array.storage_nbytes:
        return array.clone()
    copies = memo.setdefault("torch", {})  # where PyTorch has them, too
    key = array.storage_id
    if key not in copies:
        copies[key] = _core.from_bytes(_core.storage_bytes(array), _core.uint8)
    return copies[key].reinterpret(array.dtype, array.shape, array.strides, array.offset)


class _Storage:
    """What both kinds have: a 1-d array over the whole memory."""

    __slots__ = ("_array",)

    def __init__(self, array: Any, dtype: Any) -> None:
        count = array.storage_nbytes // dtype.itemsize
        if array.dtype is dtype:
            self._array = array.as_strided((count,), (1,), 0)
        else:
            self._array = array.reinterpret(dtype, (count,), (1,), 0)

    def array_of(self, dtype: Any) -> Any:
        """The whole memory as a 1-d array of a dtype."""
        count = self._array.storage_nbytes // dtype.itemsize
        return self._array.reinterpret(dtype, (count,), (1,), 0)

    @property
    def device(self) -> device:
        return DEVICES[self._array.device]

    @property
    def is_cuda(self) -> bool:
        return self._array.device == "cuda"

    def data_ptr(self) -> int:
        """The address of the memory; 0 if there is none."""
        return self._array.data_ptr

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._array.storage_nbytes

    def size(self) -> int:
        """The number of elements."""
        return self._array.size

    def element_size(self) -> int:
        """The number of bytes of an element."""
        return self._array.itemsize

    def is_shared(self) -> bool:
        """Whether processes that are forked share the memory."""
        return self._array.is_shared()

    def share_memory_(self) -> Any:
        """Moves it into memory that processes which are forked from now on share."""
        self._array.share_memory()
        return self

    def is_pinned(self, device: Any = None) -> bool:
        """Whether it is pinned memory, from which a GPU is copied to without waiting."""
        return is_pinned(self._array)

    def pin_memory(self, device: Any = None) -> Any:
        """A copy in pinned memory; itself if it is pinned."""
        return type(self)(pinned(self._array), self._array.dtype)

    def clone(self) -> Any:
        """A copy."""
        return type(self)(self._array.clone(), self._array.dtype)

    __copy__ = clone

    def __deepcopy__(self, memo: dict) -> Any:
        """A copy, which copies of tensors on this memory share."""
        return type(self)(copied_with_storage(self._array, memo), self._array.dtype)

    def cpu(self) -> Any:
        """A copy in main memory; itself if it is there."""
        if self._array.device == "cpu":
            return self
        return type(self)(to_device(self._array, "cpu"), self._array.dtype)

    def cuda(self, device: Any = None, non_blocking: bool = False) -> Any:
        """A copy on the GPU; itself if it is there. AssertionError in a build without CUDA."""
        if device is not None:
            devices.array_module(devices.device(device))
        if self.is_cuda:
            return self
        return type(self)(to_device(self._array, "cuda", non_blocking), self._array.dtype)

    def tolist(self) -> list:
        """The elements as Python numbers."""
        return self._array.tolist()

    def __len__(self) -> int:
        return self._array.size

    def __iter__(self) -> Iterator:
        return iter(self.tolist())

    def __getitem__(self, index: int) -> Any:
        count = self._array.size
        if not -count <= index < count:
            raise IndexError(f"index {index} out of range for storage of size {count}")
        return self._array.select(0, index).item()

    def __repr__(self) -> str:
        shown = "\n".join(f" {value}" for value in self.tolist()[:MOST_SHOWN])
        return f"{shown}\n[torch.storage.{self._text()} of size {len(self)}]"

    def _text(self) -> str:
        return f"UntypedStorage(device={self.device})"


class UntypedStorage(_Storage):
    """The memory as bytes; what `Tensor.untyped_storage()` returns."""

    __slots__ = ()

    def __init__(self, array: Any, dtype: Any = _core.uint8) -> None:
        super().__init__(array, dtype)

    def resizable(self) -> bool:
        """False: `Tensor.resize_` is what makes it larger."""
        return False

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._array.storage_id == other._array.storage_id

    def __hash__(self) -> int:
        return hash(self._array.storage_id)


class TypedStorage(_Storage):
    """The memory as elements of a dtype; what the deprecated `Tensor.storage()` returns."""

    __slots__ = ()

    @property
    def dtype(self) -> Any:
        return self._array.dtype

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return UntypedStorage(self._array)

    def type(self) -> str:
        """The name of its type, such as "torch.FloatStorage"."""
        return type_name(self._array.dtype).replace("Tensor", "Storage")

    def _text(self) -> str:
        return f"TypedStorage(dtype={self.dtype}, device={self.device})"


def untyped_storage(self: Any) -> UntypedStorage:
    """The memory that the tensor looks at.

    https://pytorch.org/docs/stable/generated/torch.Tensor.untyped_storage.html

    >>> import tiny_torch as torch
    >>> x = torch.zeros(2, 3)
    >>> x.untyped_storage().nbytes(), x[1].untyped_storage() == x.untyped_storage()
    (24, True)
    """
    return UntypedStorage(self.array)


def storage(self: Any) -> TypedStorage:
    """The memory that the tensor looks at, as elements; deprecated for `untyped_storage`."""
    warnings.warn(
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be "
        "the only storage class. This should only matter to you if you are using storages "
        "directly.  To access UntypedStorage directly, use tensor.untyped_storage() instead of "
        "tensor.storage()",
        UserWarning,
        stacklevel=2,
    )
    return TypedStorage(self.array, self.array.dtype)


def deep_copied(tensor: Any, memo: dict) -> Any:
    """What copy.deepcopy answers for a leaf; RuntimeError for another tensor."""
    if id(tensor) in memo:
        return memo[id(tensor)]
    if not tensor.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment.  If you were attempting to deepcopy a module, this may be "
            "because of a torch.nn.utils.weight_norm usage, see "
            "https://github.com/pytorch/pytorch/pull/103001"
        )
    edge = LEAF if tensor.requires_grad else None
    result = wrap(copied_with_storage(tensor.array, memo), edge, type(tensor))
    memo[id(tensor)] = result
    if tensor._grad is not None:
        result._grad = copy.deepcopy(tensor._grad, memo)
    result.__dict__.update(copy.deepcopy(tensor.__dict__, memo))
    return result


FUNCTIONS: dict[str, Any] = {}
METHODS = {"__deepcopy__": deep_copied, "storage": storage, "untyped_storage": untyped_storage}
