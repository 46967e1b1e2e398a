"""Task 6.4: a transposed convolution."""

from __future__ import annotations

from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply
from tiny_torch.ops.nn.conv import ConvolutionTranspose


def conv_transpose2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """Every input adds a window of weights to the output."""
    batch = input.unsqueeze(0) if input.ndim == 3 else input
    settings = _core.transposed_conv_settings(
        batch.shape, weight.shape, 2,
        stride, padding, output_padding, groups, dilation,
    )  # fmt: skip
    y = apply(ConvolutionTranspose, batch, weight, bias, *settings)
    return y.squeeze(0) if input.ndim == 3 else y
