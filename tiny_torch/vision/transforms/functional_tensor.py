"""The transforms of tensors (..., C, H, W): torchvision's arithmetic, step by step.

Integers are computed in float32 and rounded at the end, where torchvision does so.
"""

from __future__ import annotations

from collections.abc import Sequence

import tiny_torch as torch
from tiny_torch.nn import functional as F
from tiny_torch.vision.transforms._arguments import Fill, InterpolationMode, sides

Tensor = torch.Tensor
FLOATS = (torch.float32, torch.float64)
# 0.2989 R + 0.587 G + 0.114 B is ITU-R 601-2 luma
LUMA = (0.2989, 0.587, 0.114)


def greatest(dtype: torch.dtype) -> int:
    """The value of white."""
    return 1 if dtype.is_floating_point or dtype == torch.bool else torch.iinfo(dtype).max


def get_dimensions(img: Tensor) -> list[int]:
    if img.ndim < 2:
        raise TypeError(f"Tensor is not a torch image: it has {img.ndim} dimensions, at least 2")
    return [1 if img.ndim == 2 else img.shape[-3], *img.shape[-2:]]


def _check_channels(img: Tensor) -> None:
    channels = get_dimensions(img)[0]
    if channels not in (1, 3):
        raise TypeError(
            f"Input image tensor permitted channel values are [1, 3], but found {channels}"
        )


def convert_image_dtype(image: Tensor, dtype: torch.dtype) -> Tensor:
    """Another dtype, with white as white: 255 in uint8 is 1.0 in float32."""
    if image.dtype == dtype:
        return image
    white_before, white = greatest(image.dtype), greatest(dtype)
    if image.is_floating_point():
        if dtype.is_floating_point:
            return image.to(dtype)
        if (image.dtype, dtype) in (
            (torch.float32, torch.int32), (torch.float32, torch.int64), (torch.float64, torch.int64)
        ):  # fmt: skip
            raise RuntimeError(
                f"The cast from {image.dtype} to {dtype} cannot be performed safely."
            )
        return image.mul(white + 1.0 - 1e-3).to(dtype)  # each integer from as wide a range
    if dtype.is_floating_point:
        return image.to(dtype) / white_before
    if white_before > white:
        shift = (white_before + 1) // (white + 1)
        return torch.div(image, shift, rounding_mode="floor").to(dtype)
    return image.to(dtype) * ((white + 1) // (white_before + 1))


def hflip(img: Tensor) -> Tensor:
    return img.flip(-1)


def vflip(img: Tensor) -> Tensor:
    return img.flip(-2)


def crop(img: Tensor, top: int, left: int, height: int, width: int) -> Tensor:
    _, h, w = get_dimensions(img)
    bottom, right = top + height, left + width
    inside = img[..., max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)]
    if left >= 0 and top >= 0 and right <= w and bottom <= h:
        return inside
    before = max(-left + min(0, right), 0), max(-top + min(0, bottom), 0)
    after = max(right - max(w, left), 0), max(bottom - max(h, top), 0)
    return pad(inside, (*before, *after), 0, "constant")


def pad(img: Tensor, padding: int | Sequence[int], fill: Fill, mode: str) -> Tensor:
    left, top, right, bottom = sides(padding)
    if mode == "symmetric":
        return _pad_symmetric(img, (left, right), (top, bottom))
    if isinstance(fill, Sequence):
        if len(fill) != 1:
            raise NotImplementedError(f"pad of a tensor with several values: fill={fill!r}")
        fill = fill[0]
    images = img if img.ndim > 3 else img.unsqueeze(0)
    widths = [left, right, top, bottom]
    if mode == "constant":
        padded = F.pad(images, widths, value=float(fill or 0))
    else:
        floats = images if img.dtype in FLOATS else images.float()
        padded = F.pad(floats, widths, mode="replicate" if mode == "edge" else mode).to(img.dtype)
    return padded if img.ndim > 3 else padded.squeeze(0)


def _pad_symmetric(img: Tensor, x: tuple[int, int], y: tuple[int, int]) -> Tensor:
    def indices(size: int, before: int, after: int) -> Tensor:
        if max(before, after) > size:
            raise ValueError(f"symmetric padding of {max(before, after)}, but the image has {size}")
        middle = list(range(max(-before, 0), size - max(-after, 0)))
        head, tail = middle[: max(before, 0)][::-1], middle[::-1][: max(after, 0)]
        return torch.tensor([*head, *middle, *tail], dtype=torch.int64, device=img.device)

    _, height, width = get_dimensions(img)
    return img.index_select(-2, indices(height, *y)).index_select(-1, indices(width, *x))


def _batch_of_floats(img: Tensor, dtypes: tuple[torch.dtype, ...]) -> Tensor:
    images = img if img.ndim > 3 else img.unsqueeze(0)
    return images if img.dtype in dtypes else images.to(dtypes[0])


def _as_before(result: Tensor, img: Tensor) -> Tensor:
    """A batch of floats with the dims and the dtype of what it came from."""
    result = result if img.ndim > 3 else result.squeeze(0)
    if result.dtype == img.dtype:
        return result
    rounded = not (img.is_floating_point() or img.dtype == torch.bool)
    return (result.round() if rounded else result).to(img.dtype)


