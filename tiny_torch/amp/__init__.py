"""Automatic mixed precision: products in half precision, what needs range in float32.

https://pytorch.org/docs/stable/amp.html. Which op computes in which dtype: policies.py.
"""

from typing import TYPE_CHECKING

from tiny_torch.amp.autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available

if TYPE_CHECKING:  # loaded when it is asked for: compat/paths.py
    from tiny_torch.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
