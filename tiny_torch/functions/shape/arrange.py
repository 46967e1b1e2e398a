"""Copies that rearrange: repeat, flip, roll, triangles and diagonals."""

from __future__ import annotations

import math
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply, apply_inplace
from tiny_torch.autograd.op_mode import as_one
from tiny_torch.base.arguments import as_int, as_ints, wrong_kind
from tiny_torch.base.dtypes import INDICES, check_implemented
from tiny_torch.base.layouts import contiguous_format
from tiny_torch.functions.common import (
    check_dim_exists,
    check_tensor,
    compute_for_out,
    into_same,
    standalone,
)
from tiny_torch.functions.public import function, function_and_method, method
from tiny_torch.functions.shape.views import one_or_many
from tiny_torch.ops.shape.arrange import DiagEmbed, Flip, Repeat, Roll, Tril, Triu
from tiny_torch.ops.shape.views import unique_dims, wrap_dim
from tiny_torch.tensor import Tensor, wrap


@method
def repeat(self: Tensor, *counts: Any, repeats: Any = None) -> Tensor:
    """A copy with each dim repeated as a whole; counts for new dims come first.

    Raises RuntimeError where there are fewer counts than dims.
    https://pytorch.org/docs/stable/generated/torch.Tensor.repeat.html

    >>> import tiny_torch as torch
    >>> torch.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    counts = one_or_many("repeat", "repeats", counts, repeats)
    shape = self.array.shape
    if len(counts) < len(shape):
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            f"tensor (repeats {list(counts)}, shape {list(shape)})"
        )
    if any(count < 0 for count in counts):
        raise RuntimeError(f"Trying to create tensor with negative dimension: repeat{counts}")
    return apply(Repeat, self, counts)


@function
def tile(input: Tensor, dims: Any) -> Tensor:
    """repeat, with counts of 1 for the dims that `dims` leaves out.

    https://pytorch.org/docs/stable/generated/torch.tile.html

    >>> import tiny_torch as torch
    >>> torch.tile(torch.tensor([[1], [2]]), (2,))
    tensor([[1, 1],
            [2, 2]])
    """
    dims = as_ints("tile", "dims", None, dims)
    return repeat(input, (1,) * (input.array.ndim - len(dims)) + dims)


@method("tile")
def tile_method(self: Tensor, *counts: Any, dims: Any = None) -> Tensor:
    """torch.tile with the counts one by one, or as one tuple."""
    return tile(self, one_or_many("tile", "dims", counts, dims))


@function
@as_one
def repeat_interleave(
    input: Any = None, repeats: Any = None, dim: int | None = None, *, output_size: Any = None
) -> Tensor:
    """Each element, or each slice along a dim, repeated; `repeats` is an int or one count each.

    With one tensor only, that is the counts of the indices 0, 1, 2, ... Raises RuntimeError where
    a count is negative, or there are not as many as slices.
    https://pytorch.org/docs/stable/generated/torch.repeat_interleave.html

    >>> import tiny_torch as torch
    >>> torch.repeat_interleave(torch.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    """
    if input is None or repeats is None:
        counts = repeats if input is None else input
        check_tensor("repeat_interleave", "repeats", 1, counts)
        if dim is not None:
            raise TypeError("repeat_interleave() takes dim only with input and repeats")
        if counts.array.ndim != 1:
            raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
        return wrap(repeat_indices(counts.array, counts.array.size, output_size))
    if not isinstance(repeats, Tensor | int) or isinstance(repeats, bool):
        raise wrong_kind("repeat_interleave", "repeats", "Tensor or int", repeats, 2)
    if dim is None:
        input, dim = input.flatten(), 0
    shape = input.array.shape or (1,)
    dim = wrap_dim(as_int("repeat_interleave", "dim", 3, dim), len(shape))
    if isinstance(repeats, Tensor):
        positions = repeat_indices(repeats.array, shape[dim], output_size)
        return input.index_select(dim, wrap(positions))
    if repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    if output_size is not None and output_size != repeats * shape[dim]:
        raise RuntimeError(
            f"repeat_interleave: Invalid output_size, expected {repeats * shape[dim]} but got "
            f"{output_size}"
        )
    copies = input.unsqueeze(dim + 1).expand(*shape[: dim + 1], repeats, *shape[dim + 1 :])
    return copies.clone(memory_format=contiguous_format).flatten(dim, dim + 1)


@method("repeat_interleave")
def repeat_interleave_method(
    self: Tensor, repeats: Any, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """torch.repeat_interleave of this tensor."""
    return repeat_interleave(self, repeats, dim, output_size=output_size)


def repeat_indices(repeats: Any, size: int, output_size: int | None) -> Any:
    """The indices 0 to size - 1, each repeated so many times."""
    check_implemented("repeat_interleave", repeats.dtype, INDICES)
    if repeats.device == "meta":
        raise RuntimeError("cannot repeat_interleave a meta tensor without output_size")
    positions = repeats.repeated_positions(size)
    if output_size is not None and output_size != positions.size:
        raise RuntimeError("allocated size does not match required size")
    return positions if repeats.dtype is _core.int64 else positions.astype(repeats.dtype)


@function
def flip(input: Tensor, dims: Any) -> Tensor:
    """A copy in reverse order along some dims.

    https://pytorch.org/docs/stable/generated/torch.flip.html

    >>> import tiny_torch as torch
    >>> torch.flip(torch.tensor([1, 2, 3]), (0,))
    tensor([3, 2, 1])
    """
    return apply(Flip, input, unique_dims(as_ints("flip", "dims", None, dims), input.array.ndim))


@method("flip")
def flip_method(self: Tensor, *order: Any, dims: Any = None) -> Tensor:
    """torch.flip with the dims one by one, or as one tuple."""
    return flip(self, one_or_many("flip", "dims", order, dims))


@method("__reversed__")
def reverse(self: Tensor) -> Tensor:
    """reversed(x): the order along dim 0 turned; of one element, itself."""
    return flip(self, (0,)) if self.array.ndim else self


@function_and_method
def fliplr(input: Tensor) -> Tensor:
    """flip along dim 1. https://pytorch.org/docs/stable/generated/torch.fliplr.html"""
    if input.array.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, (1,))


