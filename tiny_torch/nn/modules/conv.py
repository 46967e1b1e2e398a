"""`Conv1d`, `Conv2d`, `Conv3d`, the transposed ones, and the lazy forms of all."""

from __future__ import annotations

import math
from typing import Any

import tiny_torch as torch
from tiny_torch.base.docstrings import told_as
from tiny_torch.nn import functional as F
from tiny_torch.nn import init
from tiny_torch.nn.modules.lazy import LazyModuleMixin
from tiny_torch.nn.modules.module import Module
from tiny_torch.nn.parameter import Parameter, UninitializedParameter
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


PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


def each(value: Any, dims: int) -> Any:
    """One number for each dim; a string as it is."""
    if isinstance(value, str):
        return value
    return tuple(value) if isinstance(value, tuple | list) else (value,) * dims


def _check_divisible(name: str, channels: int, groups: int) -> None:
    if channels % groups:
        raise ValueError(f"{name} must be divisible by groups")


class _ConvNd(Module):
    """What all have: the settings, a weight and a bias."""

    _dims = 0
    transposed = False
    bias: Tensor | None

    def _set_up(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        output_padding: Any,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        dims = self._dims
        self.stride, self.dilation = each(stride, dims), each(dilation, dims)
        self._check(in_channels, out_channels, padding, groups, padding_mode)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = each(kernel_size, dims)
        self.padding = each(padding, dims)
        self.output_padding = each(output_padding, dims)
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = self._pad_argument()
        channels = (out_channels, in_channels // groups)
        if self.transposed:
            channels = (in_channels, out_channels // groups)
        made = {"device": device, "dtype": dtype}
        self.weight = Parameter(torch.empty((*channels, *self.kernel_size), **made))
        if bias:
            self.bias = Parameter(torch.empty(out_channels, **made))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _check(
        self, in_channels: int, out_channels: int, padding: Any, groups: int, padding_mode: str
    ) -> None:
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            _check_divisible(name, channels, groups)
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(
                    f"Invalid padding string {padding!r}, should be one of {{'valid', 'same'}}"
                )
            if padding == "same" and any(step != 1 for step in self.stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in PADDING_MODES:
            raise ValueError(
                f"padding_mode must be one of {PADDING_MODES}, but got "
                f"padding_mode='{padding_mode}'"
            )
        if self.transposed and padding_mode != "zeros":
            raise ValueError(
                f'Only "zeros" padding mode is supported for {self.__class__.__name__}'
            )

    def _pad_argument(self) -> list[int]:
        """The padding as F.pad takes it: (left, right) of the last dim first."""
        sides: list[tuple[int, int]] = []
        for d in range(self._dims):
            if self.padding == "valid":
                sides.append((0, 0))
            elif self.padding == "same":
                total = self.dilation[d] * (self.kernel_size[d] - 1)
                sides.append((total // 2, total - total // 2))
            else:
                sides.append((self.padding[d], self.padding[d]))
        return [side for pair in reversed(sides) for side in pair]

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))  # the bound is 1 / sqrt(fan_in)
        if self.bias is not None:
            fan_in = math.prod(self.weight.shape[1:])
            bound = 1 / math.sqrt(fan_in) if fan_in else 0
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        """Channels, kernel and stride, and the other settings that are not the default."""
        dims = self._dims
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"]
        parts.append(f"stride={self.stride}")
        if self.padding != (0,) * dims:
            parts.append(f"padding={self.padding}")
        if self.dilation != (1,) * dims:
            parts.append(f"dilation={self.dilation}")
        if self.output_padding != (0,) * dims:
            parts.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


class _Conv(_ConvNd):
    _function: Any

    def __init__(
        self,
        in_channels: int,
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
        channels = (in_channels, out_channels)
        settings = (kernel_size, stride, padding, dilation, 0, groups)
        self._set_up(*channels, *settings, bias, padding_mode, device, dtype)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, self.padding_mode)
            padding = (0,) * self._dims
        function = type(self)._function
        return function(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        """(N, C, *) -> (N, O, *'), or both without N."""
        return self._conv_forward(input, self.weight, self.bias)


class _ConvTranspose(_ConvNd):
    transposed = True
    _function: Any

    def __init__(
        self,
        in_channels: int,
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
        channels = (in_channels, out_channels)
        settings = (kernel_size, stride, padding, dilation, output_padding, groups)
        self._set_up(*channels, *settings, bias, padding_mode, device, dtype)

    def _output_padding(self, input: Tensor, output_size: list[int] | None) -> tuple[int, ...]:
        """What reaches `output_size`, of the sizes that the stride leaves open."""
        if output_size is None:
            return self.output_padding
        dims, sizes = self._dims, tuple(output_size)
        others = 2 if input.ndim == dims + 2 else 1
        if len(sizes) == dims + others:
            sizes = sizes[others:]
        if len(sizes) != dims:
            raise ValueError(
                f"ConvTranspose{dims}D: for {input.ndim}D input, output_size must have {dims} or "
                f"{dims + others} elements (got {len(output_size)})"
            )
        least = [
            (input.shape[d + others] - 1) * self.stride[d]
            - 2 * self.padding[d]
            + self.dilation[d] * (self.kernel_size[d] - 1)
            + 1
            for d in range(dims)
        ]
        most = [size + step - 1 for size, step in zip(least, self.stride, strict=True)]
        if not all(a <= size <= b for a, size, b in zip(least, sizes, most, strict=True)):
            raise ValueError(
                f"requested an output size of {output_size[-dims:]}, but valid sizes range from "
                f"{least} to {most} (for an input of {input.shape[2:]})"
            )
        return tuple([size - smallest for size, smallest in zip(sizes, least, strict=True)])

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        """(N, C, *) -> (N, O, *'), or both without N."""
        more = self._output_padding(input, output_size)
        settings = (self.stride, self.padding, more, self.groups, self.dilation)
        return type(self)._function(input, self.weight, self.bias, *settings)


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
        _check_divisible("in_channels", self.in_channels, self.groups)
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
