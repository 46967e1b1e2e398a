"""Reductions made of several: variance, logsumexp; `dim` and `keepdim` as in sums.py."""

from __future__ import annotations

import warnings
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply
from tiny_torch.base.arguments import as_float
from tiny_torch.base.dtypes import HALVES, not_implemented, scalar_type
from tiny_torch.functions.common import apply_out, compute_for_out, into, name_results
from tiny_torch.functions.elementwise.floats import nan_to_num
from tiny_torch.functions.public import function, function_and_method
from tiny_torch.functions.reduce.sums import amax, amin, as_dims, dtype_of, mean, sum
from tiny_torch.ops.elementwise.cast import Cast
from tiny_torch.ops.reduce.moments import Logsumexp, Nansum, Std, Var
from tiny_torch.tensor import Tensor


@function_and_method
def var(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
    out: Any = None,
) -> Tensor:
    """The variance over `dim`, divided by n - correction (1 unless told).

    https://pytorch.org/docs/stable/generated/torch.var.html
    """
    return into(out, spread_of(Var, "var", input, dim, unbiased, keepdim, correction))


def spread_of(op, name, input, dim, unbiased, keepdim, correction):
    if isinstance(dim, bool):  # var(unbiased)
        dim, unbiased = None, dim
    if unbiased is not None:
        correction = float(unbiased)
    if not input.is_floating_point():
        raise RuntimeError("std and var only support floating point and complex dtypes")
    correction = 1 if correction is None else as_float(name, "correction", None, correction)
    result = apply(op, input, as_dims(dim) or None, keepdim, correction)
    if input.array.size <= correction * result.array.size:
        warn_of_freedom(name)
    return result


def warn_of_freedom(name: str) -> None:
    """Of a variance of as many elements as its correction counts, or fewer: NaN or infinity."""
    warnings.warn(
        f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the "
        "reduction factor (input numel divided by output numel).",
        stacklevel=4 + name.endswith("_mean"),
    )


@function_and_method
def std(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
    out: Any = None,
) -> Tensor:
    """The square root of the variance."""
    return into(out, spread_of(Std, "std", input, dim, unbiased, keepdim, correction))


@function_and_method
def logsumexp(input: Tensor, dim: Any, keepdim: bool = False, *, out: Any = None) -> Tensor:
    """log(sum(exp(x))) over `dim`, without overflow."""
    if out is not None and not out.is_floating_point():
        raise RuntimeError(f"logsumexp(): Expected floating point result tensor, got {out.dtype}")
    if not input.is_floating_point():
        input = apply(Cast, input, _core.get_default_dtype())
    if out is None:
        return apply(Logsumexp, input, as_dims(dim), keepdim)
    return into(out, compute_for_out(out, Logsumexp, (input,), as_dims(dim), keepdim))


@function_and_method
def nansum(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None
) -> Tensor:
    """The sum over `dim` of what is not NaN; of integers and bools in int64.

    In an integer dtype infinity counts as the largest float, and there is no `out`.
    https://pytorch.org/docs/stable/generated/torch.nansum.html
    """
    if out is not None:
        dtype = dtype_of(out, dtype)
    if dtype is not None and not dtype.is_floating_point and input.is_floating_point():
        if out is not None:
            raise not_implemented("nansum_cpu", dtype)
        return sum(nan_to_num(input), dim, keepdim, dtype=dtype)
    return apply_out(Nansum, out, input, as_dims(dim), keepdim, dtype)


@function_and_method
def nanmean(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None
) -> Tensor:
    """The mean over `dim` of what is not NaN; RuntimeError for integers.

    https://pytorch.org/docs/stable/generated/torch.nanmean.html
    """
    if not input.is_floating_point():
        raise RuntimeError(
            f"nanmean(): expected input to have floating point dtype, got {input.dtype}"
        )
    if dtype is not None and not dtype.is_floating_point:
        raise RuntimeError(
            "nanmean(): could not infer output dtype. Optional dtype must be either a floating "
            f"point or complex dtype. Got: {scalar_type(dtype)}"
        )
    dtype = input.dtype if dtype is None else dtype
    numbers = sum(input.detach() == input.detach(), dim, keepdim)
    # The sum may be out of the dtype's range where the mean is not.
    wide = _core.float32 if dtype in HALVES else _core.float64
    total = nansum(input, dim, keepdim, dtype=wide)
    return into(out, (total / numbers).to(dtype))


@function_and_method
def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    """How many elements over `dim` are not 0, in int64.

    https://pytorch.org/docs/stable/generated/torch.count_nonzero.html
    """
    return sum(input.detach().bool(), dim)


@function_and_method
def aminmax(
    input: Tensor, *, dim: int | None = None, keepdim: bool = False, out: Any = None
) -> Any:
    """(min, max) along `dim`, or of all elements; equal extremes share the gradient.

    https://pytorch.org/docs/stable/generated/torch.aminmax.html
    """
    if dim is None and input.numel() == 0:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
            "identity"
        )
    dims = () if dim is None else (dim.__index__(),)
    return name_results("aminmax", (amin(input, dims, keepdim), amax(input, dims, keepdim)), out)


@function
def var_mean(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> tuple:
    """(variance, mean) over `dim`. https://pytorch.org/docs/stable/generated/torch.var_mean.html"""
    return with_mean(Var, "var_mean", input, dim, unbiased, keepdim, correction)


@function
def std_mean(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> tuple:
    """(standard deviation, mean) over `dim`.

    https://pytorch.org/docs/stable/generated/torch.std_mean.html
    """
    return with_mean(Std, "std_mean", input, dim, unbiased, keepdim, correction)


def with_mean(op, name, input, dim, unbiased, keepdim, correction):
    first = spread_of(op, name, input, dim, unbiased, keepdim, correction)
    return first, mean(input, None if isinstance(dim, bool) else dim, keepdim)
