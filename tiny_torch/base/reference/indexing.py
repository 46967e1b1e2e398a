"""RefArray's reading and writing by tensors of indices. `x` is always a RefArray.

All find the places of the chosen elements first, as a list; then one copy moves them. In C++:
src/core/api/index/gather.cpp, masks.cpp, arrange.cpp, brackets.cpp and join.cpp.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tiny_torch import _core
from tiny_torch.base.reference.compute import check_writable, elements, is_array
from tiny_torch.base.reference.formulas import result_type
from tiny_torch.base.reference.layout import (
    broadcast_shapes,
    positions,
    result_strides,
    without_out,
    wrap_dim,
)


# ------------------------------------------------------------------------- gather and scatter
def size_at(array: Any, dim: int) -> int:
    return array.shape[dim] if array.ndim else 1


def places_along(op: str, x: Any, dim: int, index: Any, source: Any = None) -> list[int]:
    """Where x[index[i, j], j] lies (for dim 0), for every element of the index in row-major order.

    A walk over x, cut to the index's shape and with a stride of 0 along dim, finds x[0, j]; from
    there the index's element says how many strides to go.
    """
    dim = wrap_dim(dim, x.ndim)
    if index.size == 0:
        return []
    others = [index] if source is None else [index, source]
    if any(max(other.ndim, 1) != max(x.ndim, 1) for other in others):
        raise RuntimeError(
            "Index tensor must have the same number of dimensions as "
            f"{'input' if source is None else 'self and src'} tensor: index {list(index.shape)}, "
            f"input {list(x.shape)}"
        )
    for d in range(max(x.ndim, 1)):
        n = size_at(index, d)
        if (d != dim and n > size_at(x, d)) or (source is not None and n > size_at(source, d)):
            and_source = (
                "" if source is None else f" and to be no larger size than src {list(source.shape)}"
            )
            raise RuntimeError(
                f"Size does not match at dimension {d} expected index {list(index.shape)} to be no "
                f"larger than self {list(x.shape)} apart from dimension {dim}{and_source}"
            )
    if index.dtype not in (_core.int32, _core.int64):
        raise RuntimeError(f"{op}(): Expected dtype int32/int64 for index, got {index.dtype.name}")
    size, stride = size_at(x, dim), x.strides[dim] if x.ndim else 0
    chosen = elements(index, index.shape, _core.int64).tolist()
    for i in chosen:
        if not 0 <= i < size:
            raise RuntimeError(f"index {i} is out of bounds for dimension {dim} with size {size}")
    strides = [0 if d == dim else step for d, step in enumerate(x.strides)] or [0]
    begins = positions(index.shape or (1,), strides, x.offset)
    return [begin + i * stride for begin, i in zip(begins, chosen, strict=True)]


@without_out
def gather(x: Any, dim: int, index: Any) -> Any:
    """out[i, j] = x[index[i, j], j] for dim 0."""
    places = places_along("gather", x, dim, index)
    return x._new(index.shape, x.dtype)._store(x._flat[places])


# How what is written meets what is there, by the argument `place`: None writes.
PLACES: tuple[Any, ...] = (None, np.add, np.multiply, np.maximum, np.minimum)


def write(x: Any, places: Sequence[int], values: Any, place: int) -> None:
    """The last of several writes to one place stays; if they combine, all count, one by one.

    Halves are combined in float32, and rounded once.
    """
    if PLACES[place] is None:
        x._flat[places] = values
    else:
        combined = x._flat.astype(np.float32) if x._flat.dtype == np.float16 else x._flat
        PLACES[place].at(combined, np.array(places, np.int64), values)
        x._flat[places] = combined[places]
    x.mark_written()


def scatter(x: Any, dim: int, index: Any, source: Any, place: int, shown: bool) -> None:
    """x[index[i, j], j] = source[i, j], or combined with it."""
    if is_array(source) and x.dtype is not source.dtype:
        raise RuntimeError(
            f"scatter(): Expected self.dtype to be equal to src.dtype, got {x.dtype.name} and "
            f"{source.dtype.name}"
        )
    check_writable(x)
    if not is_array(source):
        source = x.new_full((), source).expand(index.shape)
    places = places_along("scatter", x, dim, index, source)
    if places:
        from_ = positions(index.shape or (1,), source.strides or (0,), source.offset)
        write(x, places, source._flat[from_], place)


# ----------------------------------------------------------------------------- slices along a dim
def places_of_slices(x: Any, dim: int, index: Any, low: int, error: type[Exception]) -> list[int]:
    """Where the elements of x's slices at the positions of a vector lie, in row-major order."""
    size, stride = (x.shape[dim], x.strides[dim]) if x.ndim else (1, 0)
    begins = positions(x.shape[:dim], x.strides[:dim], x.offset)
    rests = positions(x.shape[dim + 1 :], x.strides[dim + 1 :])
    chosen = elements(index, index.shape, _core.int64).tolist()
    for i in chosen:
        if not low <= i < size:
            raise error(f"index {i} is out of bounds for dimension {dim} with size {size}")
    return [b + i % size * stride + r for b in begins for i in chosen for r in rests]


