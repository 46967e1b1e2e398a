"""`torch.backends.cudnn`: the flags of a library that this build does not have.

They can be set and read, and change no result. `deterministic`: every kernel is, on a GPU, too.
`benchmark`: PyTorch would try several kernels and take the fastest, so that bits could differ from
run to run; here the shapes alone choose. `enabled`: there is nothing to switch off.
"""

from __future__ import annotations

import contextlib
import sys
from types import ModuleType
from typing import Any

from tiny_torch.compat.backends._flags import set_all, within
from tiny_torch.tensor import Tensor


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
benchmark_limit = None  # the number of kernels to try; None where there is no cuDNN
deterministic = False
allow_tf32 = True
fp32_precision = "none"
depthwise_kernel = "auto"


def is_available() -> bool:
    """False: this build has no cuDNN."""
    return False


def version() -> int | None:
    """None: this build has no cuDNN."""
    return None


def is_acceptable(tensor: Tensor) -> bool:
    """False: no tensor is computed with cuDNN."""
    return False


def set_flags(
    _enabled: bool | None = None,
    _benchmark: bool | None = None,
    _benchmark_limit: int | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
    _fp32_precision: str | None = "none",
    _depthwise_kernel: str | None = None,
) -> tuple:
    """Sets those flags that are not None, but the limit; answers what all were before."""
    given = {
        "enabled": _enabled,
        "benchmark": _benchmark,
        "benchmark_limit": None,
        "deterministic": _deterministic,
        "allow_tf32": _allow_tf32,
        "fp32_precision": _fp32_precision,
        "depthwise_kernel": _depthwise_kernel,
    }
    return set_all(sys.modules[__name__], given)


def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
    depthwise_kernel: str = "auto",
) -> contextlib.AbstractContextManager[None]:
    """Within it all flags have these values."""
    return within(
        set_flags,
        enabled,
        benchmark,
        benchmark_limit,
        deterministic,
        allow_tf32,
        fp32_precision,
        depthwise_kernel,
    )
