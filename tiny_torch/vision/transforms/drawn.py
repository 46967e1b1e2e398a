"""Random transforms: the numbers that torchvision draws, in its order, so that seeds agree.

`get_params` draws; `forward` draws and applies. Numbers come from the default generator, but those
of RandomChoice and RandomOrder from Python's `random`, as torchvision's do. Rotations: affine.py.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.vision.transforms import functional as F
from tiny_torch.vision.transforms._arguments import (
    Fill,
    InterpolationMode,
    as_mode,
    as_pair,
    check_length,
    check_padding,
    check_probability,
)
from tiny_torch.vision.transforms.fixed import listing


def uniform(least: Any, most: Any) -> float:
    return torch.empty(1).uniform_(float(least), float(most)).item()


def integer(end: int) -> int:
    """From 0 to end - 1."""
    return int(torch.randint(0, end, (1,)).item())


def happens(p: float) -> bool:
    return bool(torch.rand(1) < p)


def _check_ranges(scale: Any, ratio: Any) -> None:
    for name, value in [("scale", scale), ("ratio", ratio)]:
        check_length(name, value)
        if value[0] > value[1]:
            raise ValueError(f"{name} should be of kind (min, max), got {value!r}")


class RandomApply(nn.Module):
    """Transforms one after the other, with probability p; else the image as it is."""

    def __init__(self, transforms: Sequence[Callable[[Any], Any]], p: float = 0.5) -> None:
        super().__init__()
        check_probability(p)
        self.transforms, self.p = transforms, p

    def forward(self, img: Any) -> Any:
        if self.p < torch.rand(1):
            return img
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self) -> str:
        return listing(type(self).__name__, self.transforms, f"    p={self.p}")


class RandomOrder:
    """All transforms, in a random order (Python's `random`)."""

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        if not isinstance(transforms, Sequence):
            raise TypeError(f"Argument transforms should be a sequence, got {transforms!r}")
        self.transforms = transforms

    def __call__(self, img: Any) -> Any:
        order = list(range(len(self.transforms)))
        random.shuffle(order)
        for i in order:
            img = self.transforms[i](img)
        return img

    def __repr__(self) -> str:
        return listing(type(self).__name__, self.transforms)


class RandomChoice(RandomOrder):
    """One of the transforms, with weights `p` (Python's `random`)."""

    def __init__(
        self, transforms: Sequence[Callable[[Any], Any]], p: Sequence[float] | None = None
    ) -> None:
        super().__init__(transforms)
        if p is not None:
            check_length("p", p, (len(transforms),))
        self.p = p

    def __call__(self, img: Any) -> Any:
        return random.choices(self.transforms, weights=self.p)[0](img)

    def __repr__(self) -> str:
        return f"{super().__repr__()}(p={self.p})"


class RandomHorizontalFlip(nn.Module):
    """Left and right exchanged, with probability p.

    >>> import tiny_torch as torch
    >>> from tiny_torch import transforms
    >>> transforms.RandomHorizontalFlip(p=1.0)(torch.arange(3.0).view(1, 1, 3))
    tensor([[[2., 1., 0.]]])
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        check_probability(p)
        self.p = p

    def flip(self, img: Any) -> Any:
        """What happens with probability p."""
        return F.hflip(img)

    def forward(self, img: Any) -> Any:
        return self.flip(img) if happens(self.p) else img

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p})"


class RandomVerticalFlip(RandomHorizontalFlip):
    """Top and bottom exchanged, with probability p."""

    def flip(self, img: Any) -> Any:
        return F.vflip(img)


class RandomGrayscale(RandomHorizontalFlip):
    """Grey in as many channels as the image has, with probability p."""

    def __init__(self, p: float = 0.1) -> None:
        super().__init__(p)

    def flip(self, img: Any) -> Any:
        return F.rgb_to_grayscale(img, F.get_image_num_channels(img))


class RandomCrop(nn.Module):
    """A random window (height, width), after padding.

    `pad_if_needed` pads where the image is smaller, else that raises ValueError.

    >>> import tiny_torch as torch
    >>> from tiny_torch import transforms
    >>> transforms.RandomCrop(32, padding=4)(torch.zeros(3, 32, 32)).shape
    torch.Size([3, 32, 32])
    """

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: Fill = 0,
        padding_mode: str = "constant",
    ) -> None:
        super().__init__()
        check_padding(0 if padding is None else padding, fill, padding_mode)
        self.size, self.padding, self.pad_if_needed = as_pair("size", size), padding, pad_if_needed
        self.fill, self.padding_mode = fill, padding_mode

    @staticmethod
    def get_params(img: Any, output_size: tuple[int, int]) -> tuple[int, int, int, int]:
        """A random (top, left, height, width)."""
        _, h, w = F.get_dimensions(img)
        height, width = output_size
        if h < height or w < width:
            raise ValueError(
                f"Required crop size {(height, width)} is larger than input image size {(h, w)}"
            )
        if (h, w) == (height, width):
            return 0, 0, h, w
        return integer(h - height + 1), integer(w - width + 1), height, width

    def forward(self, img: Any) -> Any:
        if self.padding is not None:
            img = F.pad(img, self.padding, self.fill, self.padding_mode)
        _, h, w = F.get_dimensions(img)
        if self.pad_if_needed and w < self.size[1]:
            img = F.pad(img, [self.size[1] - w, 0], self.fill, self.padding_mode)
        if self.pad_if_needed and h < self.size[0]:
            img = F.pad(img, [0, self.size[0] - h], self.fill, self.padding_mode)
        return F.crop(img, *self.get_params(img, self.size))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size}, padding={self.padding})"


class RandomResizedCrop(nn.Module):
    """A random window of a part `scale` of the area and an aspect `ratio`, resized to `size`."""

    def __init__(
        self,
        size: int | Sequence[int],
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: Any = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        _check_ranges(scale, ratio)
        self.size, self.scale, self.ratio = as_pair("size", size), scale, ratio
        self.interpolation, self.antialias = as_mode(interpolation), antialias

    @staticmethod
    def get_params(
        img: Any, scale: Sequence[float], ratio: Sequence[float]
    ) -> tuple[int, int, int, int]:
        """A random (top, left, height, width); the middle, where ten draws do not fit."""
        _, height, width = F.get_dimensions(img)
        log_ratio = torch.log(torch.tensor(ratio))
        for _ in range(10):
            area = height * width * uniform(*scale)
            aspect = torch.exp(torch.empty(1).uniform_(*log_ratio.tolist())).item()
            w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
            if 0 < w <= width and 0 < h <= height:
                return integer(height - h + 1), integer(width - w + 1), h, w
        w, h = width, height
        if width / height < min(ratio):
            h = round(w / min(ratio))
        elif width / height > max(ratio):
            w = round(h * max(ratio))
        return (height - h) // 2, (width - w) // 2, h, w

    def forward(self, img: Any) -> Any:
        window = self.get_params(img, self.scale, self.ratio)
        return F.resized_crop(img, *window, self.size, self.interpolation, self.antialias)

    def __repr__(self) -> str:
        scale, ratio = (tuple(round(x, 4) for x in pair) for pair in (self.scale, self.ratio))
        return (
            f"{type(self).__name__}(size={self.size}, scale={scale}, ratio={ratio}, "
            f"interpolation={self.interpolation.value}, antialias={self.antialias})"
        )


class ColorJitter(nn.Module):
    """Brightness, contrast, saturation and hue changed by random factors in a random order.

    A number x means factors from 1 - x to 1 + x, of hue from -x to x; a pair says both ends.
    """

    def __init__(
        self,
        brightness: float | Sequence[float] = 0,
        contrast: float | Sequence[float] = 0,
        saturation: float | Sequence[float] = 0,
        hue: float | Sequence[float] = 0,
    ) -> None:
        super().__init__()
        self.brightness = _factors("brightness", brightness)
        self.contrast = _factors("contrast", contrast)
        self.saturation = _factors("saturation", saturation)
        self.hue = _factors("hue", hue, 0.0, (-0.5, 0.5))

    @staticmethod
    def get_params(
        brightness: Sequence[float] | None,
        contrast: Sequence[float] | None,
        saturation: Sequence[float] | None,
        hue: Sequence[float] | None,
    ) -> tuple[Any, ...]:
        """A random order (4,) and four factors, None where there is no range."""
        order = torch.randperm(4)
        ranges = (brightness, contrast, saturation, hue)
        return order, *(None if ends is None else uniform(*ends) for ends in ranges)

    def forward(self, img: Any) -> Any:
        order, *factors = self.get_params(self.brightness, self.contrast, self.saturation, self.hue)
        change = F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue
        for i in order.tolist():
            if factors[i] is not None:
                img = change[i](img, factors[i])
        return img

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(brightness={self.brightness}, contrast={self.contrast}, "
            f"saturation={self.saturation}, hue={self.hue})"
        )


def _factors(
    name: str,
    value: Any,
    center: float = 1.0,
    bounds: tuple[float, float] = (0.0, math.inf),
) -> tuple[float, float] | None:
    """A range of factors; None where it changes nothing."""
    if isinstance(value, int | float | np.number):
        if value < 0:
            raise ValueError(f"If {name} is a single number, it must be non negative, got {value}")
        least, most = center - value, center + value
        least = max(least, 0.0) if center else least
    elif isinstance(value, Sequence) and len(value) == 2:
        least, most = float(value[0]), float(value[1])
    else:
        raise TypeError(f"{name} should be a single number or a list/tuple with length 2.")
    if not bounds[0] <= least <= most <= bounds[1]:
        raise ValueError(f"{name} values should be between {bounds}, but got {[least, most]}.")
    return None if least == most == center else (float(least), float(most))


class GaussianBlur(nn.Module):
    """Smoothed by a Gaussian window of odd size, whose sigma is random in a range."""

    def __init__(
        self, kernel_size: int | Sequence[int], sigma: float | Sequence[float] = (0.1, 2.0)
    ) -> None:
        super().__init__()
        self.kernel_size = as_pair("kernel_size", kernel_size)
        if any(size <= 0 or size % 2 == 0 for size in self.kernel_size):
            raise ValueError(
                f"Kernel size value should be an odd and positive number, got {kernel_size!r}"
            )
        self.sigma = (sigma, sigma) if isinstance(sigma, int | float | np.number) else sigma
        check_length("sigma", self.sigma)
        if not 0.0 < self.sigma[0] <= self.sigma[1]:
            raise ValueError(
                f"sigma values should be positive and of the form (min, max), got {sigma!r}"
            )

    @staticmethod
    def get_params(sigma_min: float, sigma_max: float) -> float:
        """A random sigma."""
        return uniform(sigma_min, sigma_max)

    def forward(self, img: Any) -> Any:
        sigma = self.get_params(self.sigma[0], self.sigma[1])
        return F.gaussian_blur(img, self.kernel_size, [sigma, sigma])

    def __repr__(self) -> str:
        return f"{type(self).__name__}(kernel_size={self.kernel_size}, sigma={self.sigma})"


class RandomErasing(nn.Module):
    """A random window of a tensor overwritten, with probability p.

    `value` is a number, one for each channel, or "random" for normal noise.
    Source: https://arxiv.org/abs/1708.04896
    """

    def __init__(
        self,
        p: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: float | str | Sequence[float] = 0,
        inplace: bool = False,
    ) -> None:
        super().__init__()
        check_probability(p)
        _check_ranges(scale, ratio)
        if scale[0] < 0 or scale[1] > 1:
            raise ValueError(f"Scale should be between 0 and 1, got {scale!r}")
        if not isinstance(value, int | float | np.number | str | Sequence):
            raise TypeError(
                f"Argument value should be either a number or str or a sequence, got {value!r}"
            )
        if isinstance(value, str) and value != "random":
            raise ValueError(f"If value is str, it should be 'random', got {value!r}")
        self.p, self.scale, self.ratio, self.value = p, scale, ratio, value
        self.inplace = inplace

    @staticmethod
    def get_params(
        img: torch.Tensor,
        scale: Sequence[float],
        ratio: Sequence[float],
        value: Sequence[float] | None = None,
    ) -> tuple[int, int, int, int, torch.Tensor]:
        """A random (row, column, height, width) and what to write; the image, if none fits."""
        channels, height, width = img.shape[-3:]
        log_ratio = torch.log(torch.tensor(ratio)).tolist()
        for _ in range(10):
            area = height * width * uniform(*scale)
            aspect = torch.exp(torch.empty(1).uniform_(*log_ratio)).item()
            h, w = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
            if not (h < height and w < width):
                continue
            if value is None:
                v = torch.empty(channels, h, w).normal_()
            else:
                v = torch.tensor(value)[:, None, None]
            return integer(height - h + 1), integer(width - w + 1), h, w, v
        return 0, 0, height, width, img

    def forward(self, img: torch.Tensor) -> torch.Tensor:
        F.check_tensor(img)
        if not happens(self.p):
            return img
        value = self.value
        values = [float(value)] if isinstance(value, int | float | np.number) else value
        if isinstance(values, str):
            return F.erase(img, *self.get_params(img, self.scale, self.ratio), self.inplace)
        if len(values) not in (1, img.shape[-3]):
            raise ValueError(
                "If value is a sequence, it should have either a single value or "
                f"{img.shape[-3]} (number of input channels), got {value!r}"
            )
        window = self.get_params(img, self.scale, self.ratio, [float(v) for v in values])
        return F.erase(img, *window, self.inplace)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(p={self.p}, scale={self.scale}, ratio={self.ratio}, "
            f"value={self.value}, inplace={self.inplace})"
        )
