"""Random rotations and affine maps: torchvision's draws, as in drawn.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.vision.transforms import functional as F
from tiny_torch.vision.transforms._arguments import (
    Fill,
    InterpolationMode,
    as_mode,
    as_range,
    check_length,
)
from tiny_torch.vision.transforms.drawn import uniform


def _check_fill(fill: Any) -> Any:
    if not isinstance(fill, int | float | np.number | Sequence | None):
        raise TypeError(f"Fill should be either a sequence or a number, got {fill!r}")
    return 0 if fill is None else fill


def _fill_of(img: Any, fill: Any) -> Any:
    """One value for each channel of a tensor; as it is for a PIL image."""
    if not isinstance(img, torch.Tensor):
        return fill
    if isinstance(fill, Sequence):
        return [float(value) for value in fill]
    return [float(fill)] * F.get_image_num_channels(img)


class RandomRotation(nn.Module):
    """Turned by a random angle of a range of degrees, from -x to x for a number."""

    def __init__(
        self,
        degrees: float | Sequence[float],
        interpolation: Any = InterpolationMode.NEAREST,
        expand: bool = False,
        center: Sequence[float] | None = None,
        fill: Fill = 0,
    ) -> None:
        super().__init__()
        if center is not None:
            check_length("center", center)
        self.degrees, self.interpolation = as_range("degrees", degrees), as_mode(interpolation)
        self.expand, self.center, self.fill = expand, center, _check_fill(fill)

    @staticmethod
    def get_params(degrees: Sequence[float]) -> float:
        """A random angle."""
        return uniform(degrees[0], degrees[1])

    def forward(self, img: Any) -> Any:
        angle, fill = self.get_params(self.degrees), _fill_of(img, self.fill)
        return F.rotate(img, angle, self.interpolation, self.expand, self.center, fill)

    def __repr__(self) -> str:
        center = "" if self.center is None else f", center={self.center}"
        return (
            f"{type(self).__name__}(degrees={self.degrees}, "
            f"interpolation={self.interpolation.value}, expand={self.expand}{center}, "
            f"fill={self.fill})"
        )


class RandomAffine(nn.Module):
    """Turned, moved by parts of the size, scaled and sheared, by random numbers of given ranges."""

    def __init__(
        self,
        degrees: float | Sequence[float],
        translate: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        shear: float | Sequence[float] | None = None,
        interpolation: Any = InterpolationMode.NEAREST,
        fill: Fill = 0,
        center: Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        for name, value in [("translate", translate), ("scale", scale), ("center", center)]:
            if value is not None:
                check_length(name, value)
        if translate is not None and not all(0.0 <= t <= 1.0 for t in translate):
            raise ValueError(f"translation values should be between 0 and 1, got {translate!r}")
        if scale is not None and not all(s > 0 for s in scale):
            raise ValueError(f"scale values should be positive, got {scale!r}")
        self.degrees, self.translate, self.scale = as_range("degrees", degrees), translate, scale
        self.shear = None if shear is None else as_range("shear", shear, (2, 4))
        self.interpolation, self.fill = as_mode(interpolation), _check_fill(fill)
        self.center = center

    @staticmethod
    def get_params(
        degrees: Sequence[float],
        translate: Sequence[float] | None,
        scale_ranges: Sequence[float] | None,
        shears: Sequence[float] | None,
        img_size: Sequence[int],
    ) -> tuple[float, tuple[int, int], float, tuple[float, float]]:
        """A random (angle, (x, y), scale, (shear x, shear y)) for an image (width, height)."""
        angle, moved, scale, shear_x, shear_y = uniform(*degrees), (0, 0), 1.0, 0.0, 0.0
        if translate is not None:
            x, y = translate[0] * img_size[0], translate[1] * img_size[1]
            moved = round(uniform(-x, x)), round(uniform(-y, y))
        if scale_ranges is not None:
            scale = uniform(*scale_ranges)
        if shears is not None:
            shear_x = uniform(shears[0], shears[1])
            shear_y = uniform(shears[2], shears[3]) if len(shears) == 4 else 0.0
        return angle, moved, scale, (shear_x, shear_y)

    def forward(self, img: Any) -> Any:
        size, fill = F.get_image_size(img), _fill_of(img, self.fill)
        drawn = self.get_params(self.degrees, self.translate, self.scale, self.shear, size)
        return F.affine(img, *drawn, self.interpolation, fill, self.center)

    def __repr__(self) -> str:
        parts = [f"degrees={self.degrees}"]
        for name in ("translate", "scale", "shear"):
            if getattr(self, name) is not None:
                parts.append(f"{name}={getattr(self, name)}")
        if self.interpolation is not InterpolationMode.NEAREST:
            parts.append(f"interpolation={self.interpolation.value}")
        parts += [f"fill={self.fill}"] if self.fill != 0 else []
        parts += [f"center={self.center}"] if self.center is not None else []
        return f"{type(self).__name__}({', '.join(parts)})"
