"""`torch.backends.cudnn`: the flags of a library that this build does not have.

They can be set and read, and change no result. `deterministic`: every kernel is, on a GPU, too.
`benchmark`: PyTorch would try several kernels and take the fastest, so that bits could differ from
run to run; here the shapes alone choose. `enabled`: there is nothing to switch off.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class CudnnModule(ModuleType):
    """The module, whose flags are bools. RuntimeError for anything else."""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(self.__dict__.get(name), bool) and not isinstance(value, bool):
            kind = type(value).__name__
            raise RuntimeError(f"set_{name}_cudnn expects a bool, but got {kind}")
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = CudnnModule

enabled = True
benchmark = False
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """False: this build has no cuDNN."""
    return False


def version() -> int | None:
    """None: this build has no cuDNN."""
    return None
