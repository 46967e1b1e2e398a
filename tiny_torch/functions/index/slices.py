"""Functions with a position for each slice along a dim (index_select, index_add, ...), or for each
element of the flat tensor (take, put).
"""

from __future__ import annotations

from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply, apply_inplace
from tiny_torch.autograd.op_mode import as_one
from tiny_torch.base.arguments import as_number
from tiny_torch.functions.common import applied_same, as_tensors, into_same
from tiny_torch.functions.index.values import (
    check_mean,
    checked_number,
    single_value,
    warn_expanded,
)
from tiny_torch.functions.public import function_and_method, method
from tiny_torch.ops.common import refuse_overlap
from tiny_torch.ops.index.brackets import IndexPut
from tiny_torch.ops.index.gather import REDUCTIONS
from tiny_torch.ops.index.slices import (
    IndexAdd,
    IndexCopy,
    IndexFill,
    IndexReduce,
    IndexSelect,
    Put,
    Take,
)
from tiny_torch.ops.shape.views import wrap_dim
from tiny_torch.tensor import Tensor, wrap

# fits_slices(x, dim, index, source): whether all is as most often: source of x's shape and dtype, a
# vector of as many int64 positions as there are slices.
fits_slices = _core.fits_slices


# ------------------------------------------------------------------------------- slices along a dim


@function_and_method
def index_select(input: Tensor, dim: int, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Slices along a dim, picked by a vector of positions.

    Raises IndexError where a position is not there.
    https://pytorch.org/docs/stable/generated/torch.index_select.html

    >>> import tiny_torch as torch
    >>> torch.index_select(torch.tensor([[1, 2], [3, 4]]), 0, torch.tensor([1, 1]))
    tensor([[3, 4],
            [3, 4]])
    """
    array = input.array
    empty = not array.size and array.ndim > 1
    if empty and index.array.size and not array.shape[wrap_dim(dim, array.ndim)]:
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    if out is not None:
        refuse_overlap(out, (input, index))
    return applied_same("index_select", out, IndexSelect, (input, index), dim)


def check_slices(name: str, x: Tensor, dim: int, index: Any, source: Any) -> None:
    """Raises unless source has a slice for each position of a vector, of x's dtype."""
    if fits_slices(x, dim, index, source):
        return
    own, other, vector = x.array, source.array, index.array
    shape, others, dtype = own.shape, other.shape, vector.dtype
    dim = wrap_dim(dim, len(shape))
    copies = name.startswith("index_copy")
    if vector.ndim > 1:
        raise IndexError(f"{name}(): Index should have dimension 1 or 0 (got {vector.ndim})")
    if dtype is not _core.int64 and (copies or dtype is not _core.int32):
        raise RuntimeError(f"{name}(): Expected a long tensor for index, but got {dtype}")
    if own.dtype is not other.dtype:
        raise RuntimeError(
            f"{name}(): self ({own.dtype}) and source ({other.dtype}) must have the same scalar "
            "type"
        )
    if copies and own.ndim != other.ndim and own.ndim and other.ndim:
        raise IndexError(
            f"{name}(): When source and destination are not scalars, their dimensionality must "
            f"match. Source dimensionality ({other.ndim}), destination dimensionality ({own.ndim})"
        )
    fits = shape[:dim] + shape[dim + 1 :] == others[:dim] + others[dim + 1 :]
    if own.ndim != other.ndim and not copies:
        fits = False
    count = others[dim] if dim < len(others) else 1
    if vector.size != count:
        kind = IndexError if copies else RuntimeError
        raise kind(
            f"{name}(): Number of indices ({vector.size}) should be equal to source.size(dim): "
            f"({count}), for dim: {dim}"
        )
    if not fits:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {list(shape)} source.shape = {list(others)}"
        )


def scale_source(x: Tensor, source: Tensor, alpha: Any) -> Tensor:
    """source * alpha, which is first converted to x's dtype."""
    if type(alpha) is int and alpha == 1:
        return source
    alpha = checked_number(as_number("index_add", "alpha", None, alpha), x)
    if alpha == 1:
        return source
    dtype = x.array.dtype
    if not dtype.is_floating_point:
        alpha = bool(alpha) if dtype is _core.bool else int(alpha)
    return source * alpha


@function_and_method
def index_add(
    input: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    *,
    alpha: Any = 1,
    out: Tensor | None = None,
) -> Tensor:
    """A copy with alpha * source added to slices along a dim; positions may repeat.

    Raises RuntimeError where shapes or dtypes differ, or a position is not there.
    https://pytorch.org/docs/stable/generated/torch.Tensor.index_add_.html

    >>> import tiny_torch as torch
    >>> torch.index_add(torch.zeros(2), 0, torch.tensor([1, 1]), torch.ones(2))
    tensor([0., 2.])
    """
    check_slices("index_add", input, dim, index, source)
    refuse_overlap(out, (index, source), (input,))
    source = scale_source(input, source, alpha)
    return into_same(out, apply(IndexAdd, input, source, index, dim), "index_add")