def extremes(x: Any, positions: Any, dim: int, keepdim: bool) -> list:
    found = [gather(x, dim, positions), positions]
    return found if keepdim or not x.ndim else [array.squeeze((dim,)) for array in found]


@without_out
def max_along(x: Any, dim: int, keepdim: bool = False) -> list:
    """[the largest elements along a dim, where the first of them stand]."""
    return extremes(x, x.argmax(dim, True), dim, keepdim)


@without_out
def min_along(x: Any, dim: int, keepdim: bool = False) -> list:
    return extremes(x, x.argmin(dim, True), dim, keepdim)


@without_out
def index_select(x: Any, dim: int, index: Any) -> Any:
    """out[k] = x[index[k]] for dim 0."""
    dim = wrap_dim(dim, x.ndim)
    if index.ndim > 1:
        raise IndexError(
            f"index_select(): Index is supposed to be a vector, got {list(index.shape)}"
        )
    if index.dtype not in (_core.int32, _core.int64):
        raise RuntimeError(
            f"index_select(): Expected dtype int32/int64 for index, got {index.dtype.name}"
        )
    if not x.ndim and index.size != 1:
        raise RuntimeError(
            f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)"
        )
    kind = RuntimeError if not x.size and x.ndim > 1 else IndexError
    places = places_of_slices(x, dim, index, 0, kind)
    shape = (*x.shape[:dim], index.size, *x.shape[dim + 1 :]) if x.ndim else ()
    return x._new(shape, x.dtype)._store(x._flat[places])


def index_place(x: Any, dim: int, index: Any, source: Any, place: int, wraps: bool) -> None:
    """x[index[k]] = source[k] for dim 0, or combined with it; below 0 from the end if `wraps`."""
    dim = wrap_dim(dim, x.ndim)
    if not wraps:  # index_fill_ may write to an expanded tensor
        check_writable(x)
    error = RuntimeError if PLACES[place] is np.add and x.ndim > 1 else IndexError
    low = -x.shape[dim] if wraps and x.ndim else -1 if wraps else 0
    places = places_of_slices(x, dim, index, low, error)
    if not is_array(source):
        source = x.new_full((), source)
    shape = (*x.shape[:dim], index.size, *x.shape[dim + 1 :]) if x.ndim else (index.size,)
    write(x, places, elements(source, shape, x.dtype), place)


@without_out
def take(x: Any, index: Any) -> Any:
    """The flat elements of x at positions, in their shape."""
    places = positions(x.shape, x.strides, x.offset)
    return x._new(index.shape, x.dtype)._store(x._flat[checked_take("take", places, index)])


def put(x: Any, index: Any, source: Any, accumulate: bool) -> None:
    """The reverse of take."""
    check_writable(x)
    chosen = checked_take("put_", positions(x.shape, x.strides, x.offset), index)
    write(x, chosen, elements(source, source.shape, x.dtype), 1 if accumulate else 0)


