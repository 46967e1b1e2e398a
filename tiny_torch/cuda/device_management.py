"""The device itself: whether it is there, what it is, which one is current.

There is one at most, ``cuda:0``. Nothing is loaded before somebody asks for a device
(tiny_torch/base/devices.py). https://pytorch.org/docs/stable/cuda.html
"""

from __future__ import annotations

from typing import Any

from tiny_torch.base import devices
from tiny_torch.base.devices import device as _device


def table() -> Any:
    """The device's streams, events, memory and graphs: core/devices/accelerator.h, entry by entry.

    Raises AssertionError in a build without CUDA, RuntimeError where there is no driver or GPU.
    """
    devices.array_module("cuda")
    return devices.cuda_accelerator()


def index_of(device: Any, optional: bool = False) -> int:
    """The index that an int, a str or a torch.device names; None is the current one, if optional.

    Raises ValueError for another device, or where an index is missing.
    """
    if isinstance(device, int):
        return device
    place = _device(device) if isinstance(device, str) else device
    if isinstance(place, _device):
        if place.type != "cuda":
            raise ValueError(f"Expected a cuda device, but got: {place}")
        if place.index is not None:
            return place.index
    elif place is not None:
        raise ValueError(
            f"Expected a torch.device with a specified index or an integer, but got:{device}"
        )
    if optional:
        return current_device() if is_available() else -1
    raise ValueError(
        f"Expected a torch.device with a specified index or an integer, but got:{device}"
    )


def check_index(index: int) -> None:
    """Raises RuntimeError for a device that is not there; a negative index asks for nothing."""
    if index >= 0:
        devices.array_module(_device("cuda", index))


def is_available() -> bool:
    """Whether there is a GPU: False in a build without CUDA, and without a driver."""
    return devices.cuda_count() > 0


def device_count() -> int:
    """1, or 0 where there is no GPU."""
    return min(devices.cuda_count(), 1)


def is_initialized() -> bool:
    """Whether the device has been used."""
    return "cuda" in devices.modules


def init() -> None:
    """Makes the device ready, as its first use would."""
    table()


def current_device() -> int:
    """The index of the device that "cuda" means: 0."""
    table()
    return 0


def set_device(device: Any) -> None:
    """Makes a device the one that "cuda" means: there is one. A negative index asks for nothing.

    Raises ValueError for a device of another kind or without index.
    """
    check_index(index_of(device))


class device:
    """`with torch.cuda.device(0):` makes a device the one that "cuda" means: there is one.

    A negative index, and None, ask for nothing.
    """

    def __init__(self, device: Any) -> None:
        self.idx = index_of(device, optional=True)

    def __enter__(self) -> None:
        check_index(self.idx)

    def __exit__(self, *exception: object) -> None:
        """Nothing to undo: there is one device."""


class device_of(device):
    """`with torch.cuda.device_of(x):` goes to a tensor's or storage's GPU, if it is on one."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.device.index if obj.is_cuda else -1)


class _CudaDeviceProperties:
    """What a GPU is: its name, compute capability, memory and sizes."""

    name: str
    major: int
    minor: int
    multi_processor_count: int
    total_memory: int
    L2_cache_size: int

    def __init__(self, fields: dict[str, Any]) -> None:
        self.__dict__.update(fields)

    def __repr__(self) -> str:
        megabytes = 1 << 20
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory // megabytes}MB, "
            f"multi_processor_count={self.multi_processor_count}, "
            f"L2_cache_size={self.L2_cache_size // megabytes}MB)"
        )


def get_device_properties(device: Any = None) -> _CudaDeviceProperties:
    """What the GPU is; AssertionError for an index that is none's.

    https://pytorch.org/docs/stable/generated/torch.cuda.get_device_properties.html
    """
    properties = table().properties()
    if index_of(device, optional=True) != 0:
        raise AssertionError("Invalid device id")
    return _CudaDeviceProperties(properties)


def get_device_name(device: Any = None) -> str:
    """The name of the GPU."""
    return get_device_properties(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The compute capability of the GPU, such as (9, 0)."""
    properties = get_device_properties(device)
    return properties.major, properties.minor


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """False: there is one device, and it is no peer of itself."""
    table()
    if index_of(device, optional=True) != 0:
        raise AssertionError("Invalid device id")
    if index_of(peer_device) != 0:
        raise AssertionError("Invalid peer device id")
    return False


def synchronize(device: Any = None) -> None:
    """Waits until the device has done all that it was given, in all streams."""
    accelerator = table()
    check_index(index_of(device, optional=True))
    accelerator.synchronize()


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the GPU computes with bfloat16: those of compute capability 8 or above.

    Nothing runs here on older ones, which could emulate it.
    """
    return is_available() and get_device_capability()[0] >= 8


def is_tf32_supported() -> bool:
    """Whether the GPU has TF32: those of compute capability 8 or above."""
    return is_available() and get_device_capability()[0] >= 8


def get_arch_list() -> list[str]:
    """What the build has kernels for, as "sm_80" or "compute_80" (PTX); empty without a GPU."""
    return table().architectures().split(",") if is_available() else []


def ipc_collect() -> None:
    """Does nothing: GPU memory is not shared between processes here."""
    table()
