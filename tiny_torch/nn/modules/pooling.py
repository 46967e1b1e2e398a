"""Layers of pooling: the largest, the mean, or a norm of windows; and MaxUnpool."""

from __future__ import annotations

from typing import Any

from tiny_torch.base.docstrings import told_as
from tiny_torch.nn import functional as F
from tiny_torch.nn.modules._parts.layer import Layer
from tiny_torch.nn.modules.conv import each
from tiny_torch.nn.modules.module import Module
from tiny_torch.tensor import Tensor

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]


class _MaxPoolNd(Layer):
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


class MaxPool1d(_MaxPoolNd, of=F.max_pool1d): ...


class MaxPool2d(_MaxPoolNd, of=F.max_pool2d): ...


class MaxPool3d(_MaxPoolNd, of=F.max_pool3d): ...


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


class _MaxUnpool(Module):
    _dims: int
    _function: Any
    _shown = ("kernel_size", "stride", "padding")

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size = each(kernel_size, self._dims)
        self.stride = each(stride if stride is not None else kernel_size, self._dims)
        self.padding = each(padding, self._dims)

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        """F.max_unpool, with the layer's settings."""
        windows = (self.kernel_size, self.stride, self.padding)
        return self._function(input, indices, *windows, output_size)


class MaxUnpool2d(_MaxUnpool):
    """The reverse of MaxPool2d with return_indices. See F.max_unpool2d.

    https://pytorch.org/docs/stable/generated/torch.nn.MaxUnpool2d.html
    """

    _dims = 2
    _function = staticmethod(F.max_unpool2d)


@told_as(MaxUnpool2d, 1)
class MaxUnpool1d(_MaxUnpool):
    _dims = 1
    _function = staticmethod(F.max_unpool1d)


@told_as(MaxUnpool2d, 3)
class MaxUnpool3d(_MaxUnpool):
    _dims = 3
    _function = staticmethod(F.max_unpool3d)


class LPPool1d(Layer, of=F.lp_pool1d): ...


class LPPool2d(Layer, of=F.lp_pool2d): ...


class LPPool3d(Layer, of=F.lp_pool3d): ...