def checked_take(op: str, places: list[int], index: Any) -> list[int]:
    n = len(places)
    if n == 0 and index.size:
        raise IndexError(f"{op}(): tried to take from an empty tensor")
    chosen = elements(index, index.shape, _core.int64).tolist()
    for i in chosen:
        if not -n <= i < n:
            raise IndexError(f"index {i} is out of bounds for dimension 0 with size {n}")
    return [places[i] for i in chosen]


# ------------------------------------------------------------------------------------- by masks
def masked_places(x: Any, mask: Any) -> list[int]:
    places = positions(x.shape, x.strides, x.offset)
    holds = elements(mask, x.shape, _core.bool)
    return [place for place, held in zip(places, holds, strict=True) if held]


def masked_select(x: Any, mask: Any) -> Any:
    """The elements of x where the mask holds."""
    places = masked_places(x, mask)
    return x._new((len(places),), x.dtype)._store(x._flat[places])


def masked_fill(x: Any, mask: Any, value: Any) -> None:
    """x = value where the mask holds."""
    check_writable(x)
    if not is_array(value):
        value = x.new_full((), value)
    write(x, masked_places(x, mask), elements(value, (1,), x.dtype)[0], 0)


def masked_scatter(x: Any, mask: Any, source: Any) -> None:
    """x = the next element of source, where the mask holds."""
    check_writable(x)
    places = masked_places(x, mask)
    if source.size < len(places):
        raise RuntimeError("Number of elements of source < number of ones in mask")
    write(x, places, elements(source, source.shape, x.dtype)[: len(places)], 0)


# ----------------------------------------------------------------------------- in another order
def flip(x: Any, dims: Sequence[int]) -> Any:
    """Strides may not be negative in an array, but a walk may go backwards."""
    begin, strides = x.offset, list(x.strides)
    for dim in dims if x.ndim else ():
        begin += (x.shape[dim] - 1) * strides[dim]
        strides[dim] = -strides[dim]
    out = x.empty_like()
    if x.size:
        out._store(x._flat[positions(x.shape, strides, begin)])
    return out


def roll(x: Any, shifts: Sequence[int], dims: Sequence[int]) -> Any:
    """Along each dim two slices trade places."""
    result = x.contiguous() if dims else x.clone()
    for shift, dim in zip(shifts, dims, strict=True):
        n = x.shape[dim]
        cut = -shift % n if n else 0
        result = cat((result.slice(dim, cut, n, 1), result.slice(dim, 0, cut, 1)), dim)
    return result


def split(x: Any, dim: int, sizes: Sequence[int]) -> tuple:
    ends = np.cumsum([0, *sizes]).tolist()
    return tuple(x.slice(dim, a, b, 1) for a, b in itertools.pairwise(ends))


def unbind(x: Any, dim: int) -> tuple:
    return tuple(x.select(dim, i) for i in range(x.shape[wrap_dim(dim, x.ndim)]))


def tolist(x: Any) -> Any:
    return x.numpy().tolist()


@without_out
def triangle(x: Any, diagonal: int, lower: bool) -> Any:
    """x with zeros right of a diagonal (lower), or left of it."""
    rows, columns = x.shape[-2:]
    row, column = np.indices((rows, columns))
    keeps = column - row <= diagonal if lower else column - row >= diagonal
    values = elements(x, x.shape, x.dtype).reshape(x.shape)
    return x._new(x.shape, x.dtype)._store(np.where(keeps, values, 0).reshape(-1))


def repeated_positions(repeats: Any, size: int) -> Any:
    """0 .. size - 1, each repeated as often as `repeats` says."""
    if repeats.ndim > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    counts = elements(repeats, repeats.shape, _core.int64)
    if counts.size not in (1, size):
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{counts.size} and input.size(0) = {size}"
        )
    if (counts < 0).any():
        raise RuntimeError("repeats can not be negative")
    found = np.repeat(np.arange(size), np.broadcast_to(counts, (size,)))
    return repeats._new((found.size,), _core.int64)._store(found)


