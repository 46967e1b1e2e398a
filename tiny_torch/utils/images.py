"""Batches of images as one image, and images as files.

Source: https://docs.pytorch.org/vision/stable/utils.html
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any, BinaryIO

import tiny_torch as torch
from tiny_torch.base.extras import pillow


def make_grid(
    tensor: torch.Tensor | Sequence[torch.Tensor],
    nrow: int = 8,
    padding: int = 2,
    normalize: bool = False,
    value_range: tuple[float, float] | None = None,
    scale_each: bool = False,
    pad_value: float = 0.0,
) -> torch.Tensor:
    """Images (B, C, H, W) side by side, `nrow` in a row, as one image (C, H', W').

    One image, (H, W) or (C, H, W), is a batch of one; grey ones get three channels. `normalize`
    moves `value_range`, or what the images have, to 0 to 1, for each image alone if `scale_each`.
    Raises TypeError for what is no tensor, ValueError for other dimensions.

    >>> import tiny_torch as torch
    >>> from tiny_torch.utils.images import make_grid
    >>> make_grid(torch.rand(5, 1, 4, 4), nrow=3).shape
    torch.Size([3, 14, 20])
    """
    images = _batch(tensor)
    if normalize:
        images = _normalize(images, value_range, scale_each)
    if len(images) == 1:
        return images.squeeze(0)
    if nrow < 1:
        raise ValueError(f"nrow must be at least 1, got {nrow}")
    columns = min(nrow, len(images))
    rows = math.ceil(len(images) / columns)
    height, width = images.shape[2] + padding, images.shape[3] + padding
    size = images.shape[1], height * rows + padding, width * columns + padding
    grid = images.new_full(size, pad_value)
    for i, image in enumerate(images):
        top, left = i // columns * height + padding, i % columns * width + padding
        grid[:, top : top + height - padding, left : left + width - padding] = image
    return grid


def _batch(tensor: Any) -> torch.Tensor:
    """(B, C, H, W), with three channels where there was one."""
    if isinstance(tensor, list | tuple):
        for image in tensor:
            if not isinstance(image, torch.Tensor):
                raise TypeError(
                    f"tensor or list of tensors expected, got a list containing {type(image)}"
                )
        tensor = torch.stack(list(tensor))
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"tensor or list of tensors expected, got {type(tensor)}")
    if not 2 <= tensor.ndim <= 4 or tensor.numel() == 0:
        raise ValueError(f"images (B, C, H, W), (C, H, W) or (H, W), got {tuple(tensor.shape)}")
    images = tensor[(None,) * (4 - tensor.ndim)]
    return images.expand(-1, 3, -1, -1) if images.shape[1] == 1 else images


def _normalize(images: torch.Tensor, value_range: Any, scale_each: bool) -> torch.Tensor:
    if value_range is not None and not isinstance(value_range, tuple):
        raise TypeError(
            "value_range has to be a tuple (min, max) if specified. min and max are numbers, "
            f"got {value_range!r}"
        )

    def scale(part: torch.Tensor) -> torch.Tensor:
        low, high = value_range or (part.min().item(), part.max().item())
        return part.clamp(low, high).sub(low).div(max(high - low, 1e-5))

    return torch.stack([scale(image) for image in images]) if scale_each else scale(images)


def save_image(
    tensor: torch.Tensor | Sequence[torch.Tensor],
    fp: str | os.PathLike[str] | BinaryIO,
    format: str | None = None,
    **kwargs: Any,
) -> None:
    """Writes images with values from 0 to 1 as one file, in the format that its name says.

    Several images become a grid; further arguments are those of `make_grid`. `format` is for file
    objects, which have no name. Raises ImportError without Pillow, and as `make_grid`.

    >>> import io
    >>> import tiny_torch as torch
    >>> from tiny_torch.utils.images import save_image
    >>> save_image(torch.rand(4, 3, 8, 8), file := io.BytesIO(), format="png")
    >>> file.getvalue()[1:4]
    b'PNG'
    """
    grid = make_grid(tensor, **kwargs)
    levels = grid.mul(255).add(0.5).clamp(0, 255).permute(1, 2, 0).to("cpu", torch.uint8)
    pillow("save_image").fromarray(levels.contiguous().numpy()).save(fp, format=format)
