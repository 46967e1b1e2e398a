"""Values between the elements: interpolate, affine_grid and grid_sample."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.op_mode import as_one
from tiny_torch.base.arguments import is_int
from tiny_torch.base.dtypes import FLOATING, check_implemented, check_same_type
from tiny_torch.functions.common import check_tensor, check_tensors, standalone
from tiny_torch.functions.creation.fill import ones_like, zeros_like
from tiny_torch.functions.creation.ranges import linspace
from tiny_torch.functions.index.masks import where
from tiny_torch.functions.nn.pool import adaptive_avg_pool
from tiny_torch.functions.shape.join import meshgrid, stack
from tiny_torch.ops.nn.resample import CUBIC, LANCZOS, LINEAR, NEAREST, NEAREST_EXACT, Interpolate
from tiny_torch.tensor import Tensor

CHANGED = (
    "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. "
    "Please specify align_corners=True if the old behavior is desired. See the documentation of "
    "grid_sample for details."
)


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The positions that grid_sample takes to move an image by matrices.

    theta (N, 2, 3) and size (N, C, H, W) -> (N, H, W, 2), or (N, 3, 4) and (N, C, D, H, W) ->
    (N, D, H, W, 3); positions from -1 to 1, which are the outermost elements, or their outer edges
    unless `align_corners`. Raises ValueError for another dtype or shape, NotImplementedError for
    another number of sizes.
    https://pytorch.org/docs/stable/generated/torch.nn.functional.affine_grid.html

    >>> import tiny_torch as torch
    >>> identity = torch.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> torch.nn.functional.affine_grid(identity, (1, 1, 1, 2), align_corners=False)
    tensor([[[[-0.5000,  0.0000],
              [ 0.5000,  0.0000]]]])
    """
    check_tensor("affine_grid", "theta", 1, theta)
    if align_corners is None:
        warnings.warn(CHANGED, stacklevel=2)
        align_corners = False
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {size}."
        )
    dims = len(size) - 2
    if theta.ndim != 3 or tuple(theta.shape[-2:]) != (dims, dims + 1):
        raise ValueError(
            f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size "
            f"{size}. Got {theta.shape}."
        )
    if align_corners and min(size[2:]) == 1:
        warnings.warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when "
            "align_corners=True. This is not an intended use case of affine_grid. See the "
            "documentation of affine_grid for details.",
            stacklevel=2,
        )
    elif min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    positions = float(math.prod(size[2:])) * (dims + 1 + float(size[0]) * dims)
    _core.expect_memory(positions * theta.itemsize)
    lines = []
    for n in size[2:]:
        line = linspace(-1, 1, n, dtype=theta.dtype, device=theta.device)
        if n == 1:
            line = zeros_like(line)
        lines.append(line if align_corners else line * ((n - 1) / n))
    axes = meshgrid(*lines, indexing="ij")
    base = stack([*reversed(axes), ones_like(axes[0])], -1)  # (*, dims + 1)
    grid = base.reshape(1, -1, dims + 1).matmul(theta.transpose(1, 2))
    return standalone(grid.reshape(size[0], *size[2:], dims))


@as_one
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """The input at the positions of `grid`, whose last dim is (x, y) or (x, y, z) from -1 to 1.

    input (N, C, H, W) and grid (N, H', W', 2) -> (N, C, H', W'), or input (N, C, D, H, W) and grid
    (N, D', H', W', 3), of one floating dtype; mode "bilinear", "nearest" or (4 dims) "bicubic".
    Outside of the input is what `padding_mode` says: "zeros", "border" (the outermost elements) or
    "reflection". Raises ValueError for other modes, RuntimeError for shapes that do not fit.
    https://pytorch.org/docs/stable/generated/torch.nn.functional.grid_sample.html

    >>> import tiny_torch as torch
    >>> grid = torch.tensor([[[[0.0, 0.0], [1.0, 1.0]]]])
    >>> x = torch.tensor([[[[0.0, 1.0], [2.0, 3.0]]]])
    >>> torch.nn.functional.grid_sample(x, grid, align_corners=True)
    tensor([[[[1.5000, 3.0000]]]])
    """
    check_tensors("grid_sample", {"input": input, "grid": grid})
    if mode not in SAMPLE:
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
            f"but got: '{mode}'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            f"'reflection', but got: '{padding_mode}'"
        )
    if align_corners is None:
        warnings.warn(CHANGED, stacklevel=2)
        align_corners = False
    check_grid(input, grid, mode)
    input, grid = input.contiguous(), grid.contiguous()  # as PyTorch's result
    sizes = input.shape[2:]
    points = []
    for d, size in enumerate(sizes):
        at = grid[..., len(sizes) - 1 - d]
        points.append((at + 1) / 2 * (size - 1) if align_corners else ((at + 1) * size - 1) / 2)
    if len(sizes) == 2:
        return SAMPLE[mode](input, points, padding_mode, align_corners)
    return volume(SAMPLE[mode], input, points, padding_mode, align_corners)


