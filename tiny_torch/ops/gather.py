"""Functions that index along a dim or by index tensors: gather, scatter, index_*."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply1, apply_inplace, applyn
from tiny_torch.autograd.graph import Op, run
from tiny_torch.devices import array_module
from tiny_torch.ops.indexing import Index, IndexPut, as_values, checked_number
from tiny_torch.ops.join import broadcast_shapes
from tiny_torch.ops.public import check_tensor
from tiny_torch.ops.views import wrap_dim, zeros
from tiny_torch.tensor import Tensor

# ------------------------------------------------------------------------------------------- ops


def fresh(x: Any) -> Any:
    """A contiguous copy."""
    return x.clone() if x.is_contiguous() else x.contiguous()


class Gather(Op):
    """result[i, j] = x[index[i, j], j] for dim 0."""

    arity = 2
    saves = (1,)

    @staticmethod
    def forward(x, index, dim):
        return x.gather(dim, index), (index, x.shape, dim)

    @staticmethod
    def backward(saved, grad, needs):
        index, shape, dim = saved
        return run(ScatterAdd, zeros(grad, shape), grad, index, dim), None


class ScatterAdd(Op):
    """x with source added: result[index[i, j], j] += source[i, j] for dim 0."""

    arity = 3
    saves = (2,)

    @staticmethod
    def forward(x, source, index, dim, out=None):
        result = fresh(x) if out is None else out
        result.scatter_add_(dim, index, source)
        return result, (index, dim)

    @staticmethod
    def backward(saved, grad, needs):
        index, dim = saved
        return grad, run(Gather, grad, index, dim) if needs[1] else None, None


class Scatter(Op):
    """x with source, or one number, written: result[index[i, j], j] = source[i, j] for dim 0."""

    arity = 3
    saves = (2,)

    @staticmethod
    def forward(x, source, index, dim, out=None):
        result = fresh(x) if out is None else out
        if not hasattr(source, "shape"):
            source = array_module(x.device).full((), source, x.dtype).expand(index.shape)
        result.scatter_(dim, index, source)
        return result, (index, dim)

    @staticmethod
    def backward(saved, grad, needs):
        index, dim = saved
        return (
            run(Scatter, grad, 0, index, dim) if needs[0] else None,
            run(Gather, grad, index, dim) if needs[1] else None,
            None,
        )


class IndexSelect(Index):
    """Index, but the result is always contiguous."""

    @staticmethod
    def forward(x, *indices):
        result = x.index(indices) if x.ndim else x.clone()
        return result.contiguous(), (x.shape, *indices[: x.ndim])


# ---------------------------------------------------------------------------------- along one dim


def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """Elements picked along a dim: result[i, j] = input[index[i, j], j] for dim 0.

    `index` is an int64 tensor of as many dims, no larger elsewhere. Raises RuntimeError where it
    does not fit, or points outside. https://pytorch.org/docs/stable/generated/torch.gather.html

    >>> import tiny_torch as torch
    >>> torch.gather(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([[0], [1]]))
    tensor([[1],
            [4]])
    """
    if sparse_grad:
        raise NotImplementedError("gather(sparse_grad=True)")
    check_tensor("gather", "index", 3, index)
    return applyn(Gather, (input, index), dim)


def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """gather, with input and indices broadcast; over the flat input without `dim`.

    https://pytorch.org/docs/stable/generated/torch.take_along_dim.html

    >>> import tiny_torch as torch
    >>> torch.take_along_dim(torch.tensor([[3, 1], [2, 4]]), torch.tensor([[1]]), 1)
    tensor([[1],
            [4]])
    """
    if indices.array.dtype is not _core.int64:
        raise RuntimeError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {indices.array.dtype}"
        )
    if dim is None:
        return gather(input.view(-1), 0, indices.view(-1))
    ndim = input.array.ndim
    if indices.array.ndim != ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {ndim} dimensions for input, and {indices.array.ndim} dimensions for indices"
        )
    dim = wrap_dim(dim, ndim)
    sizes, picks = list(input.array.shape), list(indices.array.shape)
    if ndim:
        size, pick, sizes[dim], picks[dim] = sizes[dim], picks[dim], 1, 1
        shape = list(broadcast_shapes(sizes, picks))
        input = input.expand(*shape[:dim], size, *shape[dim + 1 :])
        indices = indices.expand(*shape[:dim], pick, *shape[dim + 1 :])
    return gather(input, dim, indices)


def scatter_arguments(name: str, self: Tensor, index: Tensor, src: Any, value: Any, reduce: Any):
    """What a scatter writes: a tensor cut to the index's shape, or a number that fits."""
    if reduce is not None:
        raise NotImplementedError(f"{name}(reduce={reduce!r})")
    check_tensor(name, "index", 2, index)
    source = value if src is None else src
    if not isinstance(source, Tensor):
        return checked_number(source, self)
    shape, wanted = source.array.shape, index.array.shape
    fits = len(shape) == len(wanted) and all(n <= m for n, m in zip(wanted, shape, strict=True))
    if shape != wanted and fits:
        source = source[tuple([slice(0, n) for n in wanted])]
    return source


