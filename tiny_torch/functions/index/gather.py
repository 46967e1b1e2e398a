"""Functions with a position for each element, along one dim: gather, scatter and their family."""

from __future__ import annotations

import functools
import warnings
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply, apply_inplace
from tiny_torch.functions.common import applied_same, check_dim_exists, check_kind, into_same
from tiny_torch.functions.index.values import check_mean, checked_number
from tiny_torch.functions.public import function_and_method, method
from tiny_torch.ops.common import refuse_overlap
from tiny_torch.ops.index.brackets import ADD, MULTIPLY
from tiny_torch.ops.index.gather import (
    REDUCTIONS,
    Gather,
    Scatter,
    ScatterAdd,
    ScatterCombine,
    ScatterReduce,
)
from tiny_torch.ops.shape.join import broadcast_shapes
from tiny_torch.ops.shape.views import wrap_dim
from tiny_torch.tensor import Tensor

# ---------------------------------------------------------------------------------------- gather


@function_and_method
def gather(
    input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False, out: Tensor | None = None
) -> Tensor:
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
    if out is not None:
        refuse_overlap(out, (input,), (index,))
    return applied_same("gather", out, Gather, (input, index), dim)


@function_and_method
def take_along_dim(
    input: Tensor, indices: Tensor, dim: int | None = None, *, out: Tensor | None = None
) -> Tensor:
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
        return gather(input.view(-1), 0, indices.view(-1), out=out)
    ndim = input.array.ndim
    if indices.array.ndim != ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {ndim} dimensions for input, and {indices.array.ndim} dimensions for indices"
        )
    check_dim_exists(input, dim)
    dim = wrap_dim(dim, ndim)
    sizes, picks = list(input.array.shape), list(indices.array.shape)
    size, pick, sizes[dim], picks[dim] = sizes[dim], picks[dim], 1, 1
    shape = list(broadcast_shapes(sizes, picks))
    input = input.expand(*shape[:dim], size, *shape[dim + 1 :])
    if size:
        indices = indices % size  # from the end below 0, and around beyond it, as PyTorch does
    indices = indices.expand(*shape[:dim], pick, *shape[dim + 1 :])
    return gather(input, dim, indices, out=out)


# --------------------------------------------------------------------------------------- scatter


def scatter_arguments(name: str, self: Tensor, index: Any, src: Any, value: Any) -> Any:
    """What a scatter writes: a tensor cut to the index's shape, or a number that fits."""
    source = value if src is None else src
    if not isinstance(source, Tensor):
        return checked_number(source, self)
    if source.array.same_shape(index.array):
        return source
    shape, wanted = source.array.shape, index.array.shape
    if len(shape) == len(wanted) and all(n <= m for n, m in zip(wanted, shape, strict=True)):
        source = source[tuple([slice(0, n) for n in wanted])]
    return source


@functools.cache  # once in a process, as PyTorch
def warn_of_reduce() -> None:
    warnings.warn(
        "The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in "
        "a future PyTorch release. Use torch.scatter_reduce instead for more reduction options.",
        stacklevel=4,
    )


def scatter_operation(name: str, src: Any, reduce: Any) -> tuple:
    """(op, what follows the dim) for scatter's `reduce`."""
    if reduce is None:
        return Scatter, ()
    if isinstance(src, Tensor):
        warn_of_reduce()
    check_kind(name, "reduce", None, reduce, "str", str)
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    return ScatterCombine, (ADD if reduce == "add" else MULTIPLY,)


@function_and_method
def scatter(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Any = None,
    *,
    value: Any = None,
    reduce: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """A copy with elements written along a dim: result[index[i, j], j] = src[i, j] for dim 0.

    `src` is a tensor of the input's dtype, or a number; with reduce="add" or "multiply" it is
    combined with what is there, and there is no gradient. Raises RuntimeError where shapes or
    dtypes do not fit, or the index points outside.
    https://pytorch.org/docs/stable/generated/torch.scatter.html

    >>> import tiny_torch as torch
    >>> torch.scatter(torch.zeros(2, 3), 1, torch.tensor([[0], [2]]), 1.0)
    tensor([[1., 0., 0.],
            [0., 0., 1.]])
    """
    op, place = scatter_operation("scatter", src, reduce)
    source = scatter_arguments("scatter", input, index, src, value)
    refuse_overlap(out, (index, source), (input,))
    return into_same(out, apply(op, input, source, index, dim, *place), "scatter")


@method
def scatter_(
    self: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: Any = None
) -> Tensor:
    """scatter in place. https://pytorch.org/docs/stable/generated/torch.Tensor.scatter_.html"""
    op, place = scatter_operation("scatter_", src, reduce)
    source = scatter_arguments("scatter_", self, index, src, value)
    if not place:
        return apply_inplace(op, self, source, index, dim)
    return apply_inplace(op, self, source, index, dim, *place)


@function_and_method
def scatter_add(
    input: Tensor, dim: int, index: Tensor, src: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """A copy with elements added along a dim: result[index[i, j], j] += src[i, j] for dim 0.

    https://pytorch.org/docs/stable/generated/torch.scatter_add.html

    >>> import tiny_torch as torch
    >>> torch.scatter_add(torch.zeros(2), 0, torch.tensor([1, 1]), torch.ones(2))
    tensor([0., 2.])
    """
    source = scatter_arguments("scatter_add", input, index, src, None)
    refuse_overlap(out, (index, source), (input,))
    return into_same(out, apply(ScatterAdd, input, source, index, dim), "scatter_add")


@method
def scatter_add_(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """scatter_add in place."""
    source = scatter_arguments("scatter_add_", self, index, src, None)
    return apply_inplace(ScatterAdd, self, source, index, dim)


def scatter_reduce_arguments(
    name: str, x: Tensor, index: Any, src: Any, reduce: Any
) -> tuple[Any, str]:
    """The source, and the reduction by its one name."""
    reduce = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    if reduce not in REDUCTIONS:
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    check_mean(name, reduce, x)
    return scatter_arguments(name, x, index, src, None), reduce


@function_and_method
def scatter_reduce(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
    out: Tensor | None = None,
) -> Tensor:
    """A copy with elements combined along a dim by "sum", "prod", "mean", "amax" or "amin".

    result[index[i, j], j] = reduce(input[index[i, j], j], all src[i, j] that go there) for dim 0;
    without `include_self` of the latter only. "max" and "min" are "amax" and "amin". Raises
    RuntimeError as scatter does.
    https://pytorch.org/docs/stable/generated/torch.Tensor.scatter_reduce.html

    >>> import tiny_torch as torch
    >>> x, index = torch.tensor([5.0, 5.0]), torch.tensor([1, 1])
    >>> torch.scatter_reduce(x, 0, index, torch.tensor([7.0, 9.0]), "mean")
    tensor([5., 7.])
    """
    source, reduce = scatter_reduce_arguments("scatter_reduce", input, index, src, reduce)
    refuse_overlap(out, (index, source), (input,))
    result = apply(ScatterReduce, input, source, index, dim, reduce, include_self)
    return into_same(out, result, "scatter_reduce")


@method
def scatter_reduce_(
    self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """scatter_reduce in place."""
    source, reduce = scatter_reduce_arguments("scatter_reduce_", self, index, src, reduce)
    refuse_overlap(self, (index, source))  # scatter_ does, but there are two calls of it
    return apply_inplace(ScatterReduce, self, source, index, dim, reduce, include_self)
