"""`Conv1d`, `Conv2d`, `Conv3d`, the transposed ones, and the lazy forms of all."""

from __future__ import annotations

from typing import Any

from tiny_torch.base.docstrings import told_as
from tiny_torch.nn import functional as F
from tiny_torch.nn.modules._conv import _Conv, _ConvNd, _ConvTranspose  # noqa: F401  scripts test for _ConvNd
from tiny_torch.nn.modules.lazy import LazyModuleMixin
from tiny_torch.nn.parameter import UninitializedParameter
from tiny_torch.tensor import Tensor

__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
]


class Conv2d(_Conv):
    """A convolution with a weight (out_channels, in_channels / groups, *kernel_size) and a bias.

    Input (N, in_channels, H, W) or without N. Both are drawn from U(-k, k), where k is 1 over the
    root of the number of inputs in a sum. Settings are one number, or one per dim. Raises
    ValueError for settings that do not fit, RuntimeError for such an input.
    Source: PyTorch, torch.nn.Conv2d.

    >>> import tiny_torch as torch
    >>> torch.nn.Conv2d(4, 6, 3)(torch.ones(2, 4, 10, 10)).shape
    torch.Size([2, 6, 8, 8])
    """

    _dims = 2
    _function = staticmethod(F.conv2d)


@told_as(Conv2d, 1)
class Conv1d(_Conv):
    _dims = 1
    _function = staticmethod(F.conv1d)


@told_as(Conv2d, 3)
class Conv3d(_Conv):
    _dims = 3
    _function = staticmethod(F.conv3d)


class ConvTranspose2d(_ConvTranspose):
    """A transposed convolution, with weight (in_channels, out_channels / groups, *kernel_size).

    Input (N, in_channels, H, W) or without N. `output_size` in the call chooses among the sizes
    that a stride above 1 allows. Raises ValueError for settings that do not fit, RuntimeError for
    such an input.
    Source: PyTorch, torch.nn.ConvTranspose2d.

    >>> import tiny_torch as torch
    >>> torch.nn.ConvTranspose2d(4, 6, 3, stride=2)(torch.ones(2, 4, 10, 10)).shape
    torch.Size([2, 6, 21, 21])
    """

    _dims = 2
    _function = staticmethod(F.conv_transpose2d)


@told_as(ConvTranspose2d, 1)
class ConvTranspose1d(_ConvTranspose):
    _dims = 1
    _function = staticmethod(F.conv_transpose1d)


@told_as(ConvTranspose2d, 3)
class ConvTranspose3d(_ConvTranspose):
    _dims = 3
    _function = staticmethod(F.conv_transpose3d)


class _LazyConvNd(LazyModuleMixin):
    """A convolution whose number of channels is that of its first input."""

    _dims: int
    in_channels: int
    out_channels: int
    groups: int
    kernel_size: tuple[int, ...]
    transposed: bool
    weight: Any
    bias: Any

    def _wait(self, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        self.out_channels = out_channels
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, as soon as they have a shape."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """As many channels as the input has."""
        if not self.has_uninitialized_params():
            return
        dims = self._dims
        if input.ndim not in (dims + 1, dims + 2):
            raise RuntimeError(
                f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to "
                f"{self.__class__.__name__}, but got input of size: {list(input.shape)}"
            )
        self.in_channels = input.shape[input.ndim - dims - 1]
        if self.in_channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        shape = (self.out_channels, self.in_channels // self.groups)
        if self.transposed:
            shape = (self.in_channels, self.out_channels // self.groups)
        self.weight.materialize((*shape, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()


class _LazyConv(_LazyConvNd, _Conv):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        settings = (kernel_size, stride, padding, dilation, groups)
        super().__init__(0, 0, *settings, False, padding_mode, device, dtype)
        self._wait(out_channels, bias, device, dtype)


class _LazyConvTranspose(_LazyConvNd, _ConvTranspose):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        settings = (kernel_size, stride, padding, output_padding, groups)
        super().__init__(0, 0, *settings, False, dilation, padding_mode, device, dtype)
        self._wait(out_channels, bias, device, dtype)


class LazyConv2d(_LazyConv, Conv2d):
    """Conv2d for as many channels as its first input has.

    Source: PyTorch, torch.nn.LazyConv2d.

    >>> import tiny_torch as torch
    >>> layer = torch.nn.LazyConv2d(4, 3)
    >>> _ = layer(torch.ones(2, 7, 5, 5))
    >>> layer.in_channels, type(layer).__name__
    (7, 'Conv2d')
    """

    cls_to_become = Conv2d


@told_as(LazyConv2d, 1)
class LazyConv1d(_LazyConv, Conv1d):
    cls_to_become = Conv1d


@told_as(LazyConv2d, 3)
class LazyConv3d(_LazyConv, Conv3d):
    cls_to_become = Conv3d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """ConvTranspose2d for as many channels as its first input has.

    Source: PyTorch, torch.nn.LazyConvTranspose2d.

    >>> import tiny_torch as torch
    >>> layer = torch.nn.LazyConvTranspose2d(4, 3)
    >>> _ = layer(torch.ones(2, 7, 5, 5))
    >>> layer.in_channels, type(layer).__name__
    (7, 'ConvTranspose2d')
    """

    cls_to_become = ConvTranspose2d


@told_as(LazyConvTranspose2d, 1)
class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    cls_to_become = ConvTranspose1d


@told_as(LazyConvTranspose2d, 3)
class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    cls_to_become = ConvTranspose3d
