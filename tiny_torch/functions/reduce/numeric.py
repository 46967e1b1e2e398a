"""Differences and integrals of sampled functions, made of slices and sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tiny_torch import _core
from tiny_torch.base.arguments import as_float
from tiny_torch.functions.common import (
    into,
    into_same,
    rounded_once,
)
from tiny_torch.functions.public import function, function_and_method
from tiny_torch.functions.shape.join import cat
from tiny_torch.ops.shape.views import unique_dims
from tiny_torch.tensor import Tensor


@function_and_method
def diff(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The n-th forward difference along `dim`: x[i + 1] - x[i], n times; of bools their xor.

    `prepend` and `append` are joined to the ends first. RuntimeError for 0-d input or n < 0.
    https://pytorch.org/docs/stable/generated/torch.diff.html

    >>> import tiny_torch as torch
    >>> torch.diff(torch.tensor([1, 3, 2]))
    tensor([ 2, -1])
    """
    if input.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    ends = [joined_end(input, end, dim) for end in (prepend, append)]
    if n == 0:
        return into_same(out, input.clone())
    parts = [part for part in (ends[0], input, ends[1]) if part is not None]
    x = cat(parts, dim) if len(parts) > 1 else input
    size = x.size(dim)
    for _ in range(min(n, size)):
        size -= 1
        left, right = x.narrow(dim, 0, size), x.narrow(dim, min(1, size + 1), size)
        x = right.logical_xor(left) if x.dtype is _core.bool else right - left
    return into(out, x)


def joined_end(input: Tensor, end: Tensor | None, dim: int) -> Tensor | None:
    if end is None:
        return None
    if end.ndim != input.ndim:
        raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    shape = list(input.shape)
    shape[dim] = end.size(dim)
    for i, (own, other) in enumerate(zip(end.shape, shape, strict=True)):
        if own != other:
            raise RuntimeError(
                "diff expects the shape of tensor to prepend or append to match that of input "
                f"except along the differencing dimension; input.size({i}) = {other}, but got "
                f"tensor.size({i}) = {own}"
            )
    return end


# ------------------------------------------------------------------------------------- gradient


@function
def gradient(
    input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1
) -> tuple[Tensor, ...]:
    """The derivative along each dim by central differences, one-sided at the ends.

    `spacing` is one number, one per dim, or one 1-d tensor of coordinates per dim. `edge_order` is
    the number of neighbours that an end looks at: 1 or 2. RuntimeError where a dim has fewer than
    edge_order + 1 samples. https://pytorch.org/docs/stable/generated/torch.gradient.html

    >>> import tiny_torch as torch
    >>> torch.gradient(torch.tensor([1.0, 4.0, 9.0]))
    (tensor([3., 4., 5.]),)
    """
    spacing = 1 if spacing is None else spacing
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dims: Any = range(input.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    steps = list(spacing) if isinstance(spacing, Sequence) else [spacing] * len(dims)
    if isinstance(spacing, Sequence) and len(steps) != len(dims):
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar or a list of length "
            f"{len(dims)}, but got a list of length {len(steps)}"
        )
    if input.dtype is _core.uint8:
        raise RuntimeError(f"torch.gradient does not support {input.dtype} input.")
    dims = unique_dims(dims, input.ndim)
    if input.dtype is _core.bool:
        raise RuntimeError("torch.gradient does not support bool input.")
    for d, step in zip(dims, steps, strict=True):
        size = input.size(d)
        if size < edge_order + 1:
            raise RuntimeError(
                "torch.gradient expected each dimension size to be at least edge_order+1"
            )
        if isinstance(step, Tensor) and step.ndim == 1 and step.shape[0] != size:
            raise RuntimeError(
                "torch.gradient expected each element of spacing to have the size of the "
                f"corresponding dimension, {size}, but got {step.shape[0]}"
            )
    return tuple([slope(input, d, s, edge_order) for d, s in zip(dims, steps, strict=True)])


def slope(x: Tensor, dim: int, spacing: Any, edge_order: int) -> Tensor:
    n = x.size(dim)

    def at(i: int, length: int = 1) -> Tensor:
        return x.narrow(dim, i, length)

    if isinstance(spacing, Tensor) and spacing.ndim:
        steps = (spacing[1:] - spacing[:-1]).reshape([-1] + [1] * (x.ndim - 1 - dim % x.ndim))

        def step(i: int, length: int = 1) -> Any:
            return steps.narrow(0, i, length)

    else:

        def step(i: int, length: int = 1) -> Any:
            return spacing

    if edge_order == 1:
        first = (at(1) - at(0)) / step(0)
        last = (at(n - 1) - at(n - 2)) / step(n - 2)
    else:
        first = slope_at_first(at(0), at(1), at(2), step(0), step(1))
        last = slope_at_last(at(n - 3), at(n - 2), at(n - 1), step(n - 3), step(n - 2))
    inner = []
    if n > 2:
        before, here, after = (at(i, n - 2) for i in range(3))
        h, k = step(0, n - 2), step(1, n - 2)
        if isinstance(h, Tensor):
            terms = -k / (h * (h + k)) * before, (k - h) / (h * k) * here, h / (k * (h + k)) * after
            inner = [terms[0] + terms[1] + terms[2]]
        else:
            inner = [(after - before) / (2 * h)]
    return cat([first, *inner, last], dim)


