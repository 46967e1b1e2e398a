"""What is computed of sparse tensors, beside products: sums, transposes, elementwise functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tiny_torch.base.arguments import is_int
from tiny_torch.functions.index.selection import checked_dim
from tiny_torch.functions.memory import result_type
from tiny_torch.functions.shape.join import cat, stack
from tiny_torch.sparse.array import SparseArray
from tiny_torch.sparse.building import zeros_like
from tiny_torch.sparse.tensor import (
    from_values,
    indices_of,
    places_of,
    to_dense,
    values_at,
    values_of,
)
from tiny_torch.tensor import Tensor


def is_sparse(x: Any) -> bool:
    return isinstance(x, Tensor) and type(x.array) is SparseArray


def with_values(x: Tensor, values: Tensor) -> Tensor:
    """A sparse tensor with the places of x."""
    return from_values(values, indices_of(x), x.array.shape, x.array.is_coalesced)


# ----------------------------------------------------------------------------------- places
def coalesce(x: Tensor) -> Tensor:
    """Each place once, in ascending order; itself if that holds. Source: Tensor.coalesce."""
    if x.array.is_coalesced:
        return x
    indices, values = indices_of(x), values_of(x)
    sizes = x.array.shape[: indices.shape[0]]
    flat = indices[0]
    for d in range(1, len(sizes)):
        flat = flat * sizes[d] + indices[d]
    flat, which = flat.unique(return_inverse=True)
    rows = []
    for n in reversed(sizes):
        rows.append(flat % n)
        flat = flat // n
    zeros = values.detach().new_zeros(rows[0].shape[0], *values.shape[1:])
    total = zeros.index_put((which,), values, accumulate=True)
    return from_values(total, stack(rows[::-1]), x.array.shape, True)


def transpose(x: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two sparse dims swapped."""
    dim0, dim1 = (checked_dim("transpose", x, dim) for dim in (dim0, dim1))
    indices, shape = indices_of(x), list(x.array.shape)
    if max(dim0, dim1) >= indices.shape[0]:
        raise NotImplementedError("transpose of a dense dim of a sparse tensor")
    if dim0 == dim1:
        return x
    order = list(range(indices.shape[0]))
    order[dim0], order[dim1] = dim1, dim0
    shape[dim0], shape[dim1] = shape[dim1], shape[dim0]
    return from_values(values_of(x), indices[order], shape)


def t(x: Tensor) -> Tensor:
    if x.array.ndim > 2:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 dimensions, but self is {x.array.ndim}D"
        )
    return transpose(x, 0, 1) if x.array.ndim == 2 else x