def volume(
    sample: Callable, x: Tensor, points: list[Tensor], padding_mode: str, align_corners: bool
) -> Tensor:
    """Sampling in three dims: as in PyTorch, no gradient where a position is not a number."""
    if all(at.detach().isfinite().all() for at in points):
        return sample(x, points, padding_mode, align_corners)
    if padding_mode == "zeros":
        outside = [where(at.isfinite(), at, -2.0) for at in points]
        return sample(x, outside, padding_mode, align_corners)
    if padding_mode == "border":
        lost = [at.detach().isnan() for at in points]
    else:
        lost = [~at.detach().isfinite() for at in points]
    result = sample(x, points, padding_mode, align_corners)
    return where((lost[0] | lost[1] | lost[2]).unsqueeze(1), result.detach(), result)


def check_grid(x: Tensor, grid: Tensor, mode: str) -> None:
    dims = x.ndim - 2
    if dims not in (2, 3) or grid.ndim != x.ndim or grid.shape[-1] != dims:
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, and "
            f"grid to have size {dims} in last dimension, but got input with sizes "
            f"{list(x.shape)} and grid with sizes {list(grid.shape)}"
        )
    if x.shape[0] != grid.shape[0]:
        raise RuntimeError(
            "grid_sampler(): expected grid and input to have same batch size, but got input with "
            f"sizes {list(x.shape)} and grid with sizes {list(grid.shape)}"
        )
    if 0 in x.shape[2:]:
        raise RuntimeError(
            "grid_sampler(): expected input to have non-empty spatial dimensions, but input has "
            f"sizes {list(x.shape)}"
        )
    if mode == "bicubic" and dims == 3:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    check_same_type(x.dtype, grid.dtype)
    check_implemented("grid_sampler", x.dtype, FLOATING)


def move_inside(at: Tensor, size: int, padding_mode: str, align_corners: bool) -> Tensor:
    """Positions moved into the input, where `padding_mode` says so.

    What is not a number, and so has no place, is PyTorch's: the first, in volumes the last.
    """
    if padding_mode == "zeros":
        return at
    nowhere = 0.0 if at.ndim == 3 else float(size - 1)
    if padding_mode == "reflection":
        low, span = (0.0, float(size - 1)) if align_corners else (-0.5, float(size))
        if span == 0:
            return at.nan_to_num(0, 0, 0) * 0
        away = (at - low).abs()
        rest, turns = away.fmod(span), (away.detach() / span).floor()
        at = where(turns % 2 == 0, rest + low, span - rest + low)
    inside = (at > 0) & (at < size - 1)  # elsewhere nothing depends on the position
    return where(inside, at, at.detach().nan_to_num(nowhere).clamp(0, size - 1))


def pick(x: Tensor, places: Sequence[Tensor]) -> Tensor:
    """x (N, C, *) at whole positions per dim, each (N, *'); 0 outside -> (N, C, *')."""
    index: Any = 0
    inside: Any = None
    for place, size in zip(places, x.shape[2:], strict=True):
        within = (place >= 0) & (place <= size - 1)
        inside = within if inside is None else inside & within
        index = index * size + where(within, place, 0).to(_core.int64)
    n, c = x.shape[:2]
    index = index.reshape(n, 1, -1).expand(n, c, -1)
    picked = x.flatten(2).gather(2, index).reshape(n, c, *inside.shape[1:])
    return where(inside.unsqueeze(1), picked, 0)


def bilinear(x: Tensor, points: list[Tensor], padding_mode: str, align_corners: bool) -> Tensor:
    points = [
        move_inside(at, size, padding_mode, align_corners)
        for at, size in zip(points, x.shape[2:], strict=True)
    ]
    low = [at.detach().floor() for at in points]
    result: Any = 0
    for corner in product((0, 1), repeat=len(points)):
        weight: Any = 1
        for at, first, side in zip(points, low, corner, strict=True):
            weight = weight * (at - first if side else first + 1 - at)
        places = [first + side for first, side in zip(low, corner, strict=True)]
        result = result + pick(x, places) * weight.unsqueeze(1)
    return result


