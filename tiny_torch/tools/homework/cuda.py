"""A student's CUDA kernels on the emulated device, in the student's process.

The library has a function `run`, made by TASK of homework/5_cuda/glue.h, which starts the kernels
and answers what the emulator has found, or nothing. Nothing of the framework but its arrays is
loaded here.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tiny_torch import _core
from tiny_torch.tools.homework.task import Task
from tiny_torch.tools.homework.values import decode, encode

DEVICE = "cuda-emulated"
EMULATOR = Path(_core.__file__).parent / "lib" / "cuda_emulated.so"
COUNTS: dict[str, Any] = {  # of glue.h
    "global_bytes_read": ctypes.c_int64,
    "products": ctypes.c_int64,
    "bytes_of_a_thread": ctypes.c_int64,
    "sum_of_products": ctypes.c_double,
}


class Fault(RuntimeError):
    """What the emulator says of a kernel."""


class Kernels:
    """A student's library.

    Arrays are copied to the device, and all of them answered as they are afterwards; an int is
    passed as int, a float as float. Raises Fault.
    """

    def __init__(self, library: str) -> None:
        self._library = ctypes.CDLL(library)
        self._library.run.restype = ctypes.c_char_p

    def __call__(self, *arguments: Any) -> dict[str, Any]:
        """The arrays, and what the call did, as glue.h counts it."""
        there = [to_device(x) if isinstance(x, np.ndarray) else x for x in arguments]
        fault = self._library.run(*map(argument, there))
        if fault:
            raise Fault(fault.decode())
        arrays = [to_host(x) for x in there if isinstance(x, _core.NDArray)]
        counts = {name: kind.in_dll(self._library, name).value for name, kind in COUNTS.items()}
        return {"arrays": arrays, "counts": counts}


def to_device(x: np.ndarray) -> Any:
    return _core.to_device(_core.from_numpy(x), DEVICE)


def to_host(x: Any) -> np.ndarray:
    return np.array(_core.to_device(x, "cpu").numpy())


def argument(value: Any) -> Any:
    if isinstance(value, _core.NDArray):
        return ctypes.c_void_p(value.data_ptr)
    return ctypes.c_float(value) if isinstance(value, float) else ctypes.c_int(value)


def open_device() -> None:
    """Loads the emulator, and reserves its memory, while a process may still do both."""
    _core.load_device(DEVICE, str(EMULATOR))
    to_host(to_device(np.zeros(1, np.float32)))


def open_task(task: Task, request: dict[str, Any]) -> tuple[Callable, list[Path]]:
    """See WAYS of worker.py."""
    open_device()

    def load() -> Callable[[bytes], bytes]:
        mine = Kernels(request["text"])
        return lambda message: encode({"value": mine(*decode(message))})

    return load, [Path(np.__path__[0])]
