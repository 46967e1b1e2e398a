"""`torch.cpu`: what PyTorch's code asks of any device, mixed precision; beside them, memory."""

from typing import Any

from tiny_torch.compat.cpu import amp, memory
from tiny_torch.compat.cpu.memory import *


def device_count() -> int:
    """1: the CPU is one device."""
    return 1


def is_available() -> bool:
    """True."""
    return True


def is_initialized() -> bool:
    """True."""
    return True


def current_device() -> str:
    """The only one: "cpu"."""
    return "cpu"


def set_device(device: Any) -> None:
    """Nothing: there is one."""


def synchronize(device: Any = None) -> None:
    """Nothing: what was called is done."""


__all__ = [
    "amp",
    "current_device",
    "device_count",
    "is_available",
    "is_initialized",
    "set_device",
    "synchronize",
    *memory.__all__,
]
