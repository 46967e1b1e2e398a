"""How sizes of memory are written."""

from __future__ import annotations


def size_text(count: float) -> str:
    """Bytes in the unit that suits: "312 B", "4.0 MiB"."""
    units = ["B", "KiB", "MiB", "GiB"]
    while abs(count) >= 1024 and len(units) > 1:
        count /= 1024
        units.pop(0)
    return f"{count:.0f} B" if units[0] == "B" else f"{count:.1f} {units[0]}"