def nearest(x: Tensor, points: list[Tensor], padding_mode: str, align_corners: bool) -> Tensor:
    places = [
        move_inside(at, size, padding_mode, align_corners).detach().round()
        for at, size in zip(points, x.shape[2:], strict=True)
    ]
    result = pick(x, places)
    for at in points:
        if at.requires_grad:  # its gradient is 0, not None
            result = result + (where(at.isfinite(), at, 0) * 0).unsqueeze(1)
    return result


def cubic(x: Tensor, points: list[Tensor], padding_mode: str, align_corners: bool) -> Tensor:
    low = [at.detach().floor() for at in points]
    weights = [cubic_weights(at - first) for at, first in zip(points, low, strict=True)]
    result: Any = 0
    for i, j in product(range(4), repeat=2):
        places = [
            move_inside(first + (k - 1), size, padding_mode, align_corners)
            for first, k, size in zip(low, (i, j), x.shape[2:], strict=True)
        ]
        result = result + pick(x, places) * (weights[0][i] * weights[1][j]).unsqueeze(1)
    return result


def cubic_weights(t: Tensor, a: float = -0.75) -> list[Tensor]:
    """Keys' cubic at the distances t + 1, t, 1 - t, 2 - t."""

    def far(d):
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    def near(d):
        return ((a + 2) * d - (a + 3)) * d * d + 1

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


SAMPLE: dict[str, Any] = {"bilinear": bilinear, "nearest": nearest, "bicubic": cubic}

# By mode and number of spatial dims.
KINDS = {
    **{("nearest", dims): NEAREST for dims in (1, 2, 3)},
    **{("nearest-exact", dims): NEAREST_EXACT for dims in (1, 2, 3)},
    ("linear", 1): LINEAR, ("bilinear", 2): LINEAR, ("trilinear", 3): LINEAR, ("bicubic", 2): CUBIC,
}  # fmt: skip
WITH_ANTIALIAS = {"bilinear": LINEAR, "bicubic": CUBIC, "lanczos": LANCZOS}


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

    input (N, C, L), (N, C, H, W) or (N, C, D, H, W), floating (or uint8: nearest, and 4 dims);
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
    if mode == "area" and dims in (1, 2, 3):
        return adaptive_avg_pool(input, sizes, _dims=dims)
    kind = WITH_ANTIALIAS[mode] if antialias else KINDS.get((mode, dims))
    if kind is None:
        of_mode = [own for name, own in KINDS if name == mode]
        if dims in (1, 2, 3) and len(of_mode) == 1 and mode != "bicubic":
            raise NotImplementedError(
                f"Got {input.ndim}D input, but {mode} mode needs {of_mode[0] + 2}D input"
            )
        raise NotImplementedError(
            "Input Error: Only 3D, 4D and 5D input Tensors supported (got "
            f"{input.ndim}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | "
            f"lanczos | area | nearest-exact (got {mode})"
        )
    corners = bool(align_corners)
    if mode in WITH_ANTIALIAS and dims == 2 and input.array.dtype is _core.uint8:
        return resample_bytes(input, sizes, scales, kind, corners, bool(antialias))
    check_sizes(input, sizes, kind)
    settings = (kind, corners, bool(antialias), *scales, *(None,) * (3 - dims))
    return apply(Interpolate, input, sizes, settings)


def resample_bytes(
    x: Tensor, sizes: tuple, scales: tuple, kind: int, corners: bool, antialias: bool
) -> Tensor:
    """Along the width, then along the height, each rounded to uint8: as pictures are resized."""
    floats = x.float()
    check_sizes(floats, sizes, kind)
    passes = (((x.shape[2], sizes[1]), (None, scales[1])), (sizes, (scales[0], None)))
    for size, (scale_y, scale_x) in passes:
        if size != tuple(floats.shape[2:]):
            settings = (kind, corners, antialias, scale_y, scale_x, None)
            floats = apply(Interpolate, floats, size, settings)
            floats = floats.add(0.5).floor().clamp(0, 255)
    return floats.to(x.dtype)


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
        if any(not is_int(n) for n in given):
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
    plain = (_core.uint8,) if kind in (NEAREST, NEAREST_EXACT) else ()
    check_implemented("interpolate", x.dtype, FLOATING + plain)


def warn_of_upsample(name: str) -> None:
    warnings.warn(
        f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=3,
    )


def upsample(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """As `interpolate`, by its old name."""
    warn_of_upsample("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` in mode "nearest", by its old name."""
    warn_of_upsample("upsample_nearest")
    return interpolate(input, size, scale_factor)


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` in mode "bilinear" with aligned corners, by its old name."""
    warn_of_upsample("upsample_bilinear")
    return interpolate(input, size, scale_factor, "bilinear", True)
