"""`torch.cuda` of a build without CUDA: there is no device, and what needs one says so.

The answers are those of PyTorch's CPU build. https://pytorch.org/docs/stable/cuda.html
"""

from __future__ import annotations

from typing import Any, NoReturn

from tiny_torch.devices import device as _device


class OutOfMemoryError(RuntimeError):
    """What PyTorch raises where a GPU's memory is exhausted."""

    __module__ = "tiny_torch"


def is_available() -> bool:
    """False: this build has no CUDA."""
    return False


def device_count() -> int:
    """0: this build has no CUDA."""
    return 0


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False: this build has no CUDA."""
    return False


def manual_seed(seed: int) -> None:
    """Does nothing with a number: there is no generator on a GPU."""
    int(seed)


def manual_seed_all(seed: int) -> None:
    """Does nothing with a number: there is no generator on a GPU."""
    int(seed)


def empty_cache() -> None:
    """Does nothing: there is no cache of a GPU's memory."""


def current_device() -> int:
    """Raises AssertionError: this build has no CUDA."""
    _refuse()


def get_device_name(device: Any = None) -> str:
    """Raises AssertionError: this build has no CUDA."""
    _refuse()


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Raises AssertionError: this build has no CUDA."""
    _refuse()


def get_device_properties(device: Any = None) -> Any:
    """Raises AssertionError: this build has no CUDA."""
    _refuse()


def synchronize(device: Any = None) -> None:
    """Raises AssertionError: this build has no CUDA."""
    _refuse()


def set_device(device: Any) -> None:
    """Raises AssertionError: this build has no CUDA. A negative number asks for nothing."""
    if isinstance(device, int) and device < 0:
        return
    if not isinstance(device, int):
        place = device if device is None else _device(device)
        if place is None or place.index is None:
            raise ValueError(
                f"Expected a torch.device with a specified index or an integer, but got:{device}"
            )
        if place.type != "cuda":
            raise ValueError(f"Expected a cuda device, but got: {device}")
    _refuse()


def _refuse() -> NoReturn:
    raise AssertionError("Torch not compiled with CUDA enabled")
