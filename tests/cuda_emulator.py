"""What the emulator of CUDA (src/cuda/host/queues.cpp) tells tests of the device `cuda`."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from tiny_torch.base import devices

_library = ctypes.CDLL(str(devices.LIBRARIES / "cuda_emulated.so"))
_library.tiny_torch_emulator_calls.restype = ctypes.c_uint64

# Another library makes another device the thread's; which one it is.
set_device: Callable[[int], None] = _library.tiny_torch_emulator_set_device
current_device: Callable[[], int] = _library.tiny_torch_emulator_device


def calls(function: str) -> int:
    """How often a function of CUDA's runtime was called so far; "waits": those that wait for the
    device, "launch": kernels."""
    return _library.tiny_torch_emulator_calls(function.encode())


def calls_of(body: Callable[[], object], *functions: str) -> list[int]:
    """How often body() calls each of the functions."""
    before = [calls(function) for function in functions]
    body()
    return [calls(function) - n for function, n in zip(functions, before, strict=True)]
