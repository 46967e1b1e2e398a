"""Task 6.2: windows as columns."""

from __future__ import annotations

from typing import Any


def unfold(
    input: Any,
    kernel_size: int | tuple[int, ...],
    dilation: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] = 0,
    stride: int | tuple[int, ...] = 1,
) -> Any:
    """(N, C, H, W) -> (N, C * kH * kW, windows), or both without N."""
    raise NotImplementedError("task 6.2: windows as columns")
