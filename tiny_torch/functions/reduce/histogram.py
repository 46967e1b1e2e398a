"""Counting elements by where they lie: bincount, histc, histogram. There is no gradient."""

from __future__ import annotations

import math
from typing import Any

from tiny_torch.autograd.grad_mode import no_grad
from tiny_torch.autograd.op_mode import as_one
from tiny_torch.base.arguments import as_float, as_int
from tiny_torch.base.dtypes import HALVES, SINGLE_AND_DOUBLE, check_implemented
from tiny_torch.functions.common import into, name_results
from tiny_torch.functions.creation.ranges import linspace
from tiny_torch.functions.public import function_and_method
from tiny_torch.ops.elementwise.cast import narrow, widen
from tiny_torch.tensor import Tensor, wrap


@function_and_method
@as_one
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each number from 0 occurs in a 1-d tensor of integers, at least up to `minlength`.

    With weights, the sum of those instead: float32 of float32, else float64. Raises RuntimeError
    for negative numbers. https://pytorch.org/docs/stable/generated/torch.bincount.html

    >>> import tiny_torch as torch
    >>> torch.bincount(torch.tensor([1, 2, 1]), minlength=4)
    tensor([0, 2, 1, 0])
    """
    minlength = as_int("bincount", "minlength", 3, minlength)
    return wrap(input.array.bincount(None if weights is None else weights.array, minlength))


def limits(name: str, x: Tensor, low: float, high: float, given: bool) -> tuple[float, float]:
    """The range that is divided into bins: that of the elements unless it is given."""
    if not given:
        low, high = (x.amin().item(), x.amax().item()) if x.array.size else (0.0, 0.0)
        if not x.array.size:
            high = 1.0 if name == "histogramdd" else 0.0
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.{name}: range of [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError(f"torch.{name}: max must be larger than min, but got [{low}, {high}]")
    if low == high:  # half a unit, or a unit, on both sides
        reach = 0.5 if name == "histogramdd" else 1.0
        low, high = low - reach, high + reach
    return low, high


def check_bins(bins: int) -> int:
    if bins < 1:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    return bins


@function_and_method
@as_one
def histc(
    input: Tensor, bins: int = 100, min: float = 0, max: float = 0, *, out: Any = None
) -> Tensor:
    """How many elements lie in each of equal bins from min to max; of the elements if both equal.

    Raises RuntimeError where max is below min or a bound is not finite, NotImplementedError for
    integers. https://pytorch.org/docs/stable/generated/torch.histc.html

    >>> import tiny_torch as torch
    >>> torch.histc(torch.tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3)
    tensor([0., 2., 1., 0.])
    """
    bins = check_bins(as_int("histc", "bins", 2, bins))
    low, high = as_float("histc", "min", None, min), as_float("histc", "max", None, max)
    if input.array.dtype not in HALVES:
        check_implemented("histc", input.dtype, SINGLE_AND_DOUBLE)
    x = input.detach()
    if isinstance(out, Tensor) and out.array.dtype is not x.array.dtype:
        raise RuntimeError(
            "torch.histogram: input tensor and hist tensor should have the same dtype, but got "
            f"input {x.array.dtype} and hist {out.array.dtype}"
        )
    low, high = limits("histc", x, low, high, low != high)
    wide = widen(x.array)
    edges = linspace(low, high, bins + 1, dtype=wide.dtype, device=x.device)
    counts = wide.histogram(edges.array, None, True, False)
    return into(out, wrap(narrow(counts, x.array.dtype)))


@function_and_method
@as_one
def histogram(
    input: Tensor,
    bins: Any = 100,
    *,
    range: Any = None,
    weight: Tensor | None = None,
    density: bool = False,
    out: Any = None,
) -> Any:
    """(hist, bin_edges): how many elements, or what of their weights, lie in each bin.

    `bins` is their or their ascending edges. With `density` the bins' areas sum to 1.
    Raises RuntimeError where dtypes differ or a bound is not finite, NotImplementedError unless the
    input is float32 or float64. https://pytorch.org/docs/stable/generated/torch.histogram.html

    >>> import tiny_torch as torch
    >>> torch.histogram(torch.tensor([1.0, 2.0, 1.0]), bins=2, range=(0.0, 3.0))
    torch.return_types.histogram(
    hist=tensor([2., 1.]),
    bin_edges=tensor([0.0000, 1.5000, 3.0000]))
    """
    x = input.detach()
    dtype = x.array.dtype
    if weight is not None and weight.array.dtype is not dtype:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor "
            f"should have the same dtype, but got input({dtype}), and weight({weight.dtype})"
        )
    edges = edges_of(x, bins, range)
    check_implemented("histogram", x.dtype, SINGLE_AND_DOUBLE)
    weights = None if weight is None else weight.array
    uniform = not isinstance(bins, Tensor)
    hist = wrap(x.array.histogram(edges.array, weights, uniform, True))
    if density:
        with no_grad():
            hist = hist / hist.sum() / (edges[1:] - edges[:-1])
    return name_results("histogram", (hist, edges), out)


def edges_of(x: Tensor, bins: Any, range: Any) -> Tensor:
    dtype = x.array.dtype
    if not isinstance(bins, Tensor) or (bins.ndim == 0 and not bins.is_floating_point()):
        bins = check_bins(as_int("histogram", "bins", 2, bins))
        if range is not None and len(range) != 2:
            raise RuntimeError(
                "torch.histogramdd: for a 1-dimensional histogram range should have 2 elements, "
                f"but got {len(range)}"
            )
        check_implemented("histogramdd", x.dtype, SINGLE_AND_DOUBLE)
        low, high = (0.0, 0.0) if range is None else range
        low, high = limits("histogramdd", x, low, high, range is not None)
        return linspace(low, high, bins + 1, dtype=dtype, device=x.device)
    if range is not None:
        raise TypeError("histogram(): range is for a number of bins, not for their edges")
    if bins.array.ndim != 1 or bins.array.size < 1:
        raise RuntimeError(
            "torch.histogramdd: bins tensor should have one dimension and at least 1 element, but "
            f"has shape {list(bins.shape)}"
        )
    if bins.array.dtype is not dtype:
        raise RuntimeError(
            "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got "
            f"input with dtype {dtype} and bins for dimension 0 with dtype {bins.array.dtype}"
        )
    check_bins(bins.array.size - 1)
    return bins.detach().clone()
