"""The functions of `tiny_torch.transforms.functional`, and those that v2 added."""

from __future__ import annotations

from typing import Any

import numpy as np

import tiny_torch as torch
from tiny_torch.vision.transforms.functional import (
    adjust_brightness,
    adjust_contrast,
    adjust_hue,
    adjust_saturation,
    affine,
    center_crop,
    convert_image_dtype,
    crop,
    erase,
    five_crop,
    gaussian_blur,
    get_dimensions,
    get_image_num_channels,
    get_image_size,
    hflip,
    is_pil,
    normalize,
    pad,
    pil_to_tensor,
    resize,
    resized_crop,
    rgb_to_grayscale,
    rotate,
    ten_crop,
    to_grayscale,
    to_pil_image,
    to_tensor,
    vflip,
)

__all__ = [
    "adjust_brightness",
    "adjust_contrast",
    "adjust_hue",
    "adjust_saturation",
    "affine",
    "center_crop",
    "convert_image_dtype",
    "crop",
    "erase",
    "five_crop",
    "gaussian_blur",
    "get_dimensions",
    "get_image_num_channels",
    "get_image_size",
    "hflip",
    "normalize",
    "pad",
    "pil_to_tensor",
    "resize",
    "resized_crop",
    "rgb_to_grayscale",
    "rotate",
    "ten_crop",
    "to_dtype",
    "to_grayscale",
    "to_image",
    "to_pil_image",
    "to_tensor",
    "vflip",
]


def to_image(inpt: Any) -> torch.Tensor:
    """A PIL image, an array (H, W, C) or a tensor (C, H, W), as a tensor with its own values.

    Raises TypeError for anything else.

    >>> import numpy as np
    >>> from tiny_torch.transforms.v2.functional import to_image
    >>> to_image(np.zeros((2, 4, 3), "uint8")).shape
    torch.Size([3, 2, 4])
    """
    if isinstance(inpt, torch.Tensor):
        return inpt
    if isinstance(inpt, np.ndarray):
        return torch.from_numpy(np.atleast_3d(inpt)).permute(2, 0, 1).contiguous()
    if is_pil(inpt):
        return pil_to_tensor(inpt)
    raise TypeError(
        f"Input can either be a pure Tensor, a numpy array, or a PIL image, but got {type(inpt)}."
    )


def to_dtype(
    inpt: torch.Tensor, dtype: torch.dtype = torch.float32, scale: bool = False
) -> torch.Tensor:
    """A tensor in another dtype; `scale` keeps white as white: 255 in uint8, 1.0 in floats."""
    return convert_image_dtype(inpt, dtype) if scale else inpt.to(dtype)
