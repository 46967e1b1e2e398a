"""How much of the host's memory tensors have, and the allocator's cache, as `torch.cuda` counts it.

PyTorch counts no memory of the CPU; the names and keys are those of `torch.cuda.memory`. Freed
blocks stay with the process, for the next request: `memory_allocated` counts what tensors have,
`memory_reserved` what the allocator has. Memory that NumPy, DLPack or a file lends is not counted.
How the allocator works: `src/core/memory/allocator.h`.
"""

from __future__ import annotations

from typing import Any

from tiny_torch import _core
from tiny_torch.base.devices import device as Device
from tiny_torch.utils.sizes import size_text

ROWS = (("allocated", "Allocated memory"), ("reserved", "Reserved memory"))


def _check(device: Any) -> None:
    if device is not None and Device(device).type != "cpu":
        raise ValueError(f"Expected a cpu device, but got: {device}")


def memory_stats(device: Any = None) -> dict[str, int]:
    """Counts of the allocator, by the keys of `torch.cuda.memory_stats` that it has.

    "allocated_bytes.all.current" and ".peak": of tensors and kernels' scratch memory;
    "reserved_bytes.all.current" and ".peak": those, and the cache; "allocation.all.allocated":
    requests ever; "num_device_alloc": of them, those that the cache could not serve.
    Raises ValueError for a device that is not the CPU.

    >>> import tiny_torch as torch
    >>> before = torch.cpu.memory_allocated()
    >>> x = torch.zeros(1024)
    >>> torch.cpu.memory_allocated() - before
    4096
    """
    _check(device)
    counts = _core.memory_statistics()
    return {
        "allocated_bytes.all.current": counts["allocated"],
        "allocated_bytes.all.peak": counts["peak_allocated"],
        "allocation.all.allocated": counts["requests"],
        "num_device_alloc": counts["system_calls"],
        "reserved_bytes.all.current": counts["reserved"],
        "reserved_bytes.all.peak": counts["peak_reserved"],
    }


def memory_allocated(device: Any = None) -> int:
    """The bytes that tensors have now."""
    return memory_stats(device)["allocated_bytes.all.current"]


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that tensors ever had, since `reset_peak_memory_stats`."""
    return memory_stats(device)["allocated_bytes.all.peak"]


def memory_reserved(device: Any = None) -> int:
    """The bytes that the allocator has now: of tensors, and free ones in the cache."""
    return memory_stats(device)["reserved_bytes.all.current"]


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes that the allocator ever had, since `reset_peak_memory_stats`."""
    return memory_stats(device)["reserved_bytes.all.peak"]


def reset_peak_memory_stats(device: Any = None) -> None:
    """The peaks begin anew, at what is in use now."""
    _check(device)
    _core.reset_peak_memory()


def empty_cache() -> None:
    """Gives the memory that no tensor has back to the system."""
    _core.empty_cache()


def memory_snapshot() -> list[dict[str, Any]]:
    """The segments that the allocator has from the system, as `torch.cuda.memory_snapshot` does.

    Each has address, total_size (of address space), reserved_size (of it, with memory),
    allocated_size, segment_type and blocks, each with address, size and state. Small blocks
    ("small", up to 64 KiB) come one by one; their entry has address 0 and lists the free ones only.

    >>> import tiny_torch as torch
    >>> x = torch.zeros(1 << 20)
    >>> blocks = [block for segment in torch.cpu.memory_snapshot() for block in segment["blocks"]]
    >>> [block["size"] for block in blocks if block["address"] == x.data_ptr()]
    [4194304]
    """
    return [
        {
            "device": "cpu",
            "address": address,
            "total_size": total,
            "reserved_size": reserved,
            "allocated_size": allocated,
            "segment_type": "large" if address else "small",
            "blocks": [
                {
                    "address": place,
                    "size": size,
                    "state": "inactive" if idle else "active_allocated",
                }
                for place, size, idle in blocks
            ],
        }
        for address, total, reserved, allocated, blocks in _core.memory_segments()
    ]


def memory_summary(device: Any = None) -> str:
    """A table of `memory_stats` for people."""
    stats = memory_stats(device)
    rule, line = "=" * 51, "-" * 51
    rows = [rule, f"{'CPU memory summary':^51}", line]
    requests, system = stats["allocation.all.allocated"], stats["num_device_alloc"]
    rows += [f"{f'Requests: {requests} | not from the cache: {system}':^51}", rule]
    rows.append(f" {'Metric':^21} |{'Cur Usage':^13}|{'Peak Usage':^13}")
    for name, title in ROWS:
        kinds = (stats[f"{name}_bytes.all.{kind}"] for kind in ("current", "peak"))
        rows += [line, f" {title:<21} |" + "|".join(f" {size_text(n):>11} " for n in kinds)]
    rows.append(rule)
    return "".join(f"|{row:<51}|\n" for row in rows)


__all__ = [
    "empty_cache",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_summary",
    "reset_peak_memory_stats",
]
