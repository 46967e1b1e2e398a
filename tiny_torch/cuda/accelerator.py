"""`torch.accelerator`: the device beside the CPU, by functions that do not name it. It is CUDA.

https://pytorch.org/docs/stable/accelerator.html
"""

from __future__ import annotations

from typing import Any

from tiny_torch import _core, cuda
from tiny_torch.base.devices import cuda_count, has_cuda
from tiny_torch.base.devices import device as Device
from tiny_torch.cuda import device_management


def is_available() -> bool:
    """Whether there is an accelerator."""
    return cuda_count() > 0


def device_count() -> int:
    """How many accelerators there are."""
    return cuda.device_count()


def current_accelerator(check_available: bool = False) -> Device | None:
    """device("cuda") in a build with CUDA, else None; None, too, if it must be there and is not."""
    if not has_cuda() or (check_available and not is_available()):
        return None
    return Device("cuda")


def device_of(device: Any) -> Any:
    """The device that an argument names; RuntimeError without accelerator, or for another one."""
    if not is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    if isinstance(device, str | Device) and Device(device).type != "cuda":
        raise ValueError(f"{Device(device).type} doesn't match the current accelerator cuda.")
    device_management.check_index(device_management.index_of(device, optional=True))
    return device


def current_device_index() -> int:
    """The index of the current accelerator."""
    device_of(None)
    return 0


current_device_idx = current_device_index


def set_device_index(device: Any, /) -> None:
    """Makes an accelerator the current one: there is one."""
    device_of(device)


set_device_idx = set_device_index


class device_index:
    """`with torch.accelerator.device_index(0):` makes one current; None changes nothing."""

    def __init__(self, device: int | None, /) -> None:
        self.idx = device

    def __enter__(self) -> None:
        if self.idx is not None:
            set_device_index(self.idx)

    def __exit__(self, *exception: object) -> None:
        """Nothing to undo: there is one device."""


def get_device_capability(device: Any = None, /) -> dict[str, Any]:
    """What the accelerator can: the dtypes of its tensors."""
    device_of(device)
    names = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64"
    return {"supported_dtypes": {getattr(_core, name) for name in names.split()}}


def current_stream(device: Any = None, /) -> cuda.Stream:
    """The stream that the calling thread's launches go to."""
    return cuda.current_stream(device_of(device))


def set_stream(stream: cuda.Stream) -> None:
    """Makes a stream the calling thread's."""
    device_of(None)
    cuda.set_stream(stream)


def synchronize(device: Any = None, /) -> None:
    """Waits until the accelerator has done all that it was given."""
    cuda.synchronize(device_of(device))


def empty_cache() -> None:
    """Gives the memory that no tensor has back to the accelerator."""
    device_of(None)
    cuda.empty_cache()


def get_memory_info(device_index: Any = None, /) -> tuple[int, int]:
    """The accelerator's free and total bytes."""
    return cuda.mem_get_info(device_of(device_index))


def memory_stats(device_index: Any = None, /) -> dict[str, int]:
    """Counts of the allocator, as `cuda.memory_stats` has them."""
    return cuda.memory_stats(device_of(device_index))


def memory_allocated(device_index: Any = None, /) -> int:
    """The bytes that tensors have now."""
    return cuda.memory_allocated(device_of(device_index))


def max_memory_allocated(device_index: Any = None, /) -> int:
    """The most bytes that tensors ever had."""
    return cuda.max_memory_allocated(device_of(device_index))


def memory_reserved(device_index: Any = None, /) -> int:
    """The bytes that the process has now."""
    return cuda.memory_reserved(device_of(device_index))


def max_memory_reserved(device_index: Any = None, /) -> int:
    """The most bytes that the process ever had."""
    return cuda.max_memory_reserved(device_of(device_index))


def reset_accumulated_memory_stats(device_index: Any = None, /) -> None:
    """What was ever allocated and freed is counted anew, from 0."""
    cuda.reset_accumulated_memory_stats(device_of(device_index))


def reset_peak_memory_stats(device_index: Any = None, /) -> None:
    """The peaks begin anew, at what is in use now."""
    cuda.reset_peak_memory_stats(device_of(device_index))
