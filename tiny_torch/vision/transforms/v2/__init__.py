"""torchvision's transforms of version 2, for one image at a time: tensors and PIL images.

Boxes, masks and several inputs are not here. What draws other numbers than version 1 has a class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.vision.transforms import (
    CenterCrop,
    ColorJitter,
    Compose,
    ConvertImageDtype,
    FiveCrop,
    GaussianBlur,
    Grayscale,
    InterpolationMode,
    Lambda,
    Normalize,
    Pad,
    PILToTensor,
    RandomAffine,
    RandomApply,
    RandomErasing,
    RandomGrayscale,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomRotation,
    RandomVerticalFlip,
    Resize,
    TenCrop,
    ToPILImage,
    ToTensor,
    drawn,
)
from tiny_torch.vision.transforms.drawn import integer
from tiny_torch.vision.transforms.v2 import functional as functional


class ToImage(nn.Module):
    """A PIL image, an array (H, W, C) or a tensor (C, H, W), as a tensor with its own values.

    >>> import numpy as np
    >>> import tiny_torch as torch
    >>> from tiny_torch.transforms import v2
    >>> prepare = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])
    >>> prepare(np.full((1, 1, 3), 255, "uint8")).flatten()
    tensor([1., 1., 1.])
    """

    def forward(self, inpt: Any) -> torch.Tensor:
        return functional.to_image(inpt)


class ToDtype(nn.Module):
    """A tensor in another dtype; `scale` keeps white as white: 255 in uint8, 1.0 in floats."""

    def __init__(self, dtype: torch.dtype, scale: bool = False) -> None:
        super().__init__()
        if not isinstance(dtype, torch.dtype):
            raise NotImplementedError(f"ToDtype takes one dtype, got {dtype!r}")
        self.dtype, self.scale = dtype, scale

    def forward(self, inpt: torch.Tensor) -> torch.Tensor:
        return functional.to_dtype(inpt, self.dtype, self.scale)

    def extra_repr(self) -> str:
        return f"dtype={self.dtype}, scale={self.scale}"


class Identity(nn.Module):
    """What it is given."""

    def forward(self, inpt: Any) -> Any:
        return inpt


class RandomCrop(drawn.RandomCrop):
    """A random window (height, width); it draws a number only for a dim that is larger."""

    @staticmethod
    def get_params(img: Any, output_size: tuple[int, int]) -> tuple[int, int, int, int]:
        _, h, w = functional.get_dimensions(img)
        height, width = output_size
        if h < height or w < width:
            raise ValueError(
                f"Required crop size {(height, width)} is larger than padded input image size "
                f"{(h, w)}."
            )
        top = integer(h - height + 1) if h > height else 0
        return top, integer(w - width + 1) if w > width else 0, height, width


class RandomOrder(drawn.RandomOrder):
    """All transforms, in a random order of the default generator."""

    def __call__(self, img: Any) -> Any:
        for i in torch.randperm(len(self.transforms)).tolist():
            img = self.transforms[i](img)
        return img


class RandomChoice(drawn.RandomChoice):
    """One of the transforms, with weights `p`, drawn from the default generator."""

    def __init__(
        self, transforms: Sequence[Callable[[Any], Any]], p: Sequence[float] | None = None
    ) -> None:
        super().__init__(transforms, p)
        weights = [1.0] * len(transforms) if p is None else p
        self.p = [weight / sum(weights) for weight in weights]

    def __call__(self, img: Any) -> Any:
        index = int(torch.multinomial(torch.tensor(self.p), 1))
        return self.transforms[index](img)
