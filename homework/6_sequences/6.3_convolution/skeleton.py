"""Task 6.3: convolution."""

from __future__ import annotations

from typing import Any


def conv2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] | str = 0,
    dilation: int | tuple[int, ...] = 1,
    groups: int = 1,
) -> Any:
    """(N, C, H, W), (O, C / groups, kH, kW), (O,) -> (N, O, H', W'), or without N."""
    raise NotImplementedError("task 6.3: convolution")
