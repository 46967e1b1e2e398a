"""Tensors on the memory of other libraries' arrays, and theirs on ours, without a copy.

By DLPack, https://dmlc.github.io/dlpack/latest/python_spec.html, and CUDA's array interface.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from tiny_torch import _core
from tiny_torch.base.devices import array_module, cuda_accelerator, cuda_count, is_pinned
from tiny_torch.base.dtypes import TYPE_STRINGS
from tiny_torch.base.layouts import contiguous_strides
from tiny_torch.functions.public import function, method
from tiny_torch.tensor import Tensor, wrap

OLDEST_VERSIONED = 1


class DLDeviceType(IntEnum):
    """DLPack's numbers of the devices that memory is exchanged on here."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3


@method("__dlpack__")
def export(
    self: Tensor,
    *,
    stream: int | None = -1,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[Any, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """A DLPack capsule over this tensor's memory, or over a copy of it if `copy`.

    `stream`, of a tensor on a GPU, waits for the current stream: 1 is the default stream, None too,
    and -1 waits for nothing. Raises BufferError for a tensor that requires grad, or that is asked
    for on another device.
    """
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if stream is not None and type(stream) is not int:
        raise TypeError("stream must be ``int`` or ``none``")
    if not self.is_cuda and stream not in (None, -1):
        raise AssertionError("stream should be None on cpu.")
    kind = DLDeviceType.kDLCUDA if self.is_cuda else DLDeviceType.kDLCPU
    if not (self.is_cpu or self.is_cuda) or (dl_device is not None and dl_device[0] != kind):
        raise BufferError(f"Can't export a tensor on {self.device} to device {dl_device}")
    array = self.array.clone() if copy else self.array
    if self.is_cuda:
        let_wait(stream)
    versioned = max_version is not None and bool(max_version[0] >= OLDEST_VERSIONED)
    return _core.to_dlpack(array, versioned, bool(copy))


def let_wait(stream: int | None) -> None:
    """The stream that somebody else names by DLPack's rules waits for our current one."""
    if stream == -1:
        return
    if stream == 2:
        raise BufferError("per-thread default stream is not supported.")
    if stream == 0:
        raise AssertionError("unsupported stream on CUDA: 0.")
    cuda_accelerator().let_wait(1 if stream is None else stream)


@method("__dlpack_device__")
def export_device(self: Tensor) -> tuple[DLDeviceType, int]:
    """DLPack's name of the device: (kDLCPU, 0), (kDLCUDA, 0), (kDLCUDAHost, 0) if it is pinned."""
    if self.is_cuda:
        return DLDeviceType.kDLCUDA, 0
    if is_pinned(self.array):
        return DLDeviceType.kDLCUDAHost, 0
    if not self.is_cpu:
        raise BufferError(f"DLPack knows no device {self.device}")
    return DLDeviceType.kDLCPU, 0


@function
def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of a NumPy array, a PyTorch tensor, or another array with __dlpack__.

    A capsule will do, too; it can be taken once. Raises ValueError for negative strides,
    RuntimeError for a dtype that we lack and for memory that is neither on the CPU nor on the GPU.
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
    if device is not None:
        array_module(device)  # raises where there is no such device
    kind = ext_tensor.__dlpack_device__()[0]
    on_gpu = kind == DLDeviceType.kDLCUDA
    if on_gpu and not cuda_count():
        raise RuntimeError("[from_dlpack] the memory is not on the CPU, and there is no GPU")
    if kind not in tuple(DLDeviceType):
        raise RuntimeError("[from_dlpack] the memory is not on the CPU")
    options = {}
    if on_gpu:
        array_module("cuda")
        table = cuda_accelerator()
        options["stream"] = table.native_stream(table.current_stream()) or 1
    try:
        # The version is asked for, because only then NumPy exports what may not be written.
        capsule = ext_tensor.__dlpack__(max_version=(1, 0), **options)
    except TypeError:  # a library from before DLPack 1.0
        capsule = ext_tensor.__dlpack__(**options)
    result = wrap(_core.from_dlpack(capsule))
    moved = result if device is None else result.to(device)
    return moved.clone() if copy and moved is result else moved


def from_cuda_array(data: Any) -> Any:
    """An array on the memory of another library's array on the GPU.

    The current stream waits for the one that it names. Raises TypeError for a dtype that we lack,
    ValueError for negative strides and for the stream 0, which has no meaning there.
    https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html
    """
    module, told = array_module("cuda"), data.__cuda_array_interface__
    dtypes = {name: dtype for dtype, name in TYPE_STRINGS.items()}
    dtype = dtypes.get(told["typestr"])
    if dtype is None:
        raise TypeError(f"no dtype for the type '{told['typestr']}' of a CUDA array")
    shape, strides = tuple(told["shape"]), told.get("strides")
    if 0 in shape:
        return module.empty(shape, dtype)
    if strides is None:
        steps = contiguous_strides(shape)
    else:
        if any(step < 0 or step % dtype.itemsize for step in strides):
            raise ValueError(f"strides {strides} of a CUDA array: not of whole elements from 0")
        steps = tuple(step // dtype.itemsize for step in strides)
    last = sum((n - 1) * step for n, step in zip(shape, steps, strict=True))
    if (stream := told.get("stream")) is not None:
        if stream == 0:
            raise ValueError("stream 0 of a CUDA array: 1 is the default stream")
        cuda_accelerator().wait_for(stream)
    whole = _core.borrowed("cuda", told["data"][0], (last + 1) * dtype.itemsize, data)
    return whole.reinterpret(dtype, shape, steps, 0)
