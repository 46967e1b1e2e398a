"""Evenly spaced numbers and the indices of triangles."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from operator import methodcaller
from typing import Any

import numpy as np

from tiny_torch import _core
from tiny_torch.autograd.op_mode import as_one
from tiny_torch.base.arguments import as_int, as_number, check_bool
from tiny_torch.base.devices import array_module, to_device
from tiny_torch.base.docstrings import give_name
from tiny_torch.base.dtypes import INDICES, check_implemented, check_range, not_implemented
from tiny_torch.functions.common import check_given, into, place_of, refuse_history
from tiny_torch.functions.creation.fill import (
    as_dtype,
    check_options,
    dtype_of,
    finish,
    int64,
)
from tiny_torch.functions.public import function
from tiny_torch.tensor import Tensor, wrap


@function
def arange(
    *bounds: Any,
    start: Any = None,
    end: Any = None,
    step: Any = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """start, start + step, ... below end: arange(end), arange(start, end[, step]).

    int64 if all are integers, else of the default dtype. Raises RuntimeError for a step of 0, and
    for bounds that are not finite or in the wrong order.
    https://pytorch.org/docs/stable/generated/torch.arange.html

    >>> import tiny_torch as torch
    >>> torch.arange(1, 7, 2)
    tensor([1, 3, 5])
    """
    if layout is not None or pin_memory is not False:
        check_options("arange", layout, pin_memory)
    if out is not None or dtype is not None:
        dtype = dtype_of(out, "arange", dtype)
    if len(bounds) == 1 and end is None:
        end = bounds[0]
    elif 0 < len(bounds) <= 3:
        start, end, step = (*bounds, *(start, end, step)[len(bounds) :])
    if end is None or len(bounds) > 3:
        raise TypeError(
            "arange() received an invalid combination of arguments: expected (end), (start, end) "
            f"or (start, end, step), got {len(bounds)}"
        )
    start = 0 if start is None else as_end("arange", "start", start)
    end = as_end("arange", "end", end)
    step = 1 if step is None else as_end("arange", "step", step)
    check_bounds(start, end, step)
    if dtype is None:
        floats = float in (type(start), type(end), type(step))
        dtype = _core.get_default_dtype() if floats else int64
    whole = dtype is int64
    if whole:
        start, end, step = int(start), int(end), int(step)
        if step == 0:
            raise ValueError("step must be nonzero")
    count = -((start - end) // step) if whole else (end - start) / step
    if not count < 2**63:
        raise RuntimeError("invalid size, possible overflow?")
    count = math.ceil(count)
    if not whole and not dtype.is_floating_point:
        refuse_bool("arange_cpu", dtype)
        start, step = int(start), int(step)
    array = array_module(device).arange(start, step, count, dtype, place_of("arange", out))
    return result_tensor(array, out, requires_grad, pin_memory)


def check_bounds(start: float, end: float, step: float) -> None:
    if not (step > 0 or step < 0):
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")


@function
def range(
    start: Any,
    end: Any = None,
    step: Any = 1,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """start, start + step, ... up to end, which is included; of the default dtype. Deprecated.

    Raises RuntimeError as arange does.
    https://pytorch.org/docs/stable/generated/torch.range.html

    >>> import tiny_torch as torch
    >>> torch.range(1, 2, 0.5)
    tensor([1.0000, 1.5000, 2.0000])
    """
    check_given("range", "end", end is not None)
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is "
        "inconsistent with Python's range builtin. Instead, use torch.arange, which produces "
        "values in [start, end).",
        UserWarning,
        stacklevel=2,
    )
    check_bool("range", "pin_memory", None, pin_memory)
    check_bool("range", "requires_grad", None, requires_grad)
    check_options("range", layout, pin_memory)
    dtype = dtype_of(out, "range", dtype) or _core.get_default_dtype()
    start, end, step = (
        as_end("range", name, value)
        for name, value in (("start", start), ("end", end), ("step", step))
    )
    refuse_bool("range_cpu", dtype)
    if not dtype.is_floating_point and math.isfinite(step):
        step = int(step)
    check_bounds(start, end, step)
    if not dtype.is_floating_point:
        start, end = int(start), int(end)
    count = (end - start) / step
    if not count < 2**63:
        raise RuntimeError("invalid size, possible overflow?")
    array = array_module(device).arange(start, step, int(count) + 1, dtype, place_of("range", out))
    return result_tensor(array, out, requires_grad, pin_memory)


@function
@as_one
def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """`steps` values from start to end, both included, evenly spaced.

    Raises RuntimeError where an end does not fit the dtype.
    https://pytorch.org/docs/stable/generated/torch.linspace.html

    >>> import tiny_torch as torch
    >>> torch.linspace(0, 1, 3)
    tensor([0.0000, 0.5000, 1.0000])
    """
    if layout is not None or pin_memory:
        check_options("linspace", layout, pin_memory)
    if out is not None or dtype is not None:
        dtype = dtype_of(out, "linspace", dtype)
    if dtype is None:
        dtype = _core.get_default_dtype()
    first, last, count = spacing("linspace", start, end, steps, dtype)
    array = array_module(device).linspace(first, last, count, dtype, place_of("linspace", out))
    return result_tensor(array, out, requires_grad, pin_memory)


@function
@as_one
def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """`base` to the powers of linspace(start, end, steps).

    https://pytorch.org/docs/stable/generated/torch.logspace.html

    >>> import tiny_torch as torch
    >>> torch.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    check_options("logspace", layout, pin_memory)
    dtype = dtype_of(out, "logspace", dtype) or _core.get_default_dtype()
    first, last, count = spacing("logspace", start, end, steps, dtype)
    powers = array_module(device).logspace(first, last, count, float(base), dtype)
    return result_tensor(powers, out, requires_grad, pin_memory)