# --------------------------------------------------------------------------------- x[indices]
def nonzero(x: Any) -> Any:
    """(number of nonzero elements, ndim) int64: their indices, in row-major order."""
    flat = elements(x, x.shape, _core.bool)
    found = []
    for place in range(x.size):
        if flat[place]:
            index = []
            for size in reversed(x.shape):
                place, last = divmod(place, size)
                index.append(last)
            found.append(index[::-1])
    # As in PyTorch each dim's positions lie together: they are read one dim at a time.
    out = x._new((len(found), x.ndim), _core.int64, (1, len(found)))
    return out._store([i for index in found for i in index])


def expand_masks(x: Any, indices: Sequence[Any]) -> list[Any]:
    """A mask stands for the integer indices of its true elements, one tensor per dim of it."""
    result: list[Any] = []
    for index in indices:
        if index is None or index.dtype is _core.int64:
            result.append(index)
        elif index.dtype is _core.int32:
            result.append(index.astype(_core.int64))
        elif index.dtype in (_core.bool, _core.uint8):
            for d, n in enumerate(index.shape):
                at = len(result) + d
                if at >= x.ndim or n != x.shape[at]:
                    raise IndexError(
                        f"The shape of the mask {list(index.shape)} at index {d} does not match "
                        f"the shape of the indexed tensor {list(x.shape)} at index {at}"
                    )
            where = nonzero(index)
            result += [where.select(1, d) for d in range(index.ndim)]
        else:
            raise IndexError(
                "tensors used as indices must be long, int, byte or bool tensors, got "
                f"{index.dtype.name}"
            )
    if len(result) > x.ndim:
        raise IndexError(f"too many indices for tensor of dimension {x.ndim} (got {len(result)})")
    return result


def index_plan(x: Any, raw: Sequence[Any]) -> tuple[tuple[int, ...], tuple[int, ...], Callable]:
    """The shape of x[indices], its strides if it is a new array, and a function that answers where
    its elements lie in x.

    Indices broadcast together. Their dims take the place of the indexed dims if these are adjacent,
    else the front; the other dims are walked as ever. A place is the sum of the three parts.
    """
    if not isinstance(raw, tuple | list):
        raise TypeError("expected a tuple or list of RefArrays")
    for index in raw:
        if index is not None and not is_array(index):
            raise TypeError(f"expected a RefArray, got {type(index).__name__}")
    indices = expand_masks(x, raw)
    given = [d for d, index in enumerate(indices) if index is not None]
    shape: tuple[int, ...] = ()
    for d in given:
        try:
            shape = broadcast_shapes(shape, indices[d].shape)
        except RuntimeError:
            raise IndexError(
                "shape mismatch: indexing tensors could not be broadcast together with shapes "
                f"{list(shape)}, {list(indices[d].shape)}"
            ) from None
    adjacent = not given or given[-1] - given[0] + 1 == len(given)
    kept = [d for d in range(x.ndim) if d not in given]
    before = [d for d in kept if given and adjacent and d < given[0]]
    after = [d for d in kept if d not in before]

    def places() -> list[int]:
        offsets = positions(shape, [0] * len(shape))
        for d in given:
            size = x.shape[d]
            for k, i in enumerate(elements(indices[d], shape, _core.int64).tolist()):
                if not -size <= i < size:
                    raise IndexError(
                        f"index {i} is out of bounds for dimension {d} with size {size}"
                    )
                offsets[k] += i % size * x.strides[d]
        begins = positions([x.shape[d] for d in before], [x.strides[d] for d in before], x.offset)
        rests = positions([x.shape[d] for d in after], [x.strides[d] for d in after])
        return [b + i + r for b in begins for i in offsets for r in rests]

    # The strides are those of an elementwise op of x, as it is seen in the result's shape, and the
    # indices, which have sizes of 1 along the dims that are not theirs.
    full = (*[x.shape[d] for d in before], *shape, *[x.shape[d] for d in after])
    still = [0] * len(shape)
    steps = (*[x.strides[d] for d in before], *still, *[x.strides[d] for d in after])
    seen = [x._view(full, steps, x.offset)]
    for d in given:
        sizes = (*[1 for _ in before], *shape, *[1 for _ in after])
        seen.append(indices[d].expand(shape).view(sizes))
    return full, result_strides(full, seen[:4], 0), places


