"""DLPack: tensors on the memory of other libraries' arrays, and theirs on ours, without a copy.

https://dmlc.github.io/dlpack/latest/python_spec.html
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from tiny_torch import _core
from tiny_torch.devices import device as as_device
from tiny_torch.tensor import Tensor, wrap

OLDEST_VERSIONED = 1


class DLDeviceType(IntEnum):
    """DLPack's number of a device: the only one that memory is exchanged on here."""

    kDLCPU = 1


def export(
    self: Tensor,
    *,
    stream: int | None = -1,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[Any, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """A DLPack capsule over this tensor's memory, or over a copy of it if `copy`.

    Raises BufferError for a tensor that requires grad, or that is asked for on another device.
    """
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if stream is not None and type(stream) is not int:
        raise TypeError("stream must be ``int`` or ``none``")
    if stream not in (None, -1):
        raise AssertionError("stream should be None on cpu.")
    if not self.is_cpu or (dl_device is not None and dl_device[0] != DLDeviceType.kDLCPU):
        raise BufferError(f"Can't export a tensor on {self.device} to device {dl_device}")
    array = self.array.clone() if copy else self.array
    versioned = max_version is not None and bool(max_version[0] >= OLDEST_VERSIONED)
    return _core.to_dlpack(array, versioned, bool(copy))


def export_device(self: Tensor) -> tuple[DLDeviceType, int]:
    """DLPack's name of the device: (kDLCPU, 0)."""
    if not self.is_cpu:
        raise BufferError(f"DLPack knows no device {self.device}")
    return DLDeviceType.kDLCPU, 0


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of a NumPy array, a PyTorch tensor, or another array with __dlpack__.

    A capsule will do, too; it can be taken once. Raises ValueError for negative strides,
    RuntimeError for a dtype that we lack and for memory that is not on the CPU.
    https://pytorch.org/docs/stable/generated/torch.from_dlpack.html

    >>> import numpy as np
    >>> import tiny_torch as torch
    >>> array = np.zeros(2)
    >>> torch.from_dlpack(array).fill_(3)
    tensor([3., 3.], dtype=torch.float64)
    >>> array
    array([3., 3.])
    """
    if not hasattr(ext_tensor, "__dlpack__"):
        if device is not None or copy is not None:
            raise AssertionError(
                "device and copy kwargs not supported when ext_tensor is already a DLPack capsule."
            )
        return wrap(_core.from_dlpack(ext_tensor))
    if device is not None and as_device(device).type == "cuda":
        raise AssertionError("Torch not compiled with CUDA enabled")
    if ext_tensor.__dlpack_device__()[0] != DLDeviceType.kDLCPU:
        raise RuntimeError("[from_dlpack] the memory is not on the CPU")
    try:
        # The version is asked for, because only then NumPy exports what may not be written.
        capsule = ext_tensor.__dlpack__(max_version=(1, 0))
    except TypeError:  # a library from before DLPack 1.0
        capsule = ext_tensor.__dlpack__()
    result = wrap(_core.from_dlpack(capsule))
    moved = result if device is None else result.to(device)
    return moved.clone() if copy and moved is result else moved


FUNCTIONS = {"from_dlpack": from_dlpack}
METHODS = {"__dlpack__": export, "__dlpack_device__": export_device}
