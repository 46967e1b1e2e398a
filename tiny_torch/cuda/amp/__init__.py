"""The older names of `torch.amp` for CUDA; each warns of the newer one.

https://pytorch.org/docs/stable/amp.html
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tiny_torch import _core, amp, cuda
from tiny_torch.amp.deprecated import autocast_of, grad_scaler_of, warn

__all__ = ["GradScaler", "amp_definitely_not_available", "autocast", "custom_bwd", "custom_fwd"]

autocast = autocast_of("cuda", _core.float16)
GradScaler = grad_scaler_of("cuda")


def custom_fwd(fwd: Callable | None = None, *, cast_inputs: Any = None) -> Any:
    """Deprecated: ``torch.amp.custom_fwd(fwd, device_type="cuda", ...)``."""
    warn("cuda", "custom_fwd", "args..., device_type='cuda'")
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable) -> Any:
    """Deprecated: ``torch.amp.custom_bwd(bwd, device_type="cuda")``."""
    warn("cuda", "custom_bwd", "args..., device_type='cuda'")
    return amp.custom_bwd(bwd, device_type="cuda")


def amp_definitely_not_available() -> bool:
    """Whether there is no CUDA."""
    return not cuda.is_available()