@function_and_method
def flipud(input: Tensor) -> Tensor:
    """flip along dim 0. https://pytorch.org/docs/stable/generated/torch.flipud.html"""
    if input.array.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, (0,))


@function_and_method
def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """A copy shifted along some dims; what leaves at the end comes in at the front.

    Without dims the tensor is flat while it is shifted. Raises RuntimeError where shifts and dims
    differ in number. https://pytorch.org/docs/stable/generated/torch.roll.html

    >>> import tiny_torch as torch
    >>> torch.roll(torch.tensor([1, 2, 3]), 1)
    tensor([3, 1, 2])
    """
    shifts = (shifts,) if type(shifts) is int else as_ints("roll", "shifts", 2, shifts)
    if dims is None:
        dims = ()
    else:
        dims = (dims,) if type(dims) is int else as_ints("roll", "dims", 3, dims)
    if not shifts:
        raise RuntimeError("`shifts` required")
    if not dims and len(shifts) == 1:
        return standalone(apply(Roll, input.flatten(), shifts, (0,)).reshape(input.shape))
    if len(shifts) != len(dims):
        raise RuntimeError(
            f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}"
        )
    check_dim_exists(input, dims[0])
    totals: dict[int, int] = {}  # a dim may be named twice
    for shift, dim in zip(shifts, dims, strict=True):
        dim = wrap_dim(dim, input.array.ndim)
        totals[dim] = totals.get(dim, 0) + shift
    return apply(Roll, input, tuple(totals.values()), tuple(totals))


@function_and_method
def tril(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The lower triangle of each matrix, up to a diagonal; zeros elsewhere.

    https://pytorch.org/docs/stable/generated/torch.tril.html

    >>> import tiny_torch as torch
    >>> torch.tril(torch.ones(2, 2))
    tensor([[1., 0.],
            [1., 1.]])
    """
    if out is None:
        return apply(Tril, input, diagonal)
    return into_same(out, compute_for_out(out, Tril, (input,), diagonal), "tril")


@function_and_method
def triu(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The upper triangle of each matrix, from a diagonal on; zeros elsewhere.

    https://pytorch.org/docs/stable/generated/torch.triu.html

    >>> import tiny_torch as torch
    >>> torch.triu(torch.ones(2, 2), diagonal=1)
    tensor([[0., 1.],
            [0., 0.]])
    """
    if out is None:
        return apply(Triu, input, diagonal)
    return into_same(out, compute_for_out(out, Triu, (input,), diagonal), "triu")


@method
def tril_(self: Tensor, diagonal: int = 0) -> Tensor:
    """tril in place."""
    return apply_inplace(Tril, self, diagonal)


@method
def triu_(self: Tensor, diagonal: int = 0) -> Tensor:
    """triu in place."""
    return apply_inplace(Triu, self, diagonal)


@function_and_method
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices with the last dim on a diagonal, zeros elsewhere.

    https://pytorch.org/docs/stable/generated/torch.diag_embed.html

    >>> import tiny_torch as torch
    >>> torch.diag_embed(torch.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    ndim = input.array.ndim + 1
    return apply(DiagEmbed, input, offset, wrap_dim(dim1, ndim), wrap_dim(dim2, ndim))


@function_and_method
def diag(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """A vector as the diagonal of a matrix; of a matrix, a copy of its diagonal.

    Raises RuntimeError for other dims. https://pytorch.org/docs/stable/generated/torch.diag.html

    >>> import tiny_torch as torch
    >>> torch.diag(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    ndim = input.array.ndim
    if ndim == 1:
        return into_same(out, diag_embed(input, diagonal), "diag")
    if ndim == 2:
        part = input.diagonal(diagonal).clone(memory_format=contiguous_format)
        return into_same(out, part, "diag")
    raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {ndim}D")


@function_and_method
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """All elements on the diagonal of a matrix.

    https://pytorch.org/docs/stable/generated/torch.diagflat.html
    """
    return diag_embed(input.reshape(math.prod(input.array.shape)), offset)


@function_and_method
def rot90(input: Tensor, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    """A copy turned k times by 90 degrees, from the first of two dims towards the second.

    https://pytorch.org/docs/stable/generated/torch.rot90.html

    >>> import tiny_torch as torch
    >>> torch.rot90(torch.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
    dims = as_ints("rot90", "dims", None, dims)
    ndim = input.array.ndim
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {ndim}")
    first, second = wrap_dim(dims[0], ndim), wrap_dim(dims[1], ndim)
    if first == second:
        raise RuntimeError(
            f"expected rotation dims to be different, but got dim0 = {first} and dim1 = {second}"
        )
    if k % 4 == 1:
        return standalone(flip(input, (second,)).transpose(first, second))
    if k % 4 == 2:
        return flip(input, (first, second))
    if k % 4 == 3:
        return standalone(flip(input, (first,)).transpose(first, second))
    return input.clone(memory_format=contiguous_format)