def scatter(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Any = None,
    *,
    value: Any = None,
    reduce: Any = None,
) -> Tensor:
    """A copy with elements written along a dim: result[index[i, j], j] = src[i, j] for dim 0.

    `src` is a tensor of the input's dtype, or a number. Raises RuntimeError where shapes or dtypes
    do not fit, or the index points outside.
    https://pytorch.org/docs/stable/generated/torch.scatter.html

    >>> import tiny_torch as torch
    >>> torch.scatter(torch.zeros(2, 3), 1, torch.tensor([[0], [2]]), 1.0)
    tensor([[1., 0., 0.],
            [0., 0., 1.]])
    """
    source = scatter_arguments("scatter", input, index, src, value, reduce)
    return applyn(Scatter, (input, source, index), dim)


def scatter_(
    self: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: Any = None
) -> Tensor:
    """scatter in place. https://pytorch.org/docs/stable/generated/torch.Tensor.scatter_.html"""
    source = scatter_arguments("scatter_", self, index, src, value, reduce)
    return apply_inplace(Scatter, self, source, index, dim)


def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """A copy with elements added along a dim: result[index[i, j], j] += src[i, j] for dim 0.

    https://pytorch.org/docs/stable/generated/torch.scatter_add.html

    >>> import tiny_torch as torch
    >>> torch.scatter_add(torch.zeros(2), 0, torch.tensor([1, 1]), torch.ones(2))
    tensor([0., 2.])
    """
    check_tensor("scatter_add", "src", 3, src)
    source = scatter_arguments("scatter_add", input, index, src, None, None)
    return applyn(ScatterAdd, (input, source, index), dim)


