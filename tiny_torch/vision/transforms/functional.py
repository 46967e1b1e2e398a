"""Transforms as functions of one image, a tensor (..., C, H, W) or a PIL image.

A function here checks its arguments, and has the image's own kind compute:
`functional_tensor.py`, `functional_pil.py`.
Source: https://docs.pytorch.org/vision/stable/transforms.html
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

import tiny_torch as torch
from tiny_torch.vision.transforms import functional_pil, functional_tensor
from tiny_torch.vision.transforms._arguments import (
    Fill,
    InterpolationMode,
    as_mode,
    as_pair,
    check_length,
    check_padding,
)

BILINEAR, NEAREST = InterpolationMode.BILINEAR, InterpolationMode.NEAREST
_DTYPES = {"I": np.int32, "I;16": np.uint16, "F": np.float32}  # of PIL's modes; uint8 otherwise
# mode by channels and dtype, and the other modes that an array of so many channels may mean
_MODES = {2: ["LA"], 3: ["RGB", "YCbCr", "HSV"], 4: ["RGBA", "CMYK", "RGBX"]}
_GREY_MODES = {"uint8": "L", "int16": "I;16", "int32": "I", "float32": "F"}


def is_pil(img: Any) -> bool:
    """Whether it is a PIL image; without Pillow loaded, nothing is."""
    image = sys.modules.get("PIL.Image")
    return image is not None and isinstance(img, image.Image)


def _of(img: Any) -> Any:
    """The module that transforms this kind of image."""
    if isinstance(img, torch.Tensor):
        return functional_tensor
    if is_pil(img):
        return functional_pil
    raise TypeError(f"img should be PIL Image or Tensor. Got {type(img)}")


def get_dimensions(img: Any) -> list[int]:
    """[channels, height, width] of an image.

    >>> import tiny_torch as torch
    >>> from tiny_torch.transforms.functional import get_dimensions
    >>> get_dimensions(torch.zeros(3, 4, 5))
    [3, 4, 5]
    """
    return _of(img).get_dimensions(img)


def get_image_size(img: Any) -> list[int]:
    """[width, height] of an image."""
    return get_dimensions(img)[:0:-1]


def get_image_num_channels(img: Any) -> int:
    """The number of channels of an image."""
    return get_dimensions(img)[0]


# ---- tensors and images ----------------------------------------------------------------------


def to_tensor(pic: Any) -> torch.Tensor:
    """A PIL image, or an array (H, W) or (H, W, C), as a tensor (C, H, W); bytes become 0 to 1.

    Raises TypeError for anything else, ValueError for other dimensions.

    >>> import numpy as np
    >>> from tiny_torch.transforms.functional import to_tensor
    >>> to_tensor(np.full((1, 2), 51, "uint8"))
    tensor([[[0.2000, 0.2000]]])
    """
    if is_pil(pic):
        image = _from_pil(pic)
        tensor = (255 * image if pic.mode == "1" else image).contiguous()
    elif isinstance(pic, np.ndarray):
        if pic.ndim not in (2, 3):
            raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
        array = pic[:, :, None] if pic.ndim == 2 else pic
        tensor = torch.from_numpy(array.transpose(2, 0, 1)).contiguous()
    else:
        raise TypeError(f"pic should be PIL Image or ndarray. Got {type(pic)}")
    if tensor.dtype != torch.uint8:
        return tensor
    return tensor.to(torch.get_default_dtype()).div(255)


def _from_pil(pic: Any) -> torch.Tensor:
    """(C, H, W), in the order of the image's memory."""
    if pic.mode in ("I;16", "I;16B"):  # uint16, which there is not
        array = np.array(pic).astype(np.int16)
    else:
        array = np.array(pic, _DTYPES.get(pic.mode, np.uint8))
    return torch.from_numpy(array.reshape(pic.height, pic.width, -1)).permute(2, 0, 1)


def pil_to_tensor(pic: Any) -> torch.Tensor:
    """A PIL image as a tensor (C, H, W) of its own values, such as uint8.

    Raises TypeError for anything else.
    """
    if not is_pil(pic):
        raise TypeError(f"pic should be PIL Image. Got {type(pic)}")
    return _from_pil(pic)