def index(x: Any, indices: Sequence[Any]) -> Any:
    """x[indices]: one entry per leading dim; None keeps a dim whole."""
    shape, strides, places = index_plan(x, indices)
    return x._new(shape, x.dtype, strides)._store(x._flat[places()])


def index_put(x: Any, indices: Sequence[Any], values: Any, accumulate: Any = False) -> None:
    """x[indices] = values, or +=, in row-major order of the result's shape."""
    if x.dtype is not values.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{x.dtype.name} for the destination and {values.dtype.name} for the source."
        )
    shape, _, places = index_plan(x, indices)
    own = list(values.shape)
    while len(own) > len(shape) and own[0] == 1:
        del own[0]
    tail = shape[len(shape) - len(own) :]
    if len(own) > len(shape) or any(n not in (1, m) for n, m in zip(own, tail, strict=True)):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to "
            f"indexing result of shape {list(shape)}"
        )
    source = elements(values.squeeze(tuple(range(values.ndim - len(own)))), shape, x.dtype)
    write(x, places(), source, 1 if accumulate else 0)


# -------------------------------------------------------------------------------------- joining
@without_out
def cat(arrays: Sequence[Any], dim: int) -> Any:
    """Joins arrays along a dim. A 1-d one without elements joins anything."""
    if not arrays:
        raise RuntimeError("torch.cat(): expected a non-empty list of Tensors")
    if any(x.ndim == 0 for x in arrays):
        raise RuntimeError("zero-dimensional tensor (at position 0) cannot be concatenated")
    parts = {i: x for i, x in enumerate(arrays) if x.shape != (0,)} or {0: arrays[0]}
    first = next(iter(parts.values()))
    d = wrap_dim(dim, first.ndim)
    for position, x in parts.items():
        if x.ndim != first.ndim:
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {first.ndim} and {x.ndim}"
            )
        for k, (n, m) in enumerate(zip(first.shape, x.shape, strict=True)):
            if k != d and n != m:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {d}. Expected size {n} but "
                    f"got size {m} for tensor number {position} in the list."
                )
    total = sum(x.shape[d] for x in parts.values())
    shape = (*first.shape[:d], total, *first.shape[d + 1 :])
    out = first._new(shape, result_type(*arrays))
    start = 0
    for x in parts.values():
        out.slice(d, start, start + x.shape[d], 1).copy_(x)
        start += x.shape[d]
    return out


@without_out
def stack(arrays: Sequence[Any], dim: int) -> Any:
    """Joins arrays of one shape along a new dim."""
    if not arrays:
        raise RuntimeError("stack expects a non-empty TensorList")
    shape = arrays[0].shape
    dim = wrap_dim(dim, len(shape) + 1)
    for i, x in enumerate(arrays):
        if x.shape != shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 and "
                f"{list(x.shape)} at entry {i}"
            )
    return cat([x.unsqueeze(dim) for x in arrays], dim)


METHODS = {
    "max_along": max_along,
    "min_along": min_along,
    "gather": gather,
    "scatter_": scatter,
    "index_select": index_select,
    "index_place_": index_place,
    "take": take,
    "put_": put,
    "masked_select": masked_select,
    "masked_fill_": masked_fill,
    "masked_scatter_": masked_scatter,
    "flip": flip,
    "roll": roll,
    "split": split,
    "unbind": unbind,
    "tolist": tolist,
    "triangle": triangle,
    "repeated_positions": repeated_positions,
    "nonzero": nonzero,
    "index": index,
    "index_put_": index_put,
}