def scatter_add_(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """scatter_add in place."""
    check_tensor("scatter_add_", "src", 3, src)
    source = scatter_arguments("scatter_add_", self, index, src, None, None)
    return apply_inplace(ScatterAdd, self, source, index, dim)


# ------------------------------------------------------------------------------- slices along a dim


def vector(name: str, x: Tensor, dim: int, index: Tensor, error: Any, negative: bool) -> tuple:
    """(leading Nones, index array) for positions along a dim; raises `error` where one is not."""
    check_tensor(name, "index", 2, index)
    array = index.array
    if array.dtype is not _core.int64 and array.dtype is not _core.int32:
        raise RuntimeError(f"{name}(): Expected dtype int32 or int64 for index")
    if array.ndim > 1:
        kind = RuntimeError if negative else IndexError
        raise kind(f"{name}(): Index is supposed to be a vector")
    dim = wrap_dim(dim, x.array.ndim)
    size = x.array.shape[dim] if x.array.ndim else 1
    if array.size:
        low, high = array.amin().item(), array.amax().item()
        if low < (-size if negative else 0) or high >= size:
            wrong = high if high >= size else low
            raise error(f"index {wrong} is out of bounds for dimension {dim} with size {size}")
    return (None,) * dim + (array.reshape((-1,)),)


def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Slices along a dim, picked by a vector of positions.

    Raises IndexError where a position is not there.
    https://pytorch.org/docs/stable/generated/torch.index_select.html

    >>> import tiny_torch as torch
    >>> torch.index_select(torch.tensor([[1, 2], [3, 4]]), 0, torch.tensor([1, 1]))
    tensor([[3, 4],
            [3, 4]])
    """
    indices = vector("index_select", input, dim, index, IndexError, False)
    return apply1(IndexSelect, input, *indices)


def index_add_arguments(name: str, x: Tensor, dim: int, index: Any, source: Any, alpha: Any):
    check_tensor(name, "source", 3, source)
    outside = IndexError if name.startswith("index_copy") else RuntimeError
    indices = vector(name, x, dim, index, outside, False)
    own, other = x.array, source.array
    if own.dtype is not other.dtype:
        raise RuntimeError(
            f"{name}(): self ({own.dtype}) and source ({other.dtype}) must have the same scalar "
            "type"
        )
    dim = wrap_dim(dim, own.ndim)
    count = other.shape[dim] if dim < other.ndim else 1
    if indices[-1].size != count:
        raise RuntimeError(
            f"{name}(): Number of indices ({indices[-1].size}) should be equal to "
            f"source.size(dim): ({count}), for dim: {dim}"
        )
    if own.shape[:dim] + own.shape[dim + 1 :] != other.shape[:dim] + other.shape[dim + 1 :] or (
        own.ndim != other.ndim
    ):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {list(own.shape)} source.shape = {list(other.shape)}"
        )
    return indices, source if alpha == 1 else source * alpha


def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """A copy with alpha * source added to slices along a dim; positions may repeat.

    Raises RuntimeError where shapes or dtypes differ, or a position is not there.
    https://pytorch.org/docs/stable/generated/torch.Tensor.index_add_.html

    >>> import tiny_torch as torch
    >>> torch.index_add(torch.zeros(2), 0, torch.tensor([1, 1]), torch.ones(2))
    tensor([0., 2.])
    """
    indices, source = index_add_arguments("index_add", input, dim, index, source, alpha)
    if not input.array.ndim:
        return input + source
    return applyn(IndexPut, (input.contiguous(), source), True, *indices)


def index_add_(self: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """index_add in place."""
    indices, source = index_add_arguments("index_add_", self, dim, index, source, alpha)
    if not self.array.ndim:
        return self.add_(source)
    return apply_inplace(IndexPut, self, source, True, *indices)


def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """A copy with slices along a dim replaced by those of source.

    https://pytorch.org/docs/stable/generated/torch.Tensor.index_copy_.html
    """
    indices, source = index_add_arguments("index_copy", input, dim, index, source, 1)
    return applyn(IndexPut, (input.contiguous(), source), False, *indices)


def index_copy_(self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """index_copy in place."""
    indices, source = index_add_arguments("index_copy_", self, dim, index, source, 1)
    return apply_inplace(IndexPut, self, source, False, *indices)


def index_fill_arguments(name: str, x: Tensor, dim: int, index: Any, value: Any):
    indices = vector(name, x, dim, index, IndexError, True)
    if isinstance(value, Tensor):
        if value.array.ndim:
            raise RuntimeError(
                f"{name} only supports a 0-dimensional value tensor, but got tensor with "
                f"{value.array.ndim} dimension(s)."
            )
        value = value.to(x.array.dtype)
    else:
        value = checked_number(value, x)
    return indices, as_values(value, x.array)


def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """A copy with one value in slices along a dim. `value` is a number or a 0-d tensor.

    https://pytorch.org/docs/stable/generated/torch.Tensor.index_fill_.html

    >>> import tiny_torch as torch
    >>> torch.index_fill(torch.zeros(3), 0, torch.tensor([0, 2]), 1)
    tensor([1., 0., 1.])
    """
    indices, value = index_fill_arguments("index_fill_", input, dim, index, value)
    return applyn(IndexPut, (input, value), False, *indices)


def index_fill_(self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """index_fill in place."""
    indices, value = index_fill_arguments("index_fill_", self, dim, index, value)
    return apply_inplace(IndexPut, self, value, False, *indices)


def index_arrays(name: str, indices: Any) -> list:
    if not isinstance(indices, tuple | list):
        raise TypeError(
            f"{name}(): argument 'indices' (position 1) must be tuple of Tensors, not "
            f"{type(indices).__name__}"
        )
    for position, index in enumerate(indices):
        if not isinstance(index, Tensor):
            raise TypeError(
                f"expected Tensor as element {position} in argument 0, but got "
                f"{type(index).__name__}"
            )
    return [index.array for index in indices]


def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with values written (or added) at the positions of index tensors, one per dim.

    Values broadcast. Raises IndexError where a position is not there, RuntimeError where values
    have another dtype or do not fit.
    https://pytorch.org/docs/stable/generated/torch.Tensor.index_put_.html

    >>> import tiny_torch as torch
    >>> torch.index_put(torch.zeros(3), (torch.tensor([0, 0]),), torch.ones(2), accumulate=True)
    tensor([2., 0., 0.])
    """
    check_tensor("index_put", "values", 2, values)
    return applyn(IndexPut, (input, values), accumulate, *index_arrays("index_put", indices))


def index_put_(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """index_put in place."""
    check_tensor("index_put_", "values", 2, values)
    arrays = index_arrays("index_put_", indices)
    return apply_inplace(IndexPut, self, values, accumulate, *arrays)


SHARED: dict[str, Callable] = {
    function.__name__: function
    for function in (
        gather, take_along_dim, scatter, scatter_add, index_select, index_add, index_copy,
        index_fill, index_put,
    )
}  # fmt: skip
FUNCTIONS: dict[str, Callable] = {**SHARED, "index_put_": index_put_}
METHODS: dict[str, Callable] = {
    **SHARED,
    **{
        function.__name__: function
        for function in (
            scatter_, scatter_add_, index_add_, index_copy_, index_fill_, index_put_,
        )
    },
}  # fmt: skip