def spacing(function: str, start: Any, end: Any, steps: Any, dtype: Any) -> tuple:
    """The ends, as elements of the dtype, and how many."""
    count = as_int(function, "steps", 3, steps)
    if count < 0:
        raise RuntimeError("number of steps must be non-negative")
    refuse_bool(f"{function}_cpu", dtype)
    first, last = endpoint(function, start), endpoint(function, end)
    if count:
        first = as_element(first, dtype)
    return first, as_element(last, dtype) if count > 1 else 0.0, count


def refuse_bool(kernel: str, dtype: Any) -> None:
    if dtype is _core.bool:
        raise not_implemented(kernel, dtype)


def endpoint(function: str, value: Any) -> Any:
    if type(value) is float:
        return value
    if isinstance(value, Tensor) and value.ndim:
        raise RuntimeError(
            f"{function} only supports 0-dimensional start and end tensors, but got one with "
            f"{value.ndim} dimension(s)."
        )
    value = value.detach() if isinstance(value, Tensor) else value
    return as_end(function, "start", as_number(function, "start", None, value))


def as_element(value: Any, dtype: Any) -> float:
    """What an end becomes in the result's dtype; RuntimeError where it does not fit."""
    check_range(value, dtype)
    if dtype.is_floating_point:
        return float(value)
    return float(int(value) % 256 if dtype is _core.uint8 else int(value))


def as_end(function: str, argument: str, value: Any) -> Any:
    if type(value) is int or type(value) is float:
        return value
    value = as_number(function, argument, None, value)
    return float(value) if isinstance(value, (float, np.floating)) else int(value)


def result_tensor(
    array: Any, out: Tensor | None, requires_grad: bool, pin_memory: bool = False
) -> Tensor:
    plain = requires_grad is False and not pin_memory
    if not plain and requires_grad is not None:
        check_bool("arange", "requires_grad", None, requires_grad)
    result = wrap(array) if plain else finish(array, requires_grad and out is None, pin_memory)
    if out is None:
        return result
    if out.numel() == array.size:  # the values, in whatever shape it has
        refuse_history("", out)
        shape = out.array.shape
        out.array.copy_(array if array.shape == shape else array.view(shape))
        return out
    return into(out, result)


@function
def eye(
    n: int,
    m: int | None = None,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """An (n, m) matrix with ones on the diagonal."""
    if layout is not None or pin_memory:
        check_options("eye", layout, pin_memory)
    rows = count_of("eye", "n", 1, n)
    columns = rows if m is None else count_of("eye", "m", 2, m)
    if dtype is not None:
        dtype = as_dtype("eye", dtype)
    if dtype is None:
        dtype = _core.get_default_dtype() if out is None else out.dtype
    array = array_module(device).full((rows, columns), 0, dtype)
    array.diagonal(0, 0, 1).copy_(1)
    return finish(array, requires_grad, pin_memory) if out is None else into(out, wrap(array))


def count_of(function: str, argument: str, position: int, value: Any) -> int:
    """An int that is not negative; TypeError for anything else, RuntimeError below 0."""
    count = as_int(function, argument, position, value)
    if count < 0:
        raise RuntimeError(f"{argument} must be greater or equal to 0, got {count}")
    return count


# -------------------------------------------------------------------------------- triangles


def triangle_indices(name: str, row: int, col: int, keeps: Any, dtype: Any, device: Any) -> Any:
    """(2, n): the places of a (row, col) matrix where keeps(j - i), row by row."""
    dtype = as_dtype(name, dtype) or int64
    for argument, value in (("row", row), ("col", col)):
        if value < 0:
            raise RuntimeError(f"{argument} must be non-negative, got{value}")
    check_implemented(name, dtype, INDICES)
    rows = _core.arange(0, 1, row, int64).unsqueeze(1)
    places = keeps(_core.arange(0, 1, col, int64).sub(rows)).nonzero()  # (n, 2)
    return to_device(places.transpose(0, 1).contiguous().astype(dtype), device)


def make_triangle_indices(name: str, where: str, keeps: str) -> Callable[..., Tensor]:
    """torch.tril_indices and triu_indices."""

    @function
    @give_name(
        name,
        f"(2, n): rows and columns of the places on and {where} a diagonal, row by row.\n\n"
        f"https://pytorch.org/docs/stable/generated/torch.{name}.html",
    )
    def indices(
        row: int,
        col: int,
        offset: int = 0,
        *,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
    ) -> Tensor:
        check_options(name, layout, pin_memory)
        array = triangle_indices(name, row, col, methodcaller(keeps, offset), dtype, device)
        return finish(array, requires_grad, pin_memory)

    return indices


tril_indices = make_triangle_indices("tril_indices", "below", "le")
triu_indices = make_triangle_indices("triu_indices", "above", "ge")
