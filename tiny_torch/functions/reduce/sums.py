"""Reductions: sum, mean, extremes, ... over any dims.

``dim`` is an int, a tuple of ints, or None for all; ``keepdim`` leaves sizes of 1.
"""

from __future__ import annotations

import builtins
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply
from tiny_torch.base.arguments import as_int, as_ints
from tiny_torch.functions.common import (
    apply_out,
    check_given,
    check_out_dtype,
    check_tensor,
    compute_for_out,
    into,
    into_same,
    write_out,
)
from tiny_torch.functions.index.selection import select_pair
from tiny_torch.functions.public import function_and_method, method
from tiny_torch.ops.elementwise.cast import Cast
from tiny_torch.ops.elementwise.comparison import Maximum, Minimum, Ne
from tiny_torch.ops.reduce.sums import (
    All_,
    Amax,
    Amin,
    Any_,
    Argmax,
    Argmin,
    Max,
    MaxOfAll,
    Mean,
    Min,
    MinOfAll,
    Prod,
    Sum,
)
from tiny_torch.tensor import Tensor


def as_dims(dim: Any) -> tuple | None:
    if dim is None:
        return None
    if isinstance(dim, (tuple, list)):
        return tuple(dim)
    if not hasattr(dim, "__index__"):
        raise TypeError(f"argument 'dim' must be tuple of ints, not {type(dim).__name__}")
    return (dim.__index__(),)


def dtype_of(out: Any, dtype: Any) -> Any:
    """What is computed in: out's dtype; RuntimeError where `dtype` is another."""
    check_tensor("out", "out", 1, out)
    if dtype is not None:
        check_out_dtype(out, dtype)
    return out.array.dtype


@function_and_method
def sum(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None
) -> Tensor:
    """The sum over `dim`; of integers and bools in int64.

    https://pytorch.org/docs/stable/generated/torch.sum.html

    >>> import tiny_torch as torch
    >>> torch.ones(2, 3).sum(0)
    tensor([2., 2., 2.])
    """
    if out is not None:
        dtype = dtype_of(out, dtype)
    if dtype is _core.bool:
        return apply_out(Any_, out, input, as_dims(dim), keepdim)
    return apply_out(Sum, out, input, as_dims(dim), keepdim, dtype)


@function_and_method
def mean(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None
) -> Tensor:
    """The mean over `dim`, of floating point input. https://pytorch.org/docs/stable/generated/torch.mean.html"""
    if out is not None and (dtype is not None or input.is_floating_point()):
        dtype = dtype_of(out, dtype)
    return apply_out(Mean, out, input, as_dims(dim), keepdim, dtype)


@function_and_method
def prod(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None
) -> Tensor:
    """The product over one dim, or of all elements."""
    if out is not None:
        dtype = dtype_of(out, dtype)
    if dtype is _core.bool:
        return apply_out(All_, out, input, as_dims(dim), keepdim)
    return apply_out(Prod, out, input, as_dims(dim), keepdim, dtype)


@function_and_method
def amax(input: Tensor, dim: Any = (), keepdim: bool = False, *, out: Any = None) -> Tensor:
    """The largest elements over `dim`; equal ones share the gradient."""
    if out is None:
        return apply(Amax, input, as_dims(dim), keepdim)
    return into_same(out, compute_for_out(out, Amax, (input,), as_dims(dim), keepdim))


@function_and_method
def amin(input: Tensor, dim: Any = (), keepdim: bool = False, *, out: Any = None) -> Tensor:
    """The smallest elements over `dim`; equal ones share the gradient."""
    if out is None:
        return apply(Amin, input, as_dims(dim), keepdim)
    return into_same(out, compute_for_out(out, Amin, (input,), as_dims(dim), keepdim))