@method
def index_add_(self: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """index_add in place."""
    check_slices("index_add_", self, dim, index, source)
    refuse_overlap(self, (index, source))
    if type(alpha) is not int or alpha != 1:
        source = scale_source(self, source, alpha)
    return apply_inplace(IndexAdd, self, source, index, dim)


@function_and_method
def index_copy(
    input: Tensor, dim: int, index: Tensor, source: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """A copy with slices along a dim replaced by those of source.

    https://pytorch.org/docs/stable/generated/torch.Tensor.index_copy_.html

    >>> import tiny_torch as torch
    >>> torch.index_copy(torch.zeros(3), 0, torch.tensor([2, 0]), torch.tensor([5.0, 6.0]))
    tensor([6., 0., 5.])
    """
    check_slices("index_copy", input, dim, index, source)
    refuse_overlap(out, (index, source), (input,))
    return into_same(out, apply(IndexCopy, input, source, index, dim), "index_copy")


@method
def index_copy_(self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """index_copy in place."""
    check_slices("index_copy_", self, dim, index, source)
    refuse_overlap(self, (index, source))
    return apply_inplace(IndexCopy, self, source, index, dim)


def index_reduce_arguments(
    name: str, x: Tensor, dim: int, index: Any, source: Any, reduce: Any
) -> tuple:
    """(index with source's shape, source), for ScatterReduce."""
    if reduce not in REDUCTIONS or reduce == "sum":
        raise RuntimeError(
            f"{name}(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}."
        )
    check_slices(name, x, dim, index, source)
    check_mean(name, reduce, x)
    array, shape = index.array, source.array.shape
    if array.size and not 0 <= array.amin().item() <= array.amax().item() < (
        x.array.shape[dim] if shape else 1
    ):
        raise IndexError("index out of range in self")
    sizes = [1] * len(shape)
    if shape:
        sizes[dim] = array.size
    return wrap(array.reshape(tuple(sizes)).expand(shape)).long(), source


@function_and_method
@as_one
def index_reduce(
    input: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
    out: Tensor | None = None,
) -> Tensor:
    """A copy with slices along a dim combined with source's by "prod", "mean", "amax" or "amin".

    Without `include_self` what was there does not count.
    https://pytorch.org/docs/stable/generated/torch.Tensor.index_reduce_.html

    >>> import tiny_torch as torch
    >>> x, index = torch.tensor([2.0, 3.0]), torch.tensor([0, 0])
    >>> torch.index_reduce(x, 0, index, torch.tensor([5.0, 7.0]), "prod")
    tensor([70.,  3.])
    """
    index, source = index_reduce_arguments("index_reduce", input, dim, index, source, reduce)
    refuse_overlap(out, (index, source), (input,))
    result = apply(IndexReduce, input, source, index, dim, reduce, include_self)
    return into_same(out, result, "index_reduce")


@method
def index_reduce_(
    self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """index_reduce in place."""
    index, source = index_reduce_arguments("index_reduce_", self, dim, index, source, reduce)
    return apply_inplace(IndexReduce, self, source, index, dim, reduce, include_self)


def index_fill_value(name: str, x: Tensor, dim: int, index: Any, value: Any) -> Any:
    wrap_dim(dim, x.array.ndim)
    if index.array.dtype is not _core.int64:
        raise IndexError(f"{name}(): Expected dtype int64 for index.")
    if index.array.ndim > 1:
        raise RuntimeError(f"{name}(): Index is supposed to be a vector")
    return single_value(name, value, x)


@function_and_method
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """A copy with one value in slices along a dim. `value` is a number or a 0-d tensor.

    https://pytorch.org/docs/stable/generated/torch.Tensor.index_fill_.html

    >>> import tiny_torch as torch
    >>> torch.index_fill(torch.zeros(3), 0, torch.tensor([0, 2]), 1)
    tensor([1., 0., 1.])
    """
    value = index_fill_value("index_fill_", input, dim, index, value)
    return apply(IndexFill, input, value, index, dim)


@method
def index_fill_(self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """index_fill in place."""
    value = index_fill_value("index_fill_", self, dim, index, value)
    warn_expanded("index_fill_", self.array)
    return apply_inplace(IndexFill, self, value, index, dim)


# ------------------------------------------------------------------------- of the flat tensor


@function_and_method
def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Elements of the flat input, in the shape of an int64 index; below 0 from the end.

    Raises IndexError where one is not there.
    https://pytorch.org/docs/stable/generated/torch.take.html

    >>> import tiny_torch as torch
    >>> torch.take(torch.tensor([[4, 3], [2, 1]]), torch.tensor([0, -1]))
    tensor([4, 1])
    """
    refuse_overlap(out, (input, index))
    return applied_same("take", out, Take, (input, index))


@function_and_method
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with source's elements at positions of the flat input, written or added.

    Raises IndexError where a position is not there, or the numbers of elements differ.
    https://pytorch.org/docs/stable/generated/torch.Tensor.put_.html

    >>> import tiny_torch as torch
    >>> torch.put(torch.zeros(2, 2), torch.tensor([3, 0]), torch.tensor([5.0, 6.0]))
    tensor([[6., 0.],
            [0., 5.]])
    """
    return apply(Put, input, source, index, accumulate)


@method
def put_(self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """put in place."""
    return apply_inplace(Put, self, source, index, accumulate)


# ------------------------------------------------------------------------------ one index per dim


def arrays_of(name: str, indices: Any) -> list:
    return [index.array for index in as_tensors(name, "indices", indices)]


@function_and_method
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with values written (or added) at the positions of index tensors, one per dim.

    Values broadcast. Raises IndexError where a position is not there, RuntimeError where values
    have another dtype or do not fit.
    https://pytorch.org/docs/stable/generated/torch.Tensor.index_put_.html

    >>> import tiny_torch as torch
    >>> torch.index_put(torch.zeros(3), (torch.tensor([0, 0]),), torch.ones(2), accumulate=True)
    tensor([2., 0., 0.])
    """
    return apply(IndexPut, input, values, accumulate, *arrays_of("index_put", indices))


@method
def index_put_(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """index_put in place."""
    arrays = arrays_of("index_put_", indices)
    warn_expanded("index_put_", self.array)
    return apply_inplace(IndexPut, self, values, accumulate, *arrays)