def resize(
    img: Tensor, size: Sequence[int], mode: InterpolationMode, antialias: bool | None
) -> Tensor:
    if mode in (InterpolationMode.BOX, InterpolationMode.HAMMING, InterpolationMode.LANCZOS):
        raise NotImplementedError(f"resize of a tensor with interpolation={mode.value!r}")
    smooth = mode in (InterpolationMode.BILINEAR, InterpolationMode.BICUBIC)
    resized = F.interpolate(
        _batch_of_floats(img, FLOATS),
        size=tuple(size),
        mode=mode.value,
        align_corners=False if smooth else None,
        antialias=smooth and bool(antialias),
    )
    if mode is InterpolationMode.BICUBIC and img.dtype == torch.uint8:
        resized = resized.clamp(0, 255)
    return _as_before(resized, img)


def affine(
    img: Tensor,
    matrix: Sequence[float],
    mode: InterpolationMode,
    fill: Fill,
    size: tuple[int, int] | None = None,
) -> Tensor:
    """Reads output pixel p at `matrix` p, both counted from the centre; `size` is the result's."""
    if mode not in (InterpolationMode.NEAREST, InterpolationMode.BILINEAR):
        raise ValueError(f"Interpolation mode {mode.value!r} is unsupported with Tensor input")
    channels, height, width = get_dimensions(img)
    if isinstance(fill, Sequence) and len(fill) not in (1, channels):
        raise ValueError(
            "The number of elements in 'fill' cannot broadcast to match the number of channels of "
            f"the image ({len(fill)} != {channels})"
        )
    dtype = img.dtype if img.is_floating_point() else torch.float32
    theta = torch.tensor(matrix, dtype=dtype, device=img.device).reshape(1, 2, 3)
    grid = _grid(theta, (height, width), size or (height, width))
    images = _batch_of_floats(img, (dtype,))
    return _as_before(_sample(images, grid, mode.value, fill), img)


def _grid(theta: Tensor, size: tuple[int, int], result: tuple[int, int]) -> Tensor:
    """Where each pixel of the result is read: (1, H, W, 2), from -1 to 1 over the image."""
    (h, w), (oh, ow) = size, result
    x = torch.linspace(-ow * 0.5 + 0.5, ow * 0.5 - 0.5, ow, device=theta.device).to(theta.dtype)
    y = torch.linspace(-oh * 0.5 + 0.5, oh * 0.5 - 0.5, oh, device=theta.device).to(theta.dtype)
    points = torch.stack([x.expand(oh, ow), y[:, None].expand(oh, ow), theta.new_ones(oh, ow)], -1)
    scaled = theta.transpose(1, 2) / theta.new_tensor([0.5 * w, 0.5 * h])
    return points.view(1, oh * ow, 3).bmm(scaled).view(1, oh, ow, 2)


def _sample(images: Tensor, grid: Tensor, mode: str, fill: Fill) -> Tensor:
    grid = grid.expand(len(images), *grid.shape[1:])
    if fill is None:
        return F.grid_sample(images, grid, mode=mode, padding_mode="zeros", align_corners=False)
    # a further channel of ones: what is read outside of the image is where it becomes 0
    inside = torch.ones_like(images[:, :1])
    both = F.grid_sample(
        torch.cat([images, inside], 1), grid, mode=mode, padding_mode="zeros", align_corners=False
    )
    sampled, mask = both[:, :-1], both[:, -1:]
    values = fill if isinstance(fill, Sequence) else [float(fill)]
    color = torch.tensor(list(values), dtype=images.dtype, device=images.device).view(1, -1, 1, 1)
    if mode == "nearest":
        return torch.where(mask < 0.5, color, sampled)
    return sampled * mask + (1.0 - mask) * color


def expanded_size(matrix: Sequence[float], width: int, height: int) -> tuple[int, int]:
    """(height, width) that holds the whole image after an affine map."""
    signs = [(-0.5, -0.5), (-0.5, 0.5), (0.5, 0.5), (0.5, -0.5)]
    corners = torch.tensor([[x * width, y * height, 1.0] for x, y in signs])
    moved = corners.matmul(torch.tensor(matrix, dtype=torch.float32).view(2, 3).T)
    middle = torch.tensor([width * 0.5, height * 0.5])
    least, most = moved.min(0).values + middle, moved.max(0).values + middle
    # 4 digits: what is above an integer by rounding alone is not
    size = ((most / 1e-4).trunc() * 1e-4).ceil() - ((least / 1e-4).trunc() * 1e-4).floor()
    return int(size[1]), int(size[0])


