"""What the arguments of transforms mean, for tensors and PIL images alike."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

Fill = float | Sequence[float] | None


class InterpolationMode(enum.Enum):
    """How `resize`, `rotate` and `affine` read between pixels; box and later are Pillow's alone.

    Source: https://docs.pytorch.org/vision/stable/transforms.html

    >>> from tiny_torch.transforms import InterpolationMode
    >>> InterpolationMode("bilinear")
    <InterpolationMode.BILINEAR: 'bilinear'>
    """

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


_BY_NUMBER = [  # Pillow's constants
    InterpolationMode.NEAREST,
    InterpolationMode.LANCZOS,
    InterpolationMode.BILINEAR,
    InterpolationMode.BICUBIC,
    InterpolationMode.BOX,
    InterpolationMode.HAMMING,
]
PADDING_MODES = ("constant", "edge", "reflect", "symmetric")


def as_mode(interpolation: Any) -> InterpolationMode:
    """An InterpolationMode, or the one that Pillow's number means."""
    if isinstance(interpolation, InterpolationMode):
        return interpolation
    if type(interpolation) is int and 0 <= interpolation < len(_BY_NUMBER):
        return _BY_NUMBER[interpolation]
    raise TypeError(
        "Argument interpolation should be a InterpolationMode or a corresponding Pillow integer "
        f"constant, got {interpolation!r}"
    )


def as_pair(name: str, value: Any) -> tuple[int, int]:
    """A size (height, width) from one number or two."""
    if isinstance(value, int | np.integer):
        return int(value), int(value)
    if isinstance(value, Sequence) and len(value) in (1, 2):
        return value[0], value[-1]
    raise ValueError(f"{name} should be a number or have 1 or 2 elements (h, w), got {value!r}")


def as_range(name: str, value: Any, lengths: tuple[int, ...] = (2,)) -> list[float]:
    """A range (least, most) of angles, which a single number means on both sides of 0."""
    if isinstance(value, int | float | np.number):
        if value < 0:
            raise ValueError(f"If {name} is a single number, it must be positive, got {value}")
        return [-float(value), float(value)]
    check_length(name, value, lengths)
    return [float(number) for number in value]


def check_length(name: str, value: Any, lengths: tuple[int, ...] = (2,)) -> None:
    """Raises unless a value is a sequence of one of these lengths."""
    known = " or ".join(map(str, lengths))
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise TypeError(f"{name} should be a sequence of length {known}, got {value!r}")
    if len(value) not in lengths:
        raise ValueError(f"{name} should be a sequence of length {known}, got {value!r}")


def check_probability(p: Any) -> None:
    if not isinstance(p, int | float | np.number) or not 0 <= p <= 1:
        raise ValueError(f"p should be a number from 0 to 1, got {p!r}")


def check_padding(padding: Any, fill: Any, mode: Any) -> None:
    if not isinstance(padding, int | np.integer | Sequence):
        raise TypeError(f"Got inappropriate padding arg: {padding!r}")
    if not isinstance(fill, int | float | np.number | Sequence | None):
        raise TypeError(f"Got inappropriate fill arg: {fill!r}")
    if mode not in PADDING_MODES:
        raise ValueError(
            f"Padding mode should be either constant, edge, reflect or symmetric, got {mode!r}"
        )
    if isinstance(padding, Sequence) and len(padding) not in (1, 2, 4):
        raise ValueError(
            "Padding must be an int or a 1, 2, or 4 element tuple, not a "
            f"{len(padding)} element tuple"
        )


def sides(padding: int | Sequence[int]) -> tuple[int, int, int, int]:
    """(left, top, right, bottom) from one number, (left and right, top and bottom), or all four."""
    if isinstance(padding, int | np.integer):
        return (int(padding),) * 4
    left, top, right, bottom = list(padding) * (4 // len(padding))
    return left, top, right, bottom
