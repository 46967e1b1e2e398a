"""Transforms that draw no random numbers, and Compose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.vision.transforms import functional as F
from tiny_torch.vision.transforms._arguments import (
    Fill,
    InterpolationMode,
    as_mode,
    as_pair,
    check_padding,
)


def listing(name: str, transforms: Sequence[Any], first: str = "") -> str:
    """The repr of a sequence of transforms, a line each."""
    lines = [first] if first else []
    return "\n".join([f"{name}(", *lines, *(f"    {t}" for t in transforms), ")"])


class Compose:
    """Transforms one after the other.

    >>> from tiny_torch import transforms
    >>> import numpy as np
    >>> prepare = transforms.Compose([transforms.ToTensor(), transforms.Normalize([0.5], [0.5])])
    >>> prepare(np.array([[0, 255]], "uint8"))
    tensor([[[-1.,  1.]]])
    """

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        self.transforms = transforms

    def __call__(self, img: Any) -> Any:
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self) -> str:
        return listing(type(self).__name__, self.transforms)


class ToTensor:
    """A PIL image or an array (H, W, C) as a tensor (C, H, W); bytes become floats from 0 to 1."""

    def __call__(self, pic: Any) -> torch.Tensor:
        return F.to_tensor(pic)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class PILToTensor:
    """A PIL image as a tensor (C, H, W) of its own values, such as uint8."""

    def __call__(self, pic: Any) -> torch.Tensor:
        return F.pil_to_tensor(pic)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class ToPILImage:
    """A tensor (C, H, W) or an array (H, W, C) as a PIL image; floats are from 0 to 1."""

    def __init__(self, mode: str | None = None) -> None:
        self.mode = mode

    def __call__(self, pic: Any) -> Any:
        return F.to_pil_image(pic, self.mode)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self.mode is None else f'mode={self.mode}'})"


class Lambda:
    """Any function as a transform. Raises TypeError for what cannot be called."""

    def __init__(self, lambd: Callable[[Any], Any]) -> None:
        if not callable(lambd):
            raise TypeError(f"Argument lambd should be callable, got {type(lambd).__name__!r}")
        self.lambd = lambd

    def __call__(self, img: Any) -> Any:
        return self.lambd(img)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class ConvertImageDtype(nn.Module):
    """A tensor in another dtype; white stays white: 255 in uint8, 1.0 in floats."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.dtype = dtype

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return F.convert_image_dtype(image, self.dtype)


class Normalize(nn.Module):
    """(tensor - mean) / std, channel by channel, of floats (..., C, H, W)."""

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> None:
        super().__init__()
        self.mean, self.std, self.inplace = mean, std, inplace

    def forward(self, tensor: torch.Tensor) -> torch.Tensor:
        return F.normalize(tensor, self.mean, self.std, self.inplace)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(mean={self.mean}, std={self.std})"


class Resize(nn.Module):
    """The image as (height, width), or with a shorter side of one given number.

    >>> import tiny_torch as torch
    >>> from tiny_torch import transforms
    >>> transforms.Resize((4, 6))(torch.zeros(3, 8, 8)).shape
    torch.Size([3, 4, 6])
    """

    def __init__(
        self,
        size: int | Sequence[int],
        interpolation: Any = InterpolationMode.BILINEAR,
        max_size: int | None = None,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        if not isinstance(size, int | Sequence):
            raise TypeError(f"Size should be int or sequence. Got {type(size)}")
        if isinstance(size, Sequence) and len(size) not in (1, 2):
            raise ValueError(f"If size is a sequence, it should have 1 or 2 values, got {size!r}")
        self.size, self.max_size, self.antialias = size, max_size, antialias
        self.interpolation = as_mode(interpolation)

    def forward(self, img: Any) -> Any:
        return F.resize(img, self.size, self.interpolation, self.max_size, self.antialias)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(size={self.size}, interpolation={self.interpolation.value}, "
            f"max_size={self.max_size}, antialias={self.antialias})"
        )


class CenterCrop(nn.Module):
    """The middle (height, width) of the image, with a black border where it is smaller."""

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = as_pair("size", size)

    def forward(self, img: Any) -> Any:
        return F.center_crop(img, self.size)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size})"


class FiveCrop(CenterCrop):
    """The four corners of the image and its middle, as a tuple of five."""

    def forward(self, img: Any) -> tuple[Any, ...]:
        return F.five_crop(img, self.size)


class TenCrop(CenterCrop):
    """The four corners and the middle of the image and of its mirror image, as a tuple of ten."""

    def __init__(self, size: int | Sequence[int], vertical_flip: bool = False) -> None:
        super().__init__(size)
        self.vertical_flip = vertical_flip

    def forward(self, img: Any) -> tuple[Any, ...]:
        return F.ten_crop(img, self.size, self.vertical_flip)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size}, vertical_flip={self.vertical_flip})"


class Pad(nn.Module):
    """A border: one width, (left and right, top and bottom), or (left, top, right, bottom)."""

    def __init__(
        self, padding: int | Sequence[int], fill: Fill = 0, padding_mode: str = "constant"
    ) -> None:
        super().__init__()
        check_padding(padding, fill, padding_mode)
        self.padding, self.fill, self.padding_mode = padding, fill, padding_mode

    def forward(self, img: Any) -> Any:
        return F.pad(img, self.padding, self.fill, self.padding_mode)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(padding={self.padding}, fill={self.fill}, "
            f"padding_mode={self.padding_mode})"
        )


class Grayscale(nn.Module):
    """The luma of an RGB image, in one channel or three equal ones."""

    def __init__(self, num_output_channels: int = 1) -> None:
        super().__init__()
        self.num_output_channels = num_output_channels

    def forward(self, img: Any) -> Any:
        return F.rgb_to_grayscale(img, self.num_output_channels)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(num_output_channels={self.num_output_channels})"