def slope_at_first(a: Tensor, b: Tensor, c: Tensor, h: Any, k: Any) -> Tensor:
    """The slope at a of the parabola through a, b and c, which stand h and k apart."""
    if not isinstance(h, Tensor):
        return (-1.5 * a + 2 * b - 0.5 * c) / h
    return -(2 * h + k) / (h * (h + k)) * a + (h + k) / (h * k) * b - h / (k * (h + k)) * c


def slope_at_last(a: Tensor, b: Tensor, c: Tensor, h: Any, k: Any) -> Tensor:
    """The slope at c of that parabola."""
    if not isinstance(h, Tensor):
        return (0.5 * a - 2 * b + 1.5 * c) / h
    return k / (h * (h + k)) * a - (h + k) / (h * k) * b + (2 * k + h) / (k * (h + k)) * c


# ------------------------------------------------------------------------------------- integrals


def samples(name: str, y: Tensor, x: Any, dx: Any, dim: int) -> Any:
    """The distances between samples along `dim`: a number, or a tensor that broadcasts with y.

    `dim` counts y's dims, and stands for the same of a tensor with more.
    """
    size = y.size(dim)
    unchecked = size == 0 and name != "cumulative_trapezoid"  # PyTorch answers 0 for no samples
    if x is not None and dx is not None:
        raise TypeError(f"{name}() received an invalid combination of arguments: both x and dx")
    if x is None:
        if y.dtype is _core.bool and not unchecked:
            raise RuntimeError(f"{name}: received a bool input for `y`, but bool is not supported")
        if isinstance(dx, bool) and name != "trapz" and not unchecked:
            raise RuntimeError(f"{name}: Currently, we only support dx as a real number.")
        return 1.0 if dx is None else as_float(name, "dx", None, dx)
    if unchecked:
        return 1.0
    name = "trapezoid" if name == "trapz" else name
    if _core.bool in (y.dtype, x.dtype):
        raise RuntimeError(
            f"{name}: received a bool input for `x` or `y`, but bool is not supported"
        )
    dim %= y.ndim
    if x.ndim == 1:
        if x.shape[0] != size:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        x = x.view([-1 if i == dim else 1 for i in range(y.ndim)])
    elif x.ndim < y.ndim:
        x = x.view([1] * (y.ndim - x.ndim) + list(x.shape))
    left, right = neighbours(x, dim)
    return right - left


def neighbours(x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """All but the last along `dim`, and all but the first."""
    n = x.size(dim)
    return x.narrow(dim, 0, max(n - 1, 0)), x.narrow(dim, min(1, n), max(n - 1, 0))


@function
@rounded_once
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """The integral of y along `dim` by the trapezoidal rule.

    `x` are the sample points, or `dx` their distance (1 unless told). RuntimeError for bools.
    https://pytorch.org/docs/stable/generated/torch.trapezoid.html

    >>> import tiny_torch as torch
    >>> torch.trapezoid(torch.tensor([1.0, 2.0, 3.0]))
    tensor(4.)
    """
    return integral("trapezoid", y, x, dx, dim)


def integral(name: str, y: Tensor, x: Tensor | None, dx: Any, dim: int) -> Tensor:
    steps = samples(name, y, x, dx, dim)
    dim %= max(y.ndim, 1)
    if y.size(dim) == 0:
        shape = [size for i, size in enumerate(y.shape) if i != dim % y.ndim]
        return y.new_zeros(shape)
    if isinstance(steps, float):
        return (y.sum(dim) - (y.select(dim, 0) + y.select(dim, -1)) * 0.5) * steps
    left, right = neighbours(y, dim)
    return ((left + right) * steps * 0.5).sum(dim)


@function
@rounded_once
def trapz(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """As trapezoid. https://pytorch.org/docs/stable/generated/torch.trapz.html"""
    return integral("trapz", y, x, dx, dim)


@function
@rounded_once
def cumulative_trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1
) -> Tensor:
    """The integral of y up to each sample but the first, by the trapezoidal rule.

    https://pytorch.org/docs/stable/generated/torch.cumulative_trapezoid.html
    """
    steps = samples("cumulative_trapezoid", y, x, dx, dim)
    dim %= max(y.ndim, 1)
    left, right = neighbours(y, dim)
    sums = left + right
    areas = sums * (steps * 0.5) if isinstance(steps, float) else sums * steps * 0.5
    return areas.cumsum(dim)