def to_pil_image(pic: Any, mode: str | None = None) -> Any:
    """A tensor (C, H, W), or an array (H, W, C), as a PIL image; floats are 0 to 1.

    Raises TypeError for anything else or a dtype that no mode has, ValueError for a shape or mode
    that do not fit.
    """
    if isinstance(pic, torch.Tensor):
        array = (pic.permute(1, 2, 0) if pic.ndim == 3 else pic).detach().cpu().numpy()
    elif isinstance(pic, np.ndarray):
        array = pic
    else:
        raise TypeError(f"pic should be Tensor or ndarray. Got {type(pic)}.")
    if array.ndim not in (2, 3):
        raise ValueError(f"pic should be 2/3 dimensional. Got {array.ndim} dimensions.")
    if array.ndim == 3 and not 1 <= array.shape[2] <= 4:
        raise ValueError(f"pic should not have > 4 channels. Got {array.shape[2]} channels.")
    if array.dtype.kind == "f" and mode != "F":
        with np.errstate(invalid="ignore"):
            array = (array * 255).astype(np.uint8)
    return functional_pil.from_array(array, _mode_of(array, mode))


def _mode_of(array: np.ndarray, mode: str | None) -> str:
    channels = 1 if array.ndim == 2 else array.shape[2]
    if channels == 1:
        modes = [_GREY_MODES[array.dtype.name]] if array.dtype.name in _GREY_MODES else []
    else:
        modes = _MODES[channels] if array.dtype == np.uint8 else []
    if not modes:
        raise TypeError(f"Input type {array.dtype} is not supported")
    if mode is not None and mode not in modes:
        raise ValueError(f"Only modes {modes} are supported for {channels} channels, got {mode!r}")
    return mode or modes[0]


