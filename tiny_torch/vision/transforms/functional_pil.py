"""The transforms of PIL images, by Pillow's own arithmetic.

The names are those of `functional_tensor.py`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from tiny_torch.base.extras import pillow
from tiny_torch.vision.transforms._arguments import Fill, InterpolationMode, sides

RESAMPLING = {  # Pillow's numbers
    InterpolationMode.NEAREST: 0,
    InterpolationMode.NEAREST_EXACT: 0,
    InterpolationMode.LANCZOS: 1,
    InterpolationMode.BILINEAR: 2,
    InterpolationMode.BICUBIC: 3,
    InterpolationMode.BOX: 4,
    InterpolationMode.HAMMING: 5,
}


def from_array(array: np.ndarray, mode: str) -> Any:
    """The image of an array (H, W) or (H, W, C) whose dtype is that of the mode."""
    size = (array.shape[1], array.shape[0])
    return pillow("transforms").frombytes(mode, size, np.ascontiguousarray(array).tobytes())


def get_dimensions(img: Any) -> list[int]:
    return [len(img.getbands()), img.height, img.width]


def hflip(img: Any) -> Any:
    return img.transpose(pillow("transforms").Transpose.FLIP_LEFT_RIGHT)


def vflip(img: Any) -> Any:
    return img.transpose(pillow("transforms").Transpose.FLIP_TOP_BOTTOM)


def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    return img.crop((left, top, left + width, top + height))


def color(img: Any, fill: Fill) -> Any:
    """`fill` as Pillow takes it: one number, or a tuple of one for each channel."""
    channels = len(img.getbands())
    values = list(fill) if isinstance(fill, Sequence) else [fill or 0]
    if len(values) == 1:
        values *= channels
    if len(values) != channels:
        raise ValueError(f"fill has {len(values)} elements, the image {channels} channels")
    numbers = tuple(values if img.mode == "F" else [int(value) for value in values])
    return numbers if channels > 1 else numbers[0]


def pad(img: Any, padding: int | Sequence[int], fill: Fill, mode: str) -> Any:
    left, top, right, bottom = sides(padding)
    if mode == "constant":
        border = (left, top, right, bottom)
        expanded = pillow("transforms", "ImageOps").expand(img, border, color(img, fill))
        if img.mode == "P":
            expanded.putpalette(img.getpalette())
        return expanded
    inside = max(-left, 0), max(-top, 0), img.width + min(right, 0), img.height + min(bottom, 0)
    img = img.crop(inside)
    array = np.asarray(img)
    widths = [(max(top, 0), max(bottom, 0)), (max(left, 0), max(right, 0)), (0, 0)]
    padded = np.pad(array, widths[: array.ndim], mode)  # type: ignore[call-overload]
    result = pillow("transforms").fromarray(padded)
    if img.mode == "P":
        result.putpalette(img.getpalette())
    return result


def resize(img: Any, size: Sequence[int], mode: InterpolationMode, antialias: bool | None) -> Any:
    if antialias is False:
        warnings.warn(
            "Anti-alias option is always applied for PIL Image input. Argument antialias is "
            "ignored.",
            stacklevel=4,
        )
    return img.resize((size[1], size[0]), RESAMPLING[mode])


def affine(img: Any, matrix: Sequence[float], mode: InterpolationMode, fill: Fill) -> Any:
    method = pillow("transforms").Transform.AFFINE
    return img.transform(img.size, method, matrix, RESAMPLING[mode], fillcolor=color(img, fill))


def rotate(
    img: Any,
    angle: float,
    mode: InterpolationMode,
    expand: bool,
    center: Sequence[float] | None,
    fill: Fill,
) -> Any:
    return img.rotate(angle, RESAMPLING[mode], expand, center, fillcolor=color(img, fill))


def rgb_to_grayscale(img: Any, num_output_channels: int) -> Any:
    grey = img.convert("L")
    return pillow("transforms").merge("RGB", [grey] * 3) if num_output_channels == 3 else grey


def _enhance(name: str, img: Any, factor: float) -> Any:
    return getattr(pillow("transforms", "ImageEnhance"), name)(img).enhance(factor)


def adjust_brightness(img: Any, factor: float) -> Any:
    return _enhance("Brightness", img, factor)


def adjust_contrast(img: Any, factor: float) -> Any:
    return _enhance("Contrast", img, factor)


def adjust_saturation(img: Any, factor: float) -> Any:
    return _enhance("Color", img, factor)


def adjust_hue(img: Any, factor: float) -> Any:
    if img.mode in ("L", "1", "I", "F"):
        return img
    hue, saturation, value = img.convert("HSV").split()
    turned = np.asarray(hue) + np.int32(factor * 255).astype(np.uint8)  # wraps around
    parts = (from_array(turned, "L"), saturation, value)
    return pillow("transforms").merge("HSV", parts).convert(img.mode)
