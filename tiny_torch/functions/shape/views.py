"""Views: other shapes, strides and offsets over the same memory.

Not here: what splits or joins (split.py, join.py), what indexes (index/), copies that rearrange
(arrange.py), dtypes and devices (elementwise/cast.py).
"""

from __future__ import annotations

import math
import warnings
from functools import cache
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply, apply_view, quick
from tiny_torch.base.arguments import as_ints, wrong_kind
from tiny_torch.functions.common import check_given
from tiny_torch.functions.memory import view_as_dtype
from tiny_torch.functions.public import METHODS, function, function_and_method, method
from tiny_torch.ops.shape.views import (
    Permute,
    Reshape,
    Squeeze,
    Steps,
    T,
    Transpose,
    Unsqueeze,
    View,
    apply_view_inplace,
    are_ints,
    unique_dims,
    wrap_dim,
)
from tiny_torch.tensor import Tensor

# ------------------------------------------------------------------------------------------ shape


@method
@quick(View, sizes=True)
def view(self: Tensor, *sizes: Any, size: Any = None, dtype: Any = None) -> Tensor:
    """The same memory in another shape, of which one size may be -1; or as another dtype.

    Raises RuntimeError where the strides allow no such view.
    https://pytorch.org/docs/stable/generated/torch.Tensor.view.html

    >>> import tiny_torch as torch
    >>> torch.arange(6).view(2, -1)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    if dtype is not None or (len(sizes) == 1 and isinstance(sizes[0], (_core.dtype, type))):
        return view_as_dtype(self, sizes[0] if dtype is None else dtype)
    return apply_view(View, self, one_or_many("view", "size", sizes, size))


@function
def reshape(input: Tensor, shape: Any) -> Tensor:
    """Another shape of the same elements: a view where possible, else a copy. One size may be -1.

    Raises RuntimeError where the number of elements differs.
    https://pytorch.org/docs/stable/generated/torch.reshape.html

    >>> import tiny_torch as torch
    >>> torch.reshape(torch.arange(4), (2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    return reshape_copying(input, as_ints("reshape", "shape", None, shape))


@method("reshape")
def reshape_method(self: Tensor, *sizes: Any, shape: Any = None) -> Tensor:
    """torch.reshape with the sizes one by one, or as one tuple."""
    return reshape_copying(self, one_or_many("reshape", "shape", sizes, shape))


def reshape_copying(x: Tensor, shape: tuple) -> Tensor:
    if x.array.is_contiguous():
        return apply_view(View, x, shape)
    try:
        return apply_view(View, x, shape)
    except RuntimeError:
        return apply(Reshape, x, shape)  # which raises again where the shape itself is wrong


@method
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """self.view(other.shape). https://pytorch.org/docs/stable/generated/torch.Tensor.view_as.html"""
    return apply_view(View, self, other.array.shape)


@method
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """self.reshape(other.shape)"""
    return reshape_copying(self, other.array.shape)


@function_and_method
def ravel(input: Tensor) -> Tensor:
    """One dim, contiguous. https://pytorch.org/docs/stable/generated/torch.ravel.html

    >>> import tiny_torch as torch
    >>> torch.ravel(torch.ones(2, 2))
    tensor([1., 1., 1., 1.])
    """
    return reshape_copying(input.contiguous(), (-1,))


@function_and_method
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dims from start_dim to end_dim as one: a view where possible, else a copy.

    Raises RuntimeError where start_dim comes after end_dim.
    https://pytorch.org/docs/stable/generated/torch.flatten.html

    >>> import tiny_torch as torch
    >>> torch.flatten(torch.zeros(2, 3, 4), 1).shape
    torch.Size([2, 12])
    """
    shape = input.array.shape
    if start_dim == 0 and end_dim == -1 and len(shape) > 1:
        return reshape_copying(input, (input.array.size,))
    start, end = wrap_dim(start_dim, len(shape)), wrap_dim(end_dim, len(shape))
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return reshape_copying(input, (1,))
    if start == end:
        return input
    return reshape_copying(
        input, (*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :])
    )


@function_and_method
def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:
    """One dim as several, of which one size may be -1.

    Raises RuntimeError where the sizes' product is not the dim's.
    https://pytorch.org/docs/stable/generated/torch.unflatten.html

    >>> import tiny_torch as torch
    >>> torch.unflatten(torch.zeros(2, 6), 1, (3, -1)).shape
    torch.Size([2, 3, 2])
    """
    sizes = as_ints("unflatten", "sizes", None, sizes)
    shape = input.array.shape
    dim = wrap_dim(dim, len(shape))
    if not shape:
        raise RuntimeError(f"Dimension specified as {dim} but tensor has no dimensions")
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    given, known = sizes, math.prod(n for n in sizes if n != -1)
    if sizes.count(-1) == 1 and known > 0:
        sizes = tuple([shape[dim] // known if n == -1 else n for n in sizes])
    if math.prod(sizes) != shape[dim]:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(given)} don't multiply up to the size of dim {dim} "
            f"({shape[dim]}) in the input tensor"
        )
    return apply_view(View, input, (*shape[:dim], *sizes, *shape[dim + 1 :]))


@function_and_method
def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """A view without the dims of size 1, or without those of `dim` (an int or a tuple).

    https://pytorch.org/docs/stable/generated/torch.squeeze.html

    >>> import tiny_torch as torch
    >>> torch.squeeze(torch.zeros(1, 2, 1), 0).shape
    torch.Size([2, 1])
    """
    return apply_view(Squeeze, input, squeeze_steps(input, dim))


def squeeze_steps(x: Tensor, dim: Any) -> Steps:
    if dim is None:
        return squeeze_all(x.array.ndim)
    many = isinstance(dim, (tuple, list))
    return (("squeeze", (unique_dims(dim, x.array.ndim) if many else (dim,),)),)


@cache
def squeeze_all(ndim: int) -> Steps:
    """Every dim is named, those of size 1 go."""
    return (("squeeze", (tuple(range(ndim)),)),)


@function_and_method
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """A view with a dim of size 1 put in before `dim`.

    https://pytorch.org/docs/stable/generated/torch.unsqueeze.html

    >>> import tiny_torch as torch
    >>> torch.unsqueeze(torch.zeros(2, 3), -1).shape
    torch.Size([2, 3, 1])
    """
    return apply_view(Unsqueeze, input, (("unsqueeze", (dim,)),))


# ------------------------------------------------------------------------------------ order of dims


@function_and_method("swapdims")
@function_and_method
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """A view with two dims in each other's place.

    https://pytorch.org/docs/stable/generated/torch.transpose.html

    >>> import tiny_torch as torch
    >>> torch.transpose(torch.zeros(2, 3, 4), 0, 2).shape
    torch.Size([4, 3, 2])
    """
    return apply_view(Transpose, input, dim0, dim1)


@function_and_method
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """transpose under NumPy's name."""
    return apply_view(Transpose, input, axis0, axis1)


@function_and_method
def t(input: Tensor) -> Tensor:
    """A matrix transposed; a tensor of fewer dims as it is. RuntimeError for more than 2 dims.

    https://pytorch.org/docs/stable/generated/torch.t.html

    >>> import tiny_torch as torch
    >>> torch.t(torch.zeros(2, 3)).shape
    torch.Size([3, 2])
    """
    return apply_view(T, input, 0, matrix_dims(input) - 1)


def matrix_dims(x: Tensor) -> int:
    ndim = x.array.ndim
    if ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {ndim}D")
    return ndim


def reversed_dims(self: Tensor) -> Tensor:
    """Tensor.T: all dims in reverse order, as a view."""
    ndim = self.array.ndim
    dims = (1, 0) if ndim == 2 else tuple(range(ndim - 1, -1, -1))
    if ndim != 2:
        warnings.warn(
            "Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases."
            if not ndim
            else "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is "
            "deprecated and it will throw an error in a future release. Consider `x.mT` to "
            "transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to "
            "reverse the dimensions of a tensor.",
            stacklevel=2,
        )
    return apply_view(Permute, self, dims)


def matrix_transposed(x: Tensor, name: str, advice: str) -> Tensor:
    """The last two dims transposed, as a view; a tensor of no dims itself, with a warning."""
    if x.array.ndim > 1:
        return apply_view(Transpose, x, -2, -1)
    if x.array.ndim:
        raise RuntimeError(
            f"tensor.{name} is only supported on matrices or batches of matrices. Got 1-D tensor."
        )
    owner = "" if name.endswith("()") else "Tensor."
    warnings.warn(f"{owner}{name} is deprecated on 0-D tensors. {advice}", stacklevel=3)
    return x


def mT(self: Tensor) -> Tensor:
    """Tensor.mT: the last two dims transposed, as a view."""
    return matrix_transposed(self, "mT", "This function is the identity in these cases.")


def mH(self: Tensor) -> Tensor:
    """Tensor.mH: as mT, for there are no complex tensors."""
    return matrix_transposed(self, "mH", "Consider using x.conj().")


def H(self: Tensor) -> Tensor:
    """Tensor.H: a matrix transposed, as a view."""
    ndim = self.array.ndim
    if ndim in (0, 2):
        return matrix_transposed(self, "H", "Consider using x.conj().")
    raise RuntimeError(
        f"tensor.H is only supported on matrices (2-D tensors). Got {ndim}-D tensor."
        + " For batches of matrices, consider using tensor.mH" * (ndim > 2)
    )


@function_and_method
def adjoint(input: Tensor) -> Tensor:
    """The last two dims transposed, as a view; RuntimeError for a single dim.

    https://pytorch.org/docs/stable/generated/torch.adjoint.html

    >>> import tiny_torch as torch
    >>> torch.adjoint(torch.tensor([[1, 2]]))
    tensor([[1],
            [2]])
    """
    return matrix_transposed(input, "adjoint()", "Consider using x.conj().")


@function
def permute(input: Tensor, dims: Any) -> Tensor:
    """A view whose dim i is the input's dims[i].

    Raises RuntimeError where `dims` is no permutation.
    https://pytorch.org/docs/stable/generated/torch.permute.html

    >>> import tiny_torch as torch
    >>> torch.permute(torch.zeros(2, 3, 4), (2, 0, 1)).shape
    torch.Size([4, 2, 3])
    """
    return apply_view(Permute, input, as_ints("permute", "dims", None, dims))


@method("permute")
def permute_method(self: Tensor, *order: Any, dims: Any = None) -> Tensor:
    """torch.permute with the dims one by one, or as one tuple."""
    return apply_view(Permute, self, one_or_many("permute", "dims", order, dims))


@function_and_method("moveaxis")
@function_and_method
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """A view with some dims (ints or tuples) moved to other places, the rest in order.

    Raises RuntimeError where a dim is named twice.
    https://pytorch.org/docs/stable/generated/torch.movedim.html

    >>> import tiny_torch as torch
    >>> torch.movedim(torch.zeros(2, 3, 4), 0, -1).shape
    torch.Size([3, 4, 2])
    """
    if isinstance(source, (tuple, list)) != isinstance(destination, (tuple, list)):
        raise TypeError("movedim() received an invalid combination of arguments: int and tuple")
    if not isinstance(source, (tuple, list)):
        source, destination = (source,), (destination,)
    ndim = input.array.ndim
    if len(source) != len(destination):
        raise RuntimeError(
            "movedim: Invalid source or destination dims: source "
            f"({list(source)} dims) should contain the same number of dims as destination "
            f"({list(destination)} dims)"
        )
    places = [wrap_dim(dim, ndim) for dim in source]
    targets = [wrap_dim(dim, ndim) for dim in destination]
    for name, given, dims in (("source", source, places), ("destination", destination, targets)):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({list(given)})")
    rest = iter([dim for dim in range(ndim) if dim not in places])
    moved = dict(zip(targets, places, strict=True))
    order = tuple([moved[i] if i in moved else next(rest) for i in range(ndim)])
    return apply_view(Permute, input, order)


# --------------------------------------------------------------------------------- a view in place


@method
def t_(self: Tensor) -> Tensor:
    """Turns this very matrix: other tensors on its memory stay as they are."""
    return apply_view_inplace(T, self, 0, matrix_dims(self) - 1)


@method("swapdims_")
@method
def transpose_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """transpose in place."""
    return apply_view_inplace(Transpose, self, dim0, dim1)


@method
def swapaxes_(self: Tensor, axis0: int, axis1: int) -> Tensor:
    """swapaxes in place."""
    return transpose_(self, axis0, axis1)


@method
def squeeze_(self: Tensor, dim: Any = None) -> Tensor:
    """squeeze in place."""
    return apply_view_inplace(Squeeze, self, squeeze_steps(self, dim))


@method
def unsqueeze_(self: Tensor, dim: int) -> Tensor:
    """unsqueeze in place."""
    return apply_view_inplace(Unsqueeze, self, (("unsqueeze", (dim,)),))


def one_or_many(function: str, argument: str, values: tuple, named: Any) -> tuple:
    """Ints that a method was given one by one, as one sequence, or by name."""
    if named is None and values and are_ints(values):
        return values
    if named is not None:
        return as_ints(function, argument, None, named)
    check_given(function, argument, values)
    single = len(values) == 1 and not hasattr(values[0], "__index__")
    if single and not isinstance(values[0], (tuple, list)):
        raise wrong_kind(function, argument, "tuple of ints", values[0], 1)
    return as_ints(function, argument, None, values[0] if single else values)


METHODS |= {
    "T": property(reversed_dims),
    "mT": property(mT),
    "mH": property(mH),
    "H": property(H),
}
