"""Task 6.3: a convolution."""

from __future__ import annotations

from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply
from tiny_torch.functions.nn.conv import padded_as
from tiny_torch.ops.nn.conv import Convolution


def conv2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """Every output is a weighted sum of a window of the input."""
    if isinstance(padding, str):
        input, padding = padded_as(padding, input, weight, stride, dilation, 2)
    settings = _core.conv_settings(2, stride, padding, dilation, groups)
    if input.ndim != 3:
        return apply(Convolution, input, weight, bias, settings)
    return apply(Convolution, input.unsqueeze(0), weight, bias, settings).squeeze(0)
