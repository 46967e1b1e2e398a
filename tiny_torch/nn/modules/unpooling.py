"""Layers made of pooling: MaxUnpool and LPPool."""

from __future__ import annotations

from typing import Any

from tiny_torch.base.docstrings import told_as
from tiny_torch.nn import functional as F
from tiny_torch.nn.modules._layer import Layer
from tiny_torch.nn.modules.conv import each
from tiny_torch.nn.modules.module import Module
from tiny_torch.tensor import Tensor

__all__ = ["LPPool1d", "LPPool2d", "LPPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d"]


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