@function_and_method
def any(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Tensor:
    """Whether any element is not 0; elementwise where `dim` is ()."""
    if dim == () or dim == []:
        return into_truth("any", out, truth(input.contiguous()))
    if out is None:
        return apply(Any_, input, as_dims(dim), keepdim)
    return into_truth("any", out, compute_for_out(out, Any_, (input,), as_dims(dim), keepdim))


@function_and_method
def all(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Tensor:
    """Whether no element is 0; elementwise where `dim` is ()."""
    if dim == () or dim == []:
        return into_truth("all", out, truth(input.contiguous()))
    if out is None:
        return apply(All_, input, as_dims(dim), keepdim)
    return into_truth("all", out, compute_for_out(out, All_, (input,), as_dims(dim), keepdim))


def truth(input: Tensor) -> Tensor:
    """x != 0; of uint8 in uint8, as any and all answer."""
    result = apply(Ne, input, 0)
    return apply(Cast, result, _core.uint8) if input.dtype is _core.uint8 else result


def into_truth(name: str, out: Any, result: Tensor) -> Tensor:
    """`into`, of an `out` of bool or uint8."""
    if isinstance(out, Tensor):
        if out.dtype is not _core.bool and out.dtype is not _core.uint8:
            raise RuntimeError(f"{name} only supports bool tensor for result, got: {out.dtype}")
        result = result.to(out.dtype)
    return into(out, result)


def extreme(input, dim, keepdim, other, out, whole, along, pairwise, name):
    if other is not None:
        if dim is not None:
            raise TypeError(f"{name}() takes either dim or other")
        dim = other
    if dim is None:
        if input.array.size == 0:
            raise RuntimeError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify "
                "the reduction dim with the 'dim' argument."
            )
        return apply_out(whole, out, input, None, False)
    if isinstance(dim, Tensor) and keepdim:
        dim = as_int(name, "dim", 2, dim)
    if isinstance(dim, Tensor):
        return (
            apply(pairwise, input, dim)
            if out is None
            else write_out(pairwise, name, out, input, dim)
        )
    return select_pair(name, along, out, input, dim, keepdim)


@function_and_method
def max(
    input: Tensor,
    dim: int | Tensor | None = None,
    keepdim: bool = False,
    *,
    other: Tensor | None = None,
    out: Any = None,
) -> Any:
    """The largest element; along `dim` with its position; or of two tensors, elementwise.

    https://pytorch.org/docs/stable/generated/torch.max.html
    """
    return extreme(input, dim, keepdim, other, out, MaxOfAll, Max, Maximum, "max")


@function_and_method
def min(
    input: Tensor,
    dim: int | Tensor | None = None,
    keepdim: bool = False,
    *,
    other: Tensor | None = None,
    out: Any = None,
) -> Any:
    """The smallest element; along `dim` with its position; or of two tensors, elementwise."""
    return extreme(input, dim, keepdim, other, out, MinOfAll, Min, Minimum, "min")


def position(op, input, dim, keepdim, out, name):
    if input.dtype is _core.bool:
        raise RuntimeError(f"{name}(): does not support bool input")
    if out is not None and out.dtype is not _core.int64:
        raise RuntimeError(f"Expected out tensor to have dtype long int, but got {out.dtype}")
    if dim is not None:
        return apply_out(op, out, input, dim, keepdim)
    if input.array.size == 0:
        raise IndexError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
            "reduction dim with the 'dim' argument."
        )
    if not keepdim:
        return apply_out(op, out, input, None, False)
    return into(out, apply(op, input, None, False).reshape((1,) * input.ndim))


@function_and_method
def argmax(
    input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Any = None
) -> Tensor:
    """Where the first largest element stands, as int64; of the flat tensor without `dim`."""
    return position(Argmax, input, dim, keepdim, out, "argmax")


@function_and_method
def argmin(
    input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Any = None
) -> Tensor:
    """Where the first smallest element stands, as int64; of the flat tensor without `dim`."""
    return position(Argmin, input, dim, keepdim, out, "argmin")


@method
def sum_to_size(self: Tensor, *sizes: Any, size: Any = None) -> Tensor:
    """The sum over what broadcasting `size` to this shape would repeat, in that size.

    Raises RuntimeError where `size` does not broadcast to this shape.
    https://pytorch.org/docs/stable/generated/torch.Tensor.sum_to_size.html

    >>> import tiny_torch as torch
    >>> torch.ones(2, 3).sum_to_size(1, 3)
    tensor([[2., 2., 2.]])
    """
    check_given("sum_to_size", "size", sizes or size is not None)
    named = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
    wanted, shape = (
        as_ints("sum_to_size", "size", None, named if size is None else size),
        self.shape,
    )
    if not wanted:
        return self.sum()
    leading = len(shape) - len(wanted)
    pairs = list(zip(shape[leading:], wanted, strict=True)) if leading >= 0 else []
    if leading < 0 or not builtins.all(new in (1, old) for old, new in pairs):
        raise RuntimeError(f"size {{{list(wanted)}}} is not expandable to size {{{list(shape)}}}.")
    dims = [*range(leading)]
    dims += [leading + i for i, (old, new) in enumerate(pairs) if new == 1 != old]
    result = self.sum(dims, keepdim=True) if dims else self
    return result.view(wanted) if leading else result