def gaussian_blur(img: Tensor, kernel_size: Sequence[int], sigma: Sequence[float]) -> Tensor:
    dtype = img.dtype if img.is_floating_point() else torch.float32

    def line(size: int, width: float) -> Tensor:
        half = (size - 1) * 0.5
        x = torch.linspace(-half, half, size, dtype=dtype, device=img.device)
        weights = torch.exp(-0.5 * (x / width).pow(2))
        return weights / weights.sum()

    (kx, ky), channels = kernel_size, get_dimensions(img)[0]
    kernel = line(ky, sigma[1])[:, None].mm(line(kx, sigma[0])[None])
    images = _batch_of_floats(img if img.ndim > 2 else img.unsqueeze(0), (dtype,))
    padded = F.pad(images, [kx // 2, kx // 2, ky // 2, ky // 2], mode="reflect")
    blurred = F.conv2d(padded, kernel.expand(channels, 1, ky, kx), groups=channels)
    return _as_before(blurred if img.ndim > 2 else blurred.squeeze(0), img)


def normalize(tensor: Tensor, mean: Sequence[float], std: Sequence[float], inplace: bool) -> Tensor:
    if not tensor.is_floating_point():
        raise TypeError(f"Input tensor should be a float tensor. Got {tensor.dtype}.")
    if tensor.ndim < 3:
        raise ValueError(
            "Expected tensor to be a tensor image of size (..., C, H, W). "
            f"Got tensor.size() = {tensor.size()}"
        )
    like = {"dtype": tensor.dtype, "device": tensor.device}
    means, stds = torch.as_tensor(mean, **like), torch.as_tensor(std, **like)
    if bool((stds == 0).any()):
        raise ValueError(
            f"std evaluated to zero after conversion to {tensor.dtype}, "
            "leading to division by zero."
        )
    means, stds = (x.view(-1, 1, 1) if x.ndim == 1 else x for x in (means, stds))
    return (tensor if inplace else tensor.clone()).sub_(means).div_(stds)


# ---- colours ---------------------------------------------------------------------------------


def rgb_to_grayscale(img: Tensor, num_output_channels: int) -> Tensor:
    if img.ndim < 3:
        raise TypeError(
            f"Input image tensor should have at least 3 dimensions, but found {img.ndim}"
        )
    _check_channels(img)
    grey = img.clone()
    if img.shape[-3] == 3:
        r, g, b = img.unbind(-3)
        grey = (LUMA[0] * r + LUMA[1] * g + LUMA[2] * b).to(img.dtype).unsqueeze(-3)
    return grey.expand(*img.shape[:-3], 3, *img.shape[-2:]) if num_output_channels == 3 else grey


def _blend(img: Tensor, other: Tensor, ratio: float) -> Tensor:
    mixed = float(ratio) * img + (1.0 - float(ratio)) * other
    return mixed.clamp(0, greatest(img.dtype)).to(img.dtype)


def adjust_brightness(img: Tensor, factor: float) -> Tensor:
    _check_channels(img)
    return _blend(img, torch.zeros_like(img), factor)


def adjust_contrast(img: Tensor, factor: float) -> Tensor:
    _check_channels(img)
    grey = rgb_to_grayscale(img, 1) if get_dimensions(img)[0] == 3 else img
    dtype = img.dtype if img.is_floating_point() else torch.float32
    return _blend(img, grey.to(dtype).mean((-3, -2, -1), keepdim=True), factor)


def adjust_saturation(img: Tensor, factor: float) -> Tensor:
    _check_channels(img)
    if get_dimensions(img)[0] == 1:
        return img
    return _blend(img, rgb_to_grayscale(img, 1), factor)


def adjust_hue(img: Tensor, factor: float) -> Tensor:
    _check_channels(img)
    if get_dimensions(img)[0] == 1:
        return img
    hue, saturation, value = _hsv(convert_image_dtype(img, torch.float32))
    return convert_image_dtype(_rgb((hue + factor) % 1.0, saturation, value), img.dtype)


def _hsv(img: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    r, g, b = img.unbind(-3)
    most, least = img.max(-3).values, img.min(-3).values
    grey, spread = most == least, most - least
    ones = torch.ones_like(most)  # in the place of a divisor that is 0
    divisor = torch.where(grey, ones, spread)
    rc, gc, bc = (most - r) / divisor, (most - g) / divisor, (most - b) / divisor
    red, green = most == r, most == g
    hue = red * (bc - gc) + (green & ~red) * (2.0 + rc - bc) + (~green & ~red) * (4.0 + gc - rc)
    saturation = spread / torch.where(grey, ones, most)
    return torch.fmod(hue / 6.0 + 1.0, 1.0), saturation, most


def _rgb(hue: Tensor, saturation: Tensor, value: Tensor) -> Tensor:
    sector = torch.floor(hue * 6.0)
    f = hue * 6.0 - sector
    p = (value * (1.0 - saturation)).clamp(0.0, 1.0)
    q = (value * (1.0 - saturation * f)).clamp(0.0, 1.0)
    t = (value * (1.0 - saturation * (1.0 - f))).clamp(0.0, 1.0)
    v, index = value, (sector.to(torch.int64) % 6).unsqueeze(-3)
    channels = [(v, q, p, p, t, v), (t, v, v, q, p, p), (p, p, t, v, v, q)]  # of each sector
    return torch.cat([torch.stack(choice, -3).gather(-3, index) for choice in channels], -3)
