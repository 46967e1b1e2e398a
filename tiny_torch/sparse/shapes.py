"""Sparse tensors picked apart and put together: by their places, next to which values stay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tiny_torch._core import wrap_dim
from tiny_torch.base.arguments import is_int
from tiny_torch.functions.creation.ranges import arange
from tiny_torch.functions.index.search import searchsorted
from tiny_torch.functions.shape.join import cat as cat_dense
from tiny_torch.functions.shape.views import one_or_many
from tiny_torch.sparse.functions import is_sparse, with_values
from tiny_torch.sparse.tensor import from_values, indices_of, to_dense, values_of
from tiny_torch.tensor import Tensor


def as_bool(x: Tensor) -> bool:
    """Of one element; RuntimeError for more."""
    if x.array.size > 1:
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    return bool(to_dense(x))


def equal_pairs(keys: Tensor, others: Tensor) -> tuple[Tensor, Tensor]:
    """(i, j) of all pairs with keys[i] == others[j], in the order of i, then of j."""
    order = others.argsort(stable=True)
    ascending = others[order].contiguous()
    starts = searchsorted(ascending, keys.contiguous())
    counts = searchsorted(ascending, keys.contiguous(), right=True) - starts
    i = arange(keys.shape[0], device=keys.device).repeat_interleave(counts)
    before = (counts.cumsum(0) - counts)[i]
    return i, order[starts[i] + arange(i.shape[0], device=keys.device) - before]


# ------------------------------------------------------------------------------------- picked apart
def select(x: Tensor, dim: int, index: int) -> Tensor:
    """One slice; dense where no sparse dim is left."""
    if not is_sparse(x):
        return x.select(dim, index)
    shape, indices, values = list(x.array.shape), indices_of(x), values_of(x)
    dims, dim = indices.shape[0], wrap_dim(dim, len(shape))
    size = shape[dim]
    if not -size <= index < size:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {shape} at dimension {dim}"
        )
    del shape[dim]
    if dim >= dims:
        values = values.select(dim - dims + 1, index)
        return from_values(values, indices, shape, x.array.is_coalesced)
    found = (indices[dim] == index % size).nonzero()[:, 0]
    values = values[found]
    if dims == 1:
        return values.sum(0)
    kept = [d for d in range(dims) if d != dim]
    return from_values(values, indices[kept][:, found], shape, x.array.is_coalesced)


def getitem(x: Tensor, index: Any) -> Tensor:
    """x[i], x[i, j]: by whole numbers."""
    index = index if isinstance(index, tuple) else (index,)
    if not all(is_int(i) for i in index):
        raise NotImplementedError("__getitem__ of a sparse tensor, but by whole numbers")
    shape = x.array.shape
    if len(index) > len(shape):
        raise IndexError(f"too many indices for tensor of dimension {len(shape)}")
    for d, (i, size) in enumerate(zip(index, shape, strict=False)):
        if not -size <= i < size:
            raise IndexError(f"index {i} is out of bounds for dimension {d} with size {size}")
        x = select(x, 0, i)
    return x


def index_select(x: Tensor, dim: int, index: Tensor) -> Tensor:
    """Slices along a dim, picked by a vector of positions."""
    shape, indices, values = list(x.array.shape), indices_of(x), values_of(x)
    dims, dim = indices.shape[0], wrap_dim(dim, len(shape))
    outside = index[(index < 0) | (index >= shape[dim])]
    if outside.numel():
        raise IndexError(
            f"index_select(): index contains {outside[0].item()} that is out of range for tensor "
            f"of size {shape} at dimension {dim}"
        )
    shape[dim] = index.shape[0]
    if dim >= dims:
        values = values.index_select(dim - dims + 1, index)
        return from_values(values, indices, shape, x.array.is_coalesced)
    to, found = equal_pairs(index, indices[dim])
    rows = list(indices[:, found].unbind(0))
    rows[dim] = to
    return from_values(values[found], cat_dense([row[None] for row in rows]), shape)


# ------------------------------------------------------------------------------------ put together
def unsqueeze(x: Tensor, dim: int) -> Tensor:
    """A new dim of size 1: a sparse one up to behind the last sparse dim."""
    shape, indices, values = list(x.array.shape), indices_of(x), values_of(x)
    dims, dim = indices.shape[0], wrap_dim(dim, len(shape) + 1)
    shape.insert(dim, 1)
    if dim > dims:
        values = values.unsqueeze(dim - dims + 1)
    else:
        indices = cat_dense([indices[:dim], indices.new_zeros(1, indices.shape[1]), indices[dim:]])
    return from_values(values, indices, shape, x.array.is_coalesced)


def permute(x: Tensor, *order: Any, dims: Any = None) -> Tensor:
    """Dims in another order, the sparse ones before the dense ones as ever."""
    order = one_or_many("permute", "dims", order, dims)
    shape, indices, values = x.array.shape, indices_of(x), values_of(x)
    if len(order) != len(shape):
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            "length of the desired ordering of dimensions i.e. "
            f"input.dim() = {len(shape)} is not equal to len(dims) = {len(order)}"
        )
    places = [wrap_dim(dim, len(shape)) for dim in order]
    if len(set(places)) < len(places):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    if places == list(range(len(shape))):
        return with_values(x, values)
    count = indices.shape[0]
    if max(places[:count]) >= count:
        raise RuntimeError(
            "permute(sparse_coo): transpositions between sparse and dense dimensions are not "
            "allowed.Only transpositions within sparse and dense dimensions are supported."
        )
    values = values.permute(0, *[dim - count + 1 for dim in places[count:]])
    return from_values(values, indices[places[:count]], [shape[dim] for dim in places])


def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Sparse tensors one behind the other along a sparse dim."""
    first = tensors[0].array
    dim, shape = wrap_dim(dim, first.ndim), list(first.shape)
    end, places = 0, []
    for i, x in enumerate(tensors):
        if not is_sparse(x):
            raise RuntimeError(
                f"Concatenating sparse tensors, but a dense tensor was found at position {i}."
            )
        size = list(x.array.shape)
        if size[:dim] + size[dim + 1 :] != shape[:dim] + shape[dim + 1 :]:
            raise RuntimeError(
                f"All tensors must have the same shape: {list(first.shape)} (except in the "
                f"concatenating dimension), but found shape: {size} at position {i}."
            )
        indices = indices_of(x)
        if dim >= indices.shape[0] or indices.shape[0] != indices_of(tensors[0]).shape[0]:
            raise NotImplementedError("cat of sparse tensors along a dense dim, or of other dims")
        rows = list(indices.unbind(0))
        rows[dim] = rows[dim] + end
        places.append(cat_dense([row[None] for row in rows]))
        end += size[dim]
    shape[dim] = end
    return from_values(cat_dense([values_of(x) for x in tensors]), cat_dense(places, 1), shape)


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Sparse tensors side by side in a new sparse dim."""
    return cat([unsqueeze(x, dim) for x in tensors], wrap_dim(dim, tensors[0].array.ndim + 1))
