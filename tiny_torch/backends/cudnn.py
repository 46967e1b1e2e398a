"""`torch.backends.cudnn`: the flags of a library that this build does not have."""

from __future__ import annotations

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
