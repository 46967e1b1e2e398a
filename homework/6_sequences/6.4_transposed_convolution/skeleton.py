"""Task 6.4: transposed convolution."""

from __future__ import annotations

from typing import Any


def conv_transpose2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] = 0,
    output_padding: int | tuple[int, ...] = 0,
    groups: int = 1,
    dilation: int | tuple[int, ...] = 1,
) -> Any:
    """(N, C, H, W), (C, O / groups, kH, kW), (O,) -> (N, O, H', W'), or without N."""
    raise NotImplementedError("task 6.4: transposed convolution")
