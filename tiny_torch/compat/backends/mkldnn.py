"""`torch.backends.mkldnn`: Intel's kernels for nets, which this build does not use."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

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
    before = tuple(globals()[name] for name in given)
    globals().update({name: value for name, value in given.items() if value is not None})
    return before


@contextlib.contextmanager
def flags(
    enabled: bool = False,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
) -> Iterator[None]:
    """Within it all flags have these values."""
    before = set_flags(enabled, deterministic, allow_tf32, fp32_precision)
    try:
        yield
    finally:
        set_flags(*before)
