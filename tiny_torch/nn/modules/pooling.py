"""Layers of pooling: the largest, or the mean, of windows."""

from __future__ import annotations

from typing import Any

from tiny_torch.base.docstrings import told_as
from tiny_torch.nn import functional as F
from tiny_torch.nn.modules._conv import each
from tiny_torch.nn.modules.module import Module
from tiny_torch.tensor import Tensor

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d",
    "AvgPool1d", "AvgPool2d", "AvgPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d",
]  # fmt: skip


class _MaxPool(Module):
    _function: Any
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

    def forward(self, input: Tensor) -> Any:
        """F.max_pool, with the layer's settings."""
        return self._function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )


class MaxPool2d(_MaxPool):
    """The largest element of every window: (N, C, H, W) -> (N, C, H', W'). See F.max_pool2d.

    https://pytorch.org/docs/stable/generated/torch.nn.MaxPool2d.html

    >>> import tiny_torch as torch
    >>> torch.nn.MaxPool2d(3, stride=2, padding=1)(torch.ones(1, 8, 9, 9)).shape
    torch.Size([1, 8, 5, 5])
    """

    _function = staticmethod(F.max_pool2d)


@told_as(MaxPool2d, 1)
class MaxPool1d(_MaxPool):
    _function = staticmethod(F.max_pool1d)


@told_as(MaxPool2d, 3)
class MaxPool3d(_MaxPool):
    _function = staticmethod(F.max_pool3d)


class AvgPool1d(Module):
    """The mean of every window: (N, C, L) -> (N, C, L'). See F.avg_pool1d.

    https://pytorch.org/docs/stable/generated/torch.nn.AvgPool1d.html
    """

    _shown = ("kernel_size", "stride", "padding")

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = each(kernel_size, 1)
        self.stride = each(stride if stride is not None else kernel_size, 1)
        self.padding = each(padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        """F.avg_pool1d, with the layer's settings."""
        windows = (self.kernel_size, self.stride, self.padding, self.ceil_mode)
        return F.avg_pool1d(input, *windows, self.count_include_pad)


class _AvgPool(Module):
    _function: Any
    _shown = ("kernel_size", "stride", "padding")

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        """F.avg_pool, with the layer's settings."""
        windows = (self.kernel_size, self.stride, self.padding, self.ceil_mode)
        return self._function(input, *windows, self.count_include_pad, self.divisor_override)


class AvgPool2d(_AvgPool):
    """The mean of every window: (N, C, H, W) -> (N, C, H', W'). See F.avg_pool2d.

    https://pytorch.org/docs/stable/generated/torch.nn.AvgPool2d.html
    """

    _function = staticmethod(F.avg_pool2d)


@told_as(AvgPool2d, 3)
class AvgPool3d(_AvgPool):
    _function = staticmethod(F.avg_pool3d)


class _AdaptiveMaxPool(Module):
    _function: Any
    _shown = ("output_size",)

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        """F.adaptive_max_pool, to the layer's size."""
        return self._function(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """The largest of each of `output_size` windows: (N, C, H, W) -> (N, C, H', W').

    https://pytorch.org/docs/stable/generated/torch.nn.AdaptiveMaxPool2d.html
    """

    _function = staticmethod(F.adaptive_max_pool2d)


@told_as(AdaptiveMaxPool2d, 1)
class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    _function = staticmethod(F.adaptive_max_pool1d)


@told_as(AdaptiveMaxPool2d, 3)
class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    _function = staticmethod(F.adaptive_max_pool3d)


class _AdaptiveAvgPool(Module):
    _function: Any
    _shown = ("output_size",)

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        """F.adaptive_avg_pool, to the layer's size."""
        return self._function(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """The mean of each of `output_size` windows: (N, C, H, W) -> (N, C, H', W').

    https://pytorch.org/docs/stable/generated/torch.nn.AdaptiveAvgPool2d.html

    >>> import tiny_torch as torch
    >>> torch.nn.AdaptiveAvgPool2d(3)(torch.ones(1, 8, 9, 9)).shape
    torch.Size([1, 8, 3, 3])
    """

    _function = staticmethod(F.adaptive_avg_pool2d)


@told_as(AdaptiveAvgPool2d, 1)
class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    _function = staticmethod(F.adaptive_avg_pool1d)


@told_as(AdaptiveAvgPool2d, 3)
class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    _function = staticmethod(F.adaptive_avg_pool3d)
