"""`autocast` and `GradScaler` of one device type, as `cuda.amp` and `cpu.amp` have them."""

from __future__ import annotations

import warnings
from typing import Any

from tiny_torch import amp


def warn(kind: str, name: str, new: str = "args...") -> None:
    first = f"'{kind}', args..." if new == "args..." else new
    warnings.warn(
        f"`torch.{kind}.amp.{name}(args...)` is deprecated. "
        f"Please use `torch.amp.{name}({first})` instead.",
        FutureWarning,
        stacklevel=3,
    )


def autocast_of(kind: str, default: Any) -> Any:
    """The class `autocast` of `torch.<kind>.amp`."""

    class autocast(amp.autocast):
        def __init__(
            self, enabled: bool = True, dtype: Any = default, cache_enabled: bool = True
        ) -> None:
            warn(kind, "autocast")
            super().__init__(kind, dtype, enabled, cache_enabled)

    return warn_with_name(autocast, kind)


def grad_scaler_of(kind: str) -> Any:
    """The class `GradScaler` of `torch.<kind>.amp`."""

    class GradScaler(amp.GradScaler):
        def __init__(
            self,
            init_scale: float = 2.0**16,
            growth_factor: float = 2.0,
            backoff_factor: float = 0.5,
            growth_interval: int = 2000,
            enabled: bool = True,
        ) -> None:
            warn(kind, "GradScaler")
            super().__init__(
                kind, init_scale, growth_factor, backoff_factor, growth_interval, enabled
            )

    return warn_with_name(GradScaler, kind)


def warn_with_name(cls: Any, kind: str) -> Any:
    cls.__module__, cls.__qualname__ = f"tiny_torch.{kind}.amp", cls.__name__
    cls.__doc__ = f"Deprecated: ``torch.amp.{cls.__name__}({kind!r}, ...)``."
    return cls
