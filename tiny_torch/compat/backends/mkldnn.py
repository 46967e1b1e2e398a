"""`torch.backends.mkldnn`: Intel's kernels for nets, which this build does not use."""

from __future__ import annotations

import contextlib
import sys

from tiny_torch.compat.backends._flags import set_all, within
from tiny_torch.compat.backends.mkl import is_available as is_available

enabled = False
deterministic = False
allow_tf32 = False
fp32_precision = "none"


def set_flags(
    _enabled: bool | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
    _fp32_precision: str | None = "none",
) -> tuple:
    """Sets those flags that are not None; answers what all were before."""
    given = {
        "enabled": _enabled,
        "deterministic": _deterministic,
        "allow_tf32": _allow_tf32,
        "fp32_precision": _fp32_precision,
    }
    return set_all(sys.modules[__name__], given)


def flags(
    enabled: bool = False,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
) -> contextlib.AbstractContextManager[None]:
    """Within it all flags have these values."""
    return within(set_flags, enabled, deterministic, allow_tf32, fp32_precision)