# ----------------------------------------------------------------------------- arithmetic
def add(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """Two sparse tensors, or a dense and a sparse one, of one shape."""
    if not is_sparse(other):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if input.array.shape != other.array.shape:
        raise RuntimeError(
            "add: expected 'self' and 'other' to have same size, but "
            f"{list(input.array.shape)} != {list(other.array.shape)}"
        )
    values = values_of(other) if alpha == 1 else values_of(other) * alpha
    if not is_sparse(input):
        dtype = result_type(input, values)
        places = places_of(indices_of(other))
        return input.to(dtype).index_put(places, values.to(dtype), accumulate=True)
    if len(input.array.indices.shape) != len(other.array.indices.shape):
        raise NotImplementedError("add of sparse tensors of other sparse dims")
    if input.array.indices is other.array.indices:
        return with_values(input, values_of(input) + values)
    both = from_values(
        cat([values_of(input), values]),
        cat([indices_of(input), indices_of(other)], 1),
        input.array.shape,
    )
    return coalesce(both) if input.array.is_coalesced and other.array.is_coalesced else both


def add_(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """`add` in place: of a dense tensor in its memory."""
    if is_sparse(self):
        return replace(self, add(self, other, alpha=alpha))
    if self.array.shape != other.array.shape:
        raise RuntimeError(
            "add: expected 'self' and 'other' to have same size, but "
            f"{list(self.array.shape)} != {list(other.array.shape)}"
        )
    values = values_of(other) if alpha == 1 else values_of(other) * alpha
    places = places_of(indices_of(other))
    return self.index_put_(places, values.to(self.array.dtype), accumulate=True)


def sub(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    return add(input, other, alpha=-alpha)


def sub_(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    return add_(self, other, alpha=-alpha)


def is_scalar(x: Any) -> bool:
    return not isinstance(x, Tensor) or (x.array.ndim == 0 and not is_sparse(x))


def mul(input: Any, other: Any) -> Tensor:
    """A sparse tensor times a number, or, at its places, times a dense tensor of its shape."""
    x, y = (input, other) if is_sparse(input) else (other, input)
    if is_scalar(y):
        return with_values(x, values_of(x) * y)
    if is_sparse(y):
        y = coalesce(y)
    if x.array.shape != y.array.shape:
        raise NotImplementedError("mul of a sparse tensor and one of another shape")
    return with_values(x, values_of(x) * values_at(y, indices_of(x)))


def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """A sparse tensor divided by a number."""
    if rounding_mode is not None:
        raise NotImplementedError("div of a sparse tensor: rounding_mode")
    if not is_sparse(input):
        raise NotImplementedError("division by a sparse tensor")
    if not is_scalar(other):
        raise RuntimeError(
            "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
            f"{list(other.array.shape)} for divisor)"
        )
    return with_values(input, values_of(input) / other)


def neg(x: Tensor) -> Tensor:
    return with_values(x, -values_of(x))


def of_values(name: str) -> Callable:
    """An elementwise function whose value at 0 is 0."""

    def function(x: Tensor, inplace: bool = False) -> Tensor:
        if inplace:
            raise NotImplementedError(f"{name} of a sparse tensor: inplace=True")
        x = coalesce(x)
        return with_values(x, getattr(values_of(x), name)())

    return function


def power(x: Tensor, exponent: Any) -> Tensor:
    """A sparse tensor to a power above 0."""
    if not is_sparse(x) or not is_scalar(exponent) or not exponent > 0:
        raise NotImplementedError("pow of a sparse tensor, but to a number above 0")
    x = coalesce(x)
    return with_values(x, values_of(x) ** exponent)


# ----------------------------------------------------------------------------------- sums
def sum(input: Tensor, dim: Any = None, dtype: Any = None) -> Tensor:
    """The sum of all elements, or over dims: dense where no sparse dim is left, else sparse.

    Source: https://pytorch.org/docs/stable/generated/torch.sparse.sum.html

    >>> import tiny_torch as torch
    >>> x = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
    >>> torch.sparse.sum(x), torch.sparse.sum(x, 0).to_dense()
    (tensor(12.), tensor([4., 0., 8.]))
    """
    if not is_sparse(input):
        raise RuntimeError("coalesce expected sparse coordinate tensor layout but got Strided")
    input = coalesce(input)
    values = values_of(input)
    if dtype is not None:
        values = values.to(dtype)
    if dim is None:
        return values.sum()
    dims = sorted({checked_dim("sum", input, d) for d in ((dim,) if is_int(dim) else dim)})
    if not dims:
        return with_values(input, values)
    indices, shape = indices_of(input), input.array.shape
    kept = [d for d in range(indices.shape[0]) if d not in dims]
    inner = [d - indices.shape[0] + 1 for d in dims if d >= indices.shape[0]]
    if inner:
        values = values.sum(inner)
    if not kept:
        return values.sum(0)
    left = [n for d, n in enumerate(shape) if d not in dims]
    return coalesce(from_values(values, indices[kept], left))


def norm(
    x: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Tensor:
    """The norm of all elements."""
    if dim is not None or keepdim or dtype is not None:
        raise NotImplementedError("norm of a sparse tensor: dim, keepdim, dtype")
    return values_of(coalesce(x)).norm(2 if p in ("fro", None) else p)


# ------------------------------------------------------------------------------- in place
def replace(x: Tensor, result: Tensor) -> Tensor:
    """Gives a sparse tensor without a history the places and values of another one."""
    if x.requires_grad or result.requires_grad:
        raise NotImplementedError("in-place operations on sparse tensors that require a gradient")
    x.array = result.array
    return x


def resize_as_(x: Tensor, other: Tensor, *, memory_format: Any = None) -> Tensor:
    """Gives a sparse tensor another's shape, in which its elements keep their places.

    RuntimeError where sparse dims shrink or their number changes, unless it has no elements.
    """
    if not (is_sparse(x) and is_sparse(other)) or memory_format is not None:
        raise NotImplementedError("resize_as_ of a sparse tensor, but as a sparse one")
    if x.array.values.shape[0] == 0:
        return replace(x, zeros_like(other, dtype=x.array.dtype))
    indices, sizes = indices_of(x), list(other.array.shape)
    dims = indices.shape[0]
    if other.array.indices.shape[0] != dims:
        raise RuntimeError(
            f"changing the number of sparse dimensions (from {dims} to "
            f"{other.array.indices.shape[0]}) on a non-empty sparse tensor is not supported."
        )
    before = list(x.array.shape)
    if any(n < m for n, m in zip(sizes[:dims], before[:dims], strict=True)):
        raise RuntimeError(
            f"shrinking the size of sparse dimensions (from {before[:dims]} to {sizes[:dims]}) on "
            "a non-empty sparse tensor is not supported."
        )
    if sizes[dims:] != before[dims:]:
        raise NotImplementedError("resize_as_ of a sparse tensor: other dense dims")
    return replace(x, from_values(values_of(x), indices, sizes, x.array.is_coalesced))


def zero_(x: Tensor) -> Tensor:
    none = indices_of(x)[:, :0]
    return replace(x, from_values(values_of(x).detach()[:0], none, x.array.shape, True))


def in_place(function: Callable) -> Callable:
    """The function, whose result its first argument becomes."""

    def write(x: Tensor, *arguments: Any) -> Tensor:
        if not is_sparse(x):
            raise NotImplementedError("a sparse tensor written into a dense one")
        return replace(x, function(x, *arguments))

    return write


def dense_of(x: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """All elements of a sparse tensor. Its gradient is that of its places: `masked_grad`."""
    if dtype is not None:
        raise RuntimeError("dtype argument is not supported by sparse_to_dense")
    if masked_grad is False:
        raise NotImplementedError("to_dense: masked_grad=False")
    return to_dense(x)
