"""`interpolate`: values between the elements."""

from __future__ import annotations

from typing import Any

from ...autograd.apply import apply
from ...dtypes import not_implemented
from ...ops.interpolate import CUBIC, LANCZOS, LINEAR, NEAREST, NEAREST_EXACT, Interpolate
from ...ops.public import check_tensor
from ...tensor import Tensor
from .pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d

__all__ = ["interpolate", "upsample"]

# By mode and number of spatial dims.
KINDS = {
    **{("nearest", dims): NEAREST for dims in (1, 2, 3)},
    **{("nearest-exact", dims): NEAREST_EXACT for dims in (1, 2, 3)},
    ("linear", 1): LINEAR, ("bilinear", 2): LINEAR, ("trilinear", 3): LINEAR, ("bicubic", 2): CUBIC,
}  # fmt: skip
WITH_ANTIALIAS = {"bilinear": LINEAR, "bicubic": CUBIC, "lanczos": LANCZOS}
AREA = {1: adaptive_avg_pool1d, 2: adaptive_avg_pool2d, 3: adaptive_avg_pool3d}


def interpolate(
    input: Tensor,
    size: int | tuple[int, ...] | None = None,
    scale_factor: float | tuple[float, ...] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """The input at as many positions as `size` says, or `scale_factor` times as many.

    input (N, C, L), (N, C, H, W) or (N, C, D, H, W), floating (or uint8 where mode is nearest);
    mode "nearest", "nearest-exact", "area" (means), "linear" (3 dims), "bilinear", "bicubic" (4
    dims) or "trilinear" (5 dims). `align_corners` puts the outermost positions on the outermost
    elements. `recompute_scale_factor` takes the distance of positions from the sizes, as is done
    without scale_factor. `antialias` (bilinear, bicubic, lanczos) widens the filter where the
    result is smaller. Raises ValueError for settings that do not fit, NotImplementedError for
    a mode or dtype that the input does not allow.
    https://pytorch.org/docs/stable/generated/torch.nn.functional.interpolate.html

    >>> import tiny_torch as torch
    >>> x = torch.tensor([[[0.0, 2.0, 4.0]]])
    >>> torch.nn.functional.interpolate(x, 5, mode="linear", align_corners=True)
    tensor([[[0., 1., 2., 3., 4.]]])
    """
    check_tensor("interpolate", "input", 1, input)
    if mode in ("nearest", "area", "nearest-exact") and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear "
            "| bicubic | trilinear"
        )
    dims = input.ndim - 2
    sizes, scales = read_size(input, dims, size, scale_factor)
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if recompute_scale_factor or mode == "area":
        scales = (None,) * dims
    if antialias and not (mode in WITH_ANTIALIAS and dims == 2):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires "
            "a 4-D tensor as input"
        )
    if mode == "lanczos" and (not antialias or align_corners):
        raise ValueError("Lanczos mode requires antialias=True, and no align_corners")
    if mode == "area" and dims in AREA:
        return AREA[dims](input, sizes)
    kind = WITH_ANTIALIAS[mode] if antialias else KINDS.get((mode, dims))
    if kind is None:
        raise NotImplementedError(
            "Input Error: Only 3D, 4D and 5D input Tensors supported (got "
            f"{input.ndim}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | "
            f"area | nearest-exact (got {mode})"
        )
    check_sizes(input, sizes, kind)
    corners = bool(align_corners)
    settings = (kind, corners, bool(antialias), *scales, *(None,) * (3 - dims))
    return apply(Interpolate, input, sizes, settings)


def read_size(x: Tensor, dims: int, size: Any, scale_factor: Any) -> tuple[tuple, tuple]:
    """(sizes, scales or Nones), from one of the two arguments."""
    if (size is None) == (scale_factor is None):
        raise ValueError(
            "either size or scale_factor should be defined"
            if size is None
            else "only one of size or scale_factor should be defined"
        )
    name, given = ("size", size) if size is not None else ("scale_factor", scale_factor)
    if not isinstance(given, tuple | list):
        given = (given,) * dims
    if len(given) != dims:
        raise ValueError(
            f"Input and {name} must have the same number of spatial dimensions, but got input "
            f"with spatial dimensions of {list(x.shape[2:])} and {name} of {given}. Please "
            "provide input tensor in (N, C, d1, d2, ...,dK) format"
        )
    if size is not None:
        if any(isinstance(n, bool) or not hasattr(n, "__index__") for n in given):
            raise TypeError(
                "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, "
                f"int, int], but got size with types {[type(n) for n in given]}"
            )
        return tuple([n.__index__() for n in given]), (None,) * dims
    if any(isinstance(scale, str) or not hasattr(type(scale), "__float__") for scale in given):
        raise TypeError(f"interpolate(): 'scale_factor' must be a number or as many, not {given}")
    scales = tuple([float(scale) for scale in given])
    if not all(abs(n * scale) < 2**63 for n, scale in zip(x.shape[2:], scales, strict=True)):
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    return tuple([int(n * scale) for n, scale in zip(x.shape[2:], scales, strict=True)]), scales


def check_sizes(x: Tensor, sizes: tuple, kind: int) -> None:
    if 0 in x.shape[1:] or min(sizes) < 1:
        raise RuntimeError(
            "Input and output sizes should be greater than 0, but got input "
            f"{list(x.shape)} output {list(sizes)}"
        )
    plain = kind in (NEAREST, NEAREST_EXACT) and "uint8" in str(x.dtype)
    if not x.is_floating_point() and not plain:
        raise not_implemented("interpolate", x.dtype)


def upsample(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """As `interpolate`, by its old name."""
    return interpolate(input, size, scale_factor, mode, align_corners)
