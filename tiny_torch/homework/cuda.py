"""A student's CUDA kernels on the emulated device: they are started, and their faults worded.

The library has a function `run`, made by TASK of homework/5_cuda/glue.h, which starts the kernels
and answers what the emulator has found, or nothing.
"""

from __future__ import annotations

import ctypes
import re
from pathlib import Path
from typing import Any

import numpy as np

from tiny_torch import Tensor, devices, from_numpy
from tiny_torch.homework import kernel

DEVICE = "cuda-emulated"


class Fault(RuntimeError):
    """What the emulator says of a kernel."""


class Kernels:
    """A student's library, which is called as its `run`.

    Arrays are copied to the device, and all of them answered as they are afterwards; an int is
    passed as int, a float as float. Raises Fault.
    """

    def __init__(self, library: str) -> None:
        self._library = ctypes.CDLL(library)
        self._library.run.restype = ctypes.c_char_p

    def __call__(self, *arguments: Any) -> list[np.ndarray]:
        there = [from_numpy(x).to(DEVICE) if isinstance(x, np.ndarray) else x for x in arguments]
        fault = self._library.run(*map(passed, there))
        if fault:
            raise Fault(fault.decode())
        return [np.array(x.cpu().numpy()) for x in there if isinstance(x, Tensor)]

    def count(self, name: str) -> int:
        """What the last call did, as glue.h counts it: `global_bytes_read` or `products`."""
        return ctypes.c_int64.in_dll(self._library, name).value


def passed(value: Any) -> Any:
    if isinstance(value, Tensor):
        return ctypes.c_void_p(value.data_ptr())
    return ctypes.c_float(value) if isinstance(value, float) else ctypes.c_int(value)


def open_device() -> None:
    """Loads the emulator, and reserves its memory, while a process may still do both."""
    devices.array_module(DEVICE)
    from_numpy(np.zeros(1, np.float32)).to(DEVICE).cpu()


def with_source(fault: str, library: Path, file: str, text: str) -> tuple[str, int | None]:
    """The fault with the lines of the student's `file` that it names, and the last one's number."""
    fault = kernel.with_lines(fault, library).removeprefix("CUDA error in ")
    fault = re.sub(rf"\(at \S*{re.escape(file)}:(\d+)\)", r"(line \1)", fault)
    numbers = [int(number) for number in re.findall(r"\(line (\d+)\)", fault)]
    if not numbers:
        return fault, None
    source = text.splitlines()
    shown = [f"{n:4} | {source[n - 1]}" for n in sorted(set(numbers)) if n <= len(source)]
    said = fault.removesuffix(f" (line {numbers[-1]})")
    return "\n".join([said, *shown]), numbers[-1]
