"""`torch.backends.cpu`: what kernels are built for, and kernels of one's own in their place.

https://pytorch.org/docs/stable/backends.html#torch-backends-cpu
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from typing import Any

from tiny_torch import _core
from tiny_torch.base.modes import Scope

CAPABILITIES = {"v4amx": "AVX512", "v4bf16": "AVX512", "v4": "AVX512", "v3": "AVX2"}


def get_cpu_capability() -> str:
    """PyTorch's name for the instruction set that was chosen: "AVX512", "AVX2" or "DEFAULT"."""
    return CAPABILITIES.get(_core.instruction_set, "DEFAULT")


def kernels() -> dict[str, tuple]:
    """The names of the kernels that `override` takes, each with its dtypes.

    (None,) stands for a kernel that serves all dtypes.

    >>> import tiny_torch as torch
    >>> torch.backends.cpu.kernels()["softmax"]
    (None,)
    """
    return _core.kernels()


class override(Scope):
    """Puts a kernel from a shared object in the place of ours, until `remove` or the ``with`` ends.

    `library`: the path of an object whose source says ``TT_OVERRIDE(Table, name, function)``, as
    src/core/devices/override.h explains; `dtype`: of the kernel, where there is one for each. The
    kernel must be right: it runs in this process, on memory that it is handed. A library that says
    ``TT_REPLACED(Type, name)`` is told which kernel it replaces, to hand calls over to it.

    Raises ValueError for a name or dtype that has no kernel, OSError where the library cannot be
    loaded, RuntimeError where it does not override `name`.
    """

    def __init__(self, name: str, library: str | os.PathLike, dtype: Any = None) -> None:
        dtypes = kernels().get(name)
        if dtypes is None:
            raise ValueError(f"there is no kernel {name!r}: backends.cpu.kernels() lists them")
        if dtype not in dtypes:
            raise ValueError(f"kernel {name!r} is for dtypes {dtypes}, not {dtype}")
        self.name, self.dtype = name, dtype
        self.library = ctypes.CDLL(os.fspath(library))
        try:
            address = ctypes.c_void_p.in_dll(self.library, f"tt_override_{name}").value
        except ValueError:
            raise RuntimeError(f"{library} has no TT_OVERRIDE of {name!r}") from None
        self.before: int | None = _core.replace_kernel(name, dtype, address)
        with contextlib.suppress(ValueError):  # it need not ask
            ctypes.c_void_p.in_dll(self.library, f"tt_replaced_{name}").value = self.before

    def remove(self) -> None:
        """Puts back what was there before."""
        if self.before is not None:
            _core.replace_kernel(self.name, self.dtype, self.before)
            self.before = None

    def begin(self) -> override:
        return self

    def restore(self, before: None) -> None:
        self.remove()
