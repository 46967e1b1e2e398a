"""make_tensor: a tensor of uniform random values."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import tiny_torch as torch
from tiny_torch.base.dtypes import RANGES
from tiny_torch.tensor import Tensor


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Uniform values of [low, high), or of [-9, 9] within what the dtype holds.

    With `noncontiguous` every second element of a larger tensor, with `exclude_zero` without zeros.
    ValueError for bounds without a value between them. https://pytorch.org/docs/stable/testing.html#torch.testing.make_tensor

    >>> import tiny_torch as torch
    >>> torch.testing.make_tensor(2, 3, dtype=torch.int64, device="cpu", low=0).shape
    torch.Size([2, 3])
    """
    if len(shape) == 1 and isinstance(shape[0], Sequence):
        shape = tuple(shape[0])
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"{noncontiguous=} and {memory_format=}"
        )
    if not isinstance(dtype, torch.dtype) or dtype not in RANGES:
        raise TypeError(
            f"The requested dtype '{dtype}' is not supported by torch.testing.make_tensor()."
        )
    floating = dtype.is_floating_point
    if not isinstance(requires_grad, bool):
        raise RuntimeError("requires_grad must be a bool")
    if requires_grad and not floating:
        raise ValueError(
            "`requires_grad=True` is not supported for boolean and integral dtypes, but got "
            f"{dtype=}"
        )
    noncontiguous = noncontiguous and math.prod(shape) > 1
    if noncontiguous:
        shape = (*shape[:-1], 2 * shape[-1])
    start, end = bounds(dtype, low, high)
    if floating:
        result = torch.empty(shape, device=device, dtype=dtype)
        if end - start >= torch.finfo(dtype).max:  # more than uniform_ takes
            result.uniform_(start / 2, end / 2).mul_(2)
        else:
            result.uniform_(start, end)
    else:
        result = torch.randint(math.ceil(start), math.ceil(end), shape, device=device, dtype=dtype)

    if noncontiguous:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = torch.finfo(dtype).tiny if floating else 1
    return result.requires_grad_(requires_grad) if floating else result


def bounds(dtype: Any, low: float | None, high: float | None) -> tuple[float, float]:
    """[low, high) as far as the dtype holds it."""
    defaults: tuple[float, float] = (-9, 10)
    lowest: float
    highest: float
    if dtype is torch.bool:
        defaults = lowest, highest = (0, 2)
    elif dtype.is_floating_point:
        defaults = (-9, 9)
        lowest, highest = torch.finfo(dtype).min, torch.finfo(dtype).max
    else:
        lowest, highest = torch.iinfo(dtype).min, torch.iinfo(dtype).max
        if dtype is not torch.int64:  # whose largest value randint cannot draw
            highest += 1
    low = defaults[0] if low is None else low
    high = defaults[1] if high is None else high
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low == high and dtype.is_floating_point:
        warnings.warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is "
            "deprecated since 2.1 and will be removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
            stacklevel=3,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < lowest or low >= highest:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} "
            f"only supports [{lowest}, {highest})"
        )
    return min(max(low, lowest), highest), min(max(high, lowest), highest)
