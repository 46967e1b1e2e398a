"""Layers of pooling: the largest, or the mean, of windows."""

from __future__ import annotations

from typing import Any

from tiny_torch.nn import functional as F
from tiny_torch.nn.modules._layer import Layer
from tiny_torch.nn.modules.conv import each

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d",
    "AvgPool1d", "AvgPool2d", "AvgPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d",
]  # fmt: skip


class _MaxPool(Layer):
    _shown = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode


class MaxPool1d(_MaxPool, of=F.max_pool1d): ...


class MaxPool2d(_MaxPool, of=F.max_pool2d): ...


class MaxPool3d(_MaxPool, of=F.max_pool3d): ...


class AvgPool1d(Layer, of=F.avg_pool1d):
    _shown = ("kernel_size", "stride", "padding")

    def __post_init__(self) -> None:
        self.stride = each(self.kernel_size if self.stride is None else self.stride, 1)
        self.kernel_size = each(self.kernel_size, 1)
        self.padding = each(self.padding, 1)


class _AvgPool(Layer):
    _shown = ("kernel_size", "stride", "padding")

    def __post_init__(self) -> None:
        self.stride = self.kernel_size if self.stride is None else self.stride


class AvgPool2d(_AvgPool, of=F.avg_pool2d): ...


class AvgPool3d(_AvgPool, of=F.avg_pool3d): ...


class _AdaptiveMaxPool(Layer):
    _shown = ("output_size",)


class AdaptiveMaxPool1d(_AdaptiveMaxPool, of=F.adaptive_max_pool1d): ...


class AdaptiveMaxPool2d(_AdaptiveMaxPool, of=F.adaptive_max_pool2d): ...


class AdaptiveMaxPool3d(_AdaptiveMaxPool, of=F.adaptive_max_pool3d): ...


class AdaptiveAvgPool1d(Layer, of=F.adaptive_avg_pool1d): ...


class AdaptiveAvgPool2d(Layer, of=F.adaptive_avg_pool2d): ...


class AdaptiveAvgPool3d(Layer, of=F.adaptive_avg_pool3d): ...
