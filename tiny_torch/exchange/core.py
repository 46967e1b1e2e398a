"""What saving and loading ask of Tensor and NDArray, and PyTorch's names of the storage classes."""

from __future__ import annotations

import re
from typing import Any

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.base.devices import to_device

_KINDS = """
Bool=bool Byte=uint8 Char=int8 Short=int16 Int=int32 Long=int64 Half=float16 BFloat16=bfloat16
Float=float32 Double=float64 ComplexFloat=complex64 ComplexDouble=complex128 QInt8=qint8
QInt32=qint32 QUInt8=quint8 QUInt4x2=quint4x2 QUInt2x4=quint2x4
"""
STORAGE_DTYPES = {
    f"{name}Storage": dtype for name, dtype in (pair.split("=") for pair in _KINDS.split())
}
STORAGE_NAMES = {dtype: name for name, dtype in STORAGE_DTYPES.items()}
_DTYPE_NAME = re.compile(r"bool|bfloat16|(u?int|float|complex|q?u?int|bits)\d\w*")


def storage_key(array: Any) -> int:
    """Equal for two arrays that share a storage."""
    return array.storage_id


def storage_bytes(array: Any) -> memoryview:
    """The whole storage, also what lies outside of the array; valid as long as the array lives.

    A copy on the host, if the array is on a GPU.
    """
    count = array.storage_nbytes
    if count and array.device != "cpu":
        whole = array.reinterpret(_core.uint8, (count,), (1,), 0)
        return memoryview(to_device(whole, "cpu").numpy())
    return _core.storage_bytes(array) if count else memoryview(b"")


def user_attributes(tensor: torch.Tensor) -> dict[str, Any]:
    """What a user has set on a tensor; not its hooks, which are never saved."""
    cls = type(tensor)
    return {name: value for name, value in tensor.__dict__.items() if not hasattr(cls, name)}


def dtype_name(dtype: torch.dtype) -> str:
    """`float32` for torch.float32."""
    return str(dtype).removeprefix("torch.")


def find_dtype(name: str) -> torch.dtype | None:
    """The dtype of that name; None if `name` does not name one.

    Raises NotImplementedError for a dtype of PyTorch's that we lack.
    """
    if not _DTYPE_NAME.fullmatch(name):
        return None
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise NotImplementedError(f"[load] tiny_torch has no tensors of dtype {name}")
    return dtype
