"""Layers that resample or rearrange images: Upsample, Unfold, PixelShuffle and their kin."""

from __future__ import annotations

from typing import Any

from tiny_torch.nn import functional as F
from tiny_torch.nn.modules._parts.layer import Layer

__all__ = [
    "ChannelShuffle", "Fold", "PixelShuffle", "PixelUnshuffle", "Unfold", "Upsample",
    "UpsamplingBilinear2d", "UpsamplingNearest2d",
]  # fmt: skip


class Upsample(Layer, of=F.interpolate, without=["antialias"]):
    def __post_init__(self) -> None:
        self.name = type(self).__name__
        factor = self.scale_factor
        if isinstance(factor, tuple):
            self.scale_factor: Any = tuple([float(each) for each in factor])
        else:
            self.scale_factor = float(factor) if factor else None

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


class Unfold(Layer, of=F.unfold): ...


class Fold(Layer, of=F.fold): ...


class PixelShuffle(Layer, of=F.pixel_shuffle): ...


class PixelUnshuffle(Layer, of=F.pixel_unshuffle): ...


class ChannelShuffle(Layer, of=F.channel_shuffle): ...
