"""`torch.accelerator`: the devices beside the CPU, of which this build has none."""

from __future__ import annotations

from tiny_torch.devices import device


def is_available() -> bool:
    """False: there is no accelerator."""
    return False


def device_count() -> int:
    """0: there is no accelerator."""
    return 0


def current_accelerator(check_available: bool = False) -> device | None:
    """None: there is no accelerator."""
    return None
