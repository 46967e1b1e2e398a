"""The older names of `torch.amp` for the CPU; each warns of the newer one.

https://pytorch.org/docs/stable/amp.html
"""

from __future__ import annotations

from tiny_torch import _core
from tiny_torch.amp.deprecated import autocast_of, grad_scaler_of

__all__ = ["GradScaler", "autocast"]

autocast = autocast_of("cpu", _core.bfloat16)
GradScaler = grad_scaler_of("cpu")
