"""How much of the GPU's memory is in use, and the cache of what is free.

Freed blocks stay with the process, for the next allocation: `memory_allocated` counts what tensors
have, `memory_reserved` what the process has. https://pytorch.org/docs/stable/notes/cuda.html
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from typing import Any

from tiny_torch import _core
from tiny_torch.cuda import device_management

OutOfMemoryError = _core.OutOfMemoryError

COUNTS = (  # of memory_stats, and what the table of memory_summary calls them
    ("allocated_bytes", "Allocated memory"),
    ("active_bytes", "Active memory"),
    ("requested_bytes", "Requested memory"),
    ("reserved_bytes", "GPU reserved memory"),
    ("allocation", "Allocations"),
    ("active", "Active allocs"),
    ("segment", "GPU reserved segments"),
)


def device_table(device: Any) -> Any:
    """The table of the device that an argument names."""
    accelerator = device_management.table()
    device_management.check_index(device_management.index_of(device, optional=True))
    return accelerator


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """What `memory_stats` tells, as dictionaries in one another; empty before the first use."""
    if not device_management.is_initialized():
        return {}
    statistics = device_table(device).statistics()
    return {
        name: {"all": value} if isinstance(value, dict) else value
        for name, value in statistics.items()
    }


def memory_stats(device: Any = None) -> dict[str, int]:
    """Counts of the allocator: "allocated_bytes.all.peak" and so on; empty before the first use.

    allocation, active, segment (blocks), allocated_bytes, active_bytes, reserved_bytes and
    requested_bytes, each with all.current, all.peak, all.allocated and all.freed; and
    num_alloc_retries, num_ooms. Not here: PyTorch's counts by pool, and of splits.
    https://pytorch.org/docs/stable/generated/torch.cuda.memory.memory_stats.html
    """
    flat: dict[str, int] = {}
    for name, value in memory_stats_as_nested_dict(device).items():
        if isinstance(value, dict):
            flat.update({f"{name}.all.{kind}": count for kind, count in value["all"].items()})
        else:
            flat[name] = value
    return OrderedDict(sorted(flat.items()))


def memory_allocated(device: Any = None) -> int:
    """The bytes that tensors have now."""
    return memory_stats(device).get("allocated_bytes.all.current", 0)


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that tensors ever had, since `reset_peak_memory_stats`."""
    return memory_stats(device).get("allocated_bytes.all.peak", 0)


def memory_reserved(device: Any = None) -> int:
    """The bytes that the process has now: of tensors, and free ones in the cache."""
    return memory_stats(device).get("reserved_bytes.all.current", 0)


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes that the process ever had, since `reset_peak_memory_stats`."""
    return memory_stats(device).get("reserved_bytes.all.peak", 0)


def memory_cached(device: Any = None) -> int:
    """`memory_reserved` under its older name."""
    warnings.warn(
        "`torch.cuda.memory_cached` has been renamed to `torch.cuda.memory_reserved`",
        FutureWarning,
        stacklevel=2,
    )
    return memory_reserved(device)


def max_memory_cached(device: Any = None) -> int:
    """`max_memory_reserved` under its older name."""
    warnings.warn(
        "`torch.cuda.max_memory_cached` has been renamed to `torch.cuda.max_memory_reserved`",
        FutureWarning,
        stacklevel=2,
    )
    return max_memory_reserved(device)


def reset_peak_memory_stats(device: Any = None) -> None:
    """The peaks begin anew, at what is in use now."""
    device_table(device).reset_peaks()


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """What was ever allocated and freed, retried and refused is counted anew, from 0."""
    device_table(device).reset_counts()


def reset_max_memory_allocated(device: Any = None) -> None:
    """`reset_peak_memory_stats` under its older name: all peaks begin anew."""
    _warn_of_all_peaks("reset_max_memory_allocated")
    reset_peak_memory_stats(device)


def reset_max_memory_cached(device: Any = None) -> None:
    """`reset_peak_memory_stats` under its older name: all peaks begin anew."""
    _warn_of_all_peaks("reset_max_memory_cached")
    reset_peak_memory_stats(device)


def _warn_of_all_peaks(name: str) -> None:
    warnings.warn(
        f"torch.cuda.{name} now calls torch.cuda.reset_peak_memory_stats, which resets /all/ peak "
        "memory stats.",
        FutureWarning,
        stacklevel=3,
    )


def empty_cache() -> None:
    """Gives the memory that no tensor has back to the GPU, for other programs."""
    if device_management.is_initialized():
        device_management.table().empty_cache()


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """The process may have this share of the GPU's memory, within [0, 1]; then OutOfMemoryError.

    Raises TypeError for what is no float, ValueError for one out of range.
    """
    global _fraction
    accelerator = device_table(device)
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    accelerator.set_memory_fraction(fraction)
    _fraction = fraction


def get_per_process_memory_fraction(device: Any = None) -> float:
    """The share of the GPU's memory that the process may have."""
    device_table(device)
    return _fraction


_fraction = 1.0


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """The GPU's free and total bytes, whoever has them."""
    return device_table(device).memory_info()


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """A table of `memory_stats` for people; `abbreviated` is accepted: there is no longer one.

    https://pytorch.org/docs/stable/generated/torch.cuda.memory.memory_summary.html
    """
    device_table(device)
    stats = memory_stats(device)
    rule, line = "=" * 75, "-" * 75
    rows = [rule, f"{'CUDA memory summary, device ID 0':^75}", line]
    rows.append(f"{_events(stats):^75}")
    rows.append(rule)
    titles = ("Cur Usage", "Peak Usage", "Tot Alloc", "Tot Freed")
    rows.append(f" {'Metric':^21} |" + "|".join(f"{title:^12}" for title in titles))
    for name, title in COUNTS:
        kinds = (stats[f"{name}.all.{kind}"] for kind in ("current", "peak", "allocated", "freed"))
        shown = [_size(n) if name.endswith("bytes") else f"{n:>10}" for n in kinds]
        rows += [line, f" {title:<21} |" + "|".join(f" {text} " for text in shown)]
    rows.append(rule)
    return "".join(f"|{row:<75}|\n" for row in rows)


def _events(stats: dict[str, int]) -> str:
    return f"CUDA OOMs: {stats['num_ooms']} | cudaMalloc retries: {stats['num_alloc_retries']}"


def _size(count: float) -> str:
    units = ["B  ", "KiB", "MiB", "GiB", "TiB"]
    while count >= 10_000 and len(units) > 1:
        count //= 1024
        units.pop(0)
    return f"{count:>6} {units[0]}"
