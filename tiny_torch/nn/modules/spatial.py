"""Layers that resample or rearrange images: Upsample, Unfold, PixelShuffle and their kin."""

from __future__ import annotations

from typing import Any

from tiny_torch.nn import functional as F
from tiny_torch.nn.modules.module import Module
from tiny_torch.tensor import Tensor

__all__ = [
    "ChannelShuffle", "Fold", "PixelShuffle", "PixelUnshuffle", "Unfold", "Upsample",
    "UpsamplingBilinear2d", "UpsamplingNearest2d",
]  # fmt: skip


class Upsample(Module):
    """Interpolation to `size`, or by `scale_factor`. See F.interpolate.

    https://pytorch.org/docs/stable/generated/torch.nn.Upsample.html

    >>> import tiny_torch as torch
    >>> torch.nn.Upsample(scale_factor=2, mode="bilinear")(torch.ones(1, 3, 4, 5)).shape
    torch.Size([1, 3, 8, 10])
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor: Any = tuple([float(factor) for factor in scale_factor])
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        """F.interpolate, with the layer's settings."""
        settings = (self.size, self.scale_factor, self.mode, self.align_corners)
        return F.interpolate(input, *settings, self.recompute_scale_factor)

    def extra_repr(self) -> str:
        """The size or factor, and the mode."""
        name = "size" if self.scale_factor is None else "scale_factor"
        return f"{name}={getattr(self, name)!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Upsample by repeating pixels.

    https://pytorch.org/docs/stable/generated/torch.nn.UpsamplingNearest2d.html
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Upsample with mode "bilinear" and corners aligned.

    https://pytorch.org/docs/stable/generated/torch.nn.UpsamplingBilinear2d.html
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


class Unfold(Module):
    """Windows of an image as columns. See F.unfold.

    https://pytorch.org/docs/stable/generated/torch.nn.Unfold.html
    """

    _shown = ("kernel_size", "dilation", "padding", "stride")

    def __init__(
        self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        """F.unfold, with the layer's settings."""
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


class Fold(Module):
    """Columns as an image, added up where they overlap. See F.fold.

    https://pytorch.org/docs/stable/generated/torch.nn.Fold.html
    """

    _shown = ("output_size", "kernel_size", "dilation", "padding", "stride")

    def __init__(
        self,
        output_size: Any,
        kernel_size: Any,
        dilation: Any = 1,
        padding: Any = 0,
        stride: Any = 1,
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        """F.fold, with the layer's settings."""
        windows = (self.kernel_size, self.dilation, self.padding, self.stride)
        return F.fold(input, self.output_size, *windows)


class PixelShuffle(Module):
    """(*, C r r, H, W) -> (*, C, H r, W r), with r the `upscale_factor`. See F.pixel_shuffle.

    https://pytorch.org/docs/stable/generated/torch.nn.PixelShuffle.html
    """

    _shown = ("upscale_factor",)

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """F.pixel_shuffle."""
        return F.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(Module):
    """(*, C, H r, W r) -> (*, C r r, H, W), with r the `downscale_factor`.

    https://pytorch.org/docs/stable/generated/torch.nn.PixelUnshuffle.html
    """

    _shown = ("downscale_factor",)

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """F.pixel_unshuffle."""
        return F.pixel_unshuffle(input, self.downscale_factor)


class ChannelShuffle(Module):
    """The channels of all groups in turn. See F.channel_shuffle.

    https://pytorch.org/docs/stable/generated/torch.nn.ChannelShuffle.html
    """

    _shown = ("groups",)

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        """F.channel_shuffle."""
        return F.channel_shuffle(input, self.groups)