def convert_image_dtype(image: torch.Tensor, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """An image in another dtype; white stays white: 255 in uint8, 1.0 in floats.

    Raises TypeError for what is no tensor, RuntimeError for a cast that would lose digits.

    >>> import tiny_torch as torch
    >>> from tiny_torch.transforms.functional import convert_image_dtype
    >>> convert_image_dtype(torch.tensor([[[0.0, 0.5, 1.0]]]), torch.uint8)
    tensor([[[  0, 127, 255]]], dtype=torch.uint8)
    """
    check_tensor(image)
    return functional_tensor.convert_image_dtype(image, dtype)


def check_tensor(img: Any) -> None:
    """Raises TypeError for what is no tensor."""
    if not isinstance(img, torch.Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(img)}")


def normalize(
    tensor: torch.Tensor, mean: Sequence[float], std: Sequence[float], inplace: bool = False
) -> torch.Tensor:
    """(tensor - mean) / std, channel by channel, of floats (..., C, H, W).

    Raises TypeError for what is no tensor of floats, ValueError for a std of 0 or less than 3 dims.

    >>> import tiny_torch as torch
    >>> from tiny_torch.transforms.functional import normalize
    >>> normalize(torch.ones(1, 1, 2), mean=[0.5], std=[0.25])
    tensor([[[2., 2.]]])
    """
    check_tensor(tensor)
    return functional_tensor.normalize(tensor, mean, std, inplace)


# ---- geometry --------------------------------------------------------------------------------


def hflip(img: Any) -> Any:
    """The image, left and right exchanged."""
    return _of(img).hflip(img)


def vflip(img: Any) -> Any:
    """The image, top and bottom exchanged."""
    return _of(img).vflip(img)


def pad(
    img: Any, padding: int | Sequence[int], fill: Fill = 0, padding_mode: str = "constant"
) -> Any:
    """The image with a border: one width, (left and right, top and bottom), or (l, t, r, b).

    `padding_mode` is "constant", "edge", "reflect" or "symmetric".

    >>> import tiny_torch as torch
    >>> from tiny_torch.transforms.functional import pad
    >>> pad(torch.ones(1, 1, 2), [1, 0])
    tensor([[[0., 1., 1., 0.]]])
    """
    check_padding(padding, fill, padding_mode)
    return _of(img).pad(img, padding, fill, padding_mode)


def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    """A window of the image; black where that is outside."""
    return _of(img).crop(img, top, left, height, width)


def center_crop(img: Any, output_size: int | Sequence[int]) -> Any:
    """The middle (height, width) of the image, with a black border where it is smaller."""
    height, width = as_pair("output_size", output_size)
    _, h, w = get_dimensions(img)
    if width > w or height > h:
        x, y = max(width - w, 0), max(height - h, 0)
        img = pad(img, [x // 2, y // 2, (x + 1) // 2, (y + 1) // 2])
        _, h, w = get_dimensions(img)
    return crop(img, round((h - height) / 2.0), round((w - width) / 2.0), height, width)


def five_crop(img: Any, size: int | Sequence[int]) -> tuple[Any, ...]:
    """The four corners and the middle: top left, top right, bottom left, bottom right, centre.

    Raises ValueError for a size that is larger than the image.
    """
    height, width = as_pair("size", size)
    _, h, w = get_dimensions(img)
    if width > w or height > h:
        raise ValueError(
            f"Requested crop size {(height, width)} is bigger than input size {(h, w)}"
        )
    corners = [(top, left) for top in (0, h - height) for left in (0, w - width)]
    crops = [crop(img, top, left, height, width) for top, left in corners]
    return (*crops, center_crop(img, [height, width]))


def ten_crop(img: Any, size: int | Sequence[int], vertical_flip: bool = False) -> tuple[Any, ...]:
    """`five_crop` of the image and of its mirror image."""
    mirrored = vflip(img) if vertical_flip else hflip(img)
    return five_crop(img, size) + five_crop(mirrored, size)


def _output_size(h: int, w: int, size: int | Sequence[int], max_size: int | None) -> list[int]:
    if not isinstance(size, int) and len(size) == 2:
        if max_size is not None:
            raise ValueError(
                "max_size should only be passed if size specifies the length of the smaller edge, "
                f"got size={size!r}, max_size={max_size}"
            )
        return list(size)
    if not isinstance(size, int) and len(size) != 1:
        raise ValueError(f"Size must be an int or a 1 or 2 element tuple/list, got {size!r}")
    short = size if isinstance(size, int) else size[0]
    long = int(short * max(h, w) / min(h, w))
    if max_size is not None and max_size <= short:
        raise ValueError(
            f"max_size = {max_size} must be strictly greater than the requested size for the "
            f"smaller edge size = {size}"
        )
    if max_size is not None and long > max_size:
        short, long = int(max_size * short / long), max_size
    return [long, short] if w <= h else [short, long]


def resize(
    img: Any,
    size: int | Sequence[int],
    interpolation: Any = BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Any:
    """The image as (height, width), or with a shorter side of one given number.

    `max_size` bounds the longer side. Tensors take nearest, nearest-exact, bilinear and bicubic.

    >>> import tiny_torch as torch
    >>> from tiny_torch.transforms.functional import resize
    >>> resize(torch.zeros(3, 8, 6), 3).shape
    torch.Size([3, 4, 3])
    """
    _, h, w = get_dimensions(img)
    result = _output_size(h, w, size, max_size)
    mode = as_mode(interpolation)
    return img if result == [h, w] else _of(img).resize(img, result, mode, antialias)


def resized_crop(
    img: Any,
    top: int,
    left: int,
    height: int,
    width: int,
    size: int | Sequence[int],
    interpolation: Any = BILINEAR,
    antialias: bool | None = True,
) -> Any:
    """A window of the image, resized."""
    return resize(crop(img, top, left, height, width), size, interpolation, None, antialias)


def _inverse_matrix(
    center: Sequence[float],
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: Sequence[float],
) -> list[float]:
    """Rows of the inverse of: to the centre, shear, rotate and scale, back and translate."""
    turn, x, y = math.radians(angle), math.radians(shear[0]), math.radians(shear[1])
    a = math.cos(turn - y) / math.cos(y)
    b = -math.cos(turn - y) * math.tan(x) / math.cos(y) - math.sin(turn)
    c = math.sin(turn - y) / math.cos(y)
    d = -math.sin(turn - y) * math.tan(x) / math.cos(y) + math.cos(turn)
    rows = [(d / scale, -b / scale), (-c / scale, a / scale)]
    moved = -center[0] - translate[0], -center[1] - translate[1]
    matrix: list[float] = []
    for (u, v), middle in zip(rows, center, strict=True):
        matrix += [u, v, u * moved[0] + v * moved[1] + middle]
    return matrix


def _from_middle(img: Any, center: Sequence[float] | None) -> list[float]:
    """A centre of rotation of a tensor, counted from its middle."""
    if center is None:
        return [0.0, 0.0]
    return [c - size * 0.5 for c, size in zip(center, get_image_size(img), strict=True)]


def rotate(
    img: Any,
    angle: float,
    interpolation: Any = NEAREST,
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: Fill = None,
) -> Any:
    """The image, turned by degrees against the clock; `expand` enlarges it to hold all."""
    mode = as_mode(interpolation)
    if not isinstance(angle, int | float):
        raise TypeError(f"Argument angle should be int or float, got {angle!r}")
    if center is not None:
        check_length("center", center)
    if is_pil(img):
        return functional_pil.rotate(img, angle, mode, expand, center, fill)
    _, height, width = get_dimensions(img)
    matrix = _inverse_matrix(_from_middle(img, center), -angle, [0, 0], 1.0, [0, 0])
    size = functional_tensor.expanded_size(matrix, width, height) if expand else None
    return functional_tensor.affine(img, matrix, mode, fill, size)


def affine(
    img: Any,
    angle: float,
    translate: Sequence[int],
    scale: float,
    shear: float | Sequence[float],
    interpolation: Any = NEAREST,
    fill: Fill = None,
    center: Sequence[float] | None = None,
) -> Any:
    """The image, turned by degrees with the clock, scaled, sheared by degrees, and moved."""
    mode = as_mode(interpolation)
    if not isinstance(angle, int | float):
        raise TypeError(f"Argument angle should be int or float, got {angle!r}")
    check_length("translate", translate)
    if scale <= 0:
        raise ValueError(f"Argument scale should be positive, got {scale}")
    shears: Sequence[float] = [shear, 0.0] if isinstance(shear, int | float) else shear
    check_length("shear", shears, (1, 2))
    shears = [shears[0], shears[-1]]
    if center is not None:
        check_length("center", center)
    if is_pil(img):
        middle = center or [size * 0.5 for size in get_image_size(img)]
        matrix = _inverse_matrix(middle, angle, translate, scale, shears)
        return functional_pil.affine(img, matrix, mode, fill)
    matrix = _inverse_matrix(_from_middle(img, center), angle, translate, scale, shears)
    return _of(img).affine(img, matrix, mode, fill)


def erase(
    img: torch.Tensor, i: int, j: int, h: int, w: int, v: torch.Tensor, inplace: bool = False
) -> torch.Tensor:
    """The image with the values `v` in the h x w window at row i, column j."""
    check_tensor(img)
    img = img if inplace else img.clone()
    img[..., i : i + h, j : j + w] = v
    return img


# ---- colours ---------------------------------------------------------------------------------


def rgb_to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """The luma of an RGB image, in one channel or three equal ones.

    >>> import tiny_torch as torch
    >>> from tiny_torch.transforms.functional import rgb_to_grayscale
    >>> rgb_to_grayscale(torch.tensor([255, 0, 0], dtype=torch.uint8)[:, None, None])
    tensor([[[76]]], dtype=torch.uint8)
    """
    if num_output_channels not in (1, 3):
        raise ValueError(
            f"num_output_channels should be either 1 or 3, got {num_output_channels!r}"
        )
    return _of(img).rgb_to_grayscale(img, num_output_channels)


def to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """`rgb_to_grayscale` of a PIL image."""
    if not is_pil(img):
        raise TypeError("Input should be PIL Image")
    return rgb_to_grayscale(img, num_output_channels)


def _check_factor(name: str, factor: float) -> None:
    if factor < 0:
        raise ValueError(f"{name} ({factor}) is not non-negative.")


def adjust_brightness(img: Any, brightness_factor: float) -> Any:
    """The image times a factor: 0 is black, 1 changes nothing."""
    _check_factor("brightness_factor", brightness_factor)
    return _of(img).adjust_brightness(img, brightness_factor)


def adjust_contrast(img: Any, contrast_factor: float) -> Any:
    """The distance from the mean grey, times a factor: 0 is grey, 1 changes nothing."""
    _check_factor("contrast_factor", contrast_factor)
    return _of(img).adjust_contrast(img, contrast_factor)


def adjust_saturation(img: Any, saturation_factor: float) -> Any:
    """The distance of colours from their grey, times a factor: 0 is grey, 1 changes nothing."""
    _check_factor("saturation_factor", saturation_factor)
    return _of(img).adjust_saturation(img, saturation_factor)


def adjust_hue(img: Any, hue_factor: float) -> Any:
    """The hue, turned by a part of the circle from -0.5 to 0.5."""
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].")
    return _of(img).adjust_hue(img, hue_factor)


def gaussian_blur(
    img: Any, kernel_size: int | Sequence[int], sigma: float | Sequence[float] | None = None
) -> Any:
    """The image, smoothed by a Gaussian window of odd sizes (width, height).

    `sigma` is one width or (x, y), by default 0.15 of the window and 0.35.
    """
    sizes = [kernel_size] * 2 if isinstance(kernel_size, int | np.integer) else list(kernel_size)
    check_length("kernel_size", sizes)
    if any(size % 2 == 0 or size < 0 for size in sizes):
        raise ValueError(f"kernel_size should have odd and positive integers. Got {kernel_size}")
    if sigma is None:
        sigma = [size * 0.15 + 0.35 for size in sizes]
    widths = [float(sigma)] * 2 if isinstance(sigma, int | float | np.number) else list(sigma)
    check_length("sigma", widths, (1, 2))
    if min(widths) <= 0:
        raise ValueError(f"sigma should have positive values. Got {sigma}")
    widths = [widths[0], widths[-1]]
    if is_pil(img):
        blurred = functional_tensor.gaussian_blur(pil_to_tensor(img), sizes, widths)
        return to_pil_image(blurred, img.mode)
    check_tensor(img)
    return functional_tensor.gaussian_blur(img, sizes, widths)
