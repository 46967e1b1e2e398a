"""Views of some elements: select, narrow, diagonal, unfold, as_strided."""

from __future__ import annotations

from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply_view
from tiny_torch.autograd.writes import AsStrided, origin_of
from tiny_torch.base.arguments import as_int, as_ints
from tiny_torch.base.layouts import contiguous_format
from tiny_torch.functions.common import into_same
from tiny_torch.functions.offsets import offset_of
from tiny_torch.functions.public import function, function_and_method, method
from tiny_torch.ops.shape.views import Diagonal, Select, Slice, Unfold, apply_view_inplace, wrap_dim
from tiny_torch.tensor import Tensor


def index_of(function: str, argument: str, value: Any) -> int:
    if isinstance(value, Tensor):
        return int(value.item())
    return as_int(function, argument, 2, value)


@function_and_method
def select(input: Tensor, dim: int, index: Any) -> Tensor:
    """A view of one position along a dim, which is gone then.

    Raises IndexError where there is no such position.
    https://pytorch.org/docs/stable/generated/torch.select.html

    >>> import tiny_torch as torch
    >>> torch.select(torch.tensor([[1, 2], [3, 4]]), 1, 0)
    tensor([1, 3])
    """
    return apply_view(Select, input, (("select", (dim, index_of("select", "index", index))),))


@function_and_method
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """A view of `length` positions along a dim, from `start`.

    Raises IndexError or RuntimeError where they are not all there.
    https://pytorch.org/docs/stable/generated/torch.narrow.html

    >>> import tiny_torch as torch
    >>> torch.narrow(torch.arange(5), 0, 1, 3)
    tensor([1, 2, 3])
    """
    shape = input.array.shape
    if isinstance(start, Tensor) and (
        start.array.ndim or start.dtype is _core.bool or start.dtype.is_floating_point
    ):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    start = index_of("narrow", "start", start)
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    dim = wrap_dim(dim, len(shape))
    size = shape[dim]
    if not -size <= start <= size:
        raise IndexError(
            f"start out of range (expected to be in range of [{-size}, {size}], but got {start})"
        )
    start += size if start < 0 else 0
    if start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return apply_view(Slice, input, (("slice", (dim, start, start + length, 1)),))


@function_and_method
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A view of the diagonal of two dims, as the last dim; `offset` counts to the right.

    https://pytorch.org/docs/stable/generated/torch.diagonal.html

    >>> import tiny_torch as torch
    >>> torch.diagonal(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    return apply_view(Diagonal, input, (("diagonal", (offset, dim1, dim2)),))


@method
def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """A view of all windows of `size` along a dim, `step` apart; the last dim is in the window.

    Raises RuntimeError where the dim is shorter than a window.
    https://pytorch.org/docs/stable/generated/torch.Tensor.unfold.html

    >>> import tiny_torch as torch
    >>> torch.arange(5).unfold(0, 3, 2)
    tensor([[0, 1, 2],
            [2, 3, 4]])
    """
    return apply_view(Unfold, self, dimension, size, step)


@function
def unfold_copy(
    input: Tensor, dimension: int, size: int, step: int, *, out: Tensor | None = None
) -> Tensor:
    """`Tensor.unfold`, into memory of its own: all windows of `size` along a dim, `step` apart.

    Raises RuntimeError where the dim is shorter than a window. Source: PyTorch, torch.unfold_copy.

    >>> import tiny_torch as torch
    >>> torch.unfold_copy(torch.arange(5), 0, 3, 2)
    tensor([[0, 1, 2],
            [2, 3, 4]])
    """
    windows = unfold(input, dimension, size, step)
    return into_same(out, windows.clone(memory_format=contiguous_format), "unfold_copy")


@function_and_method
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A view of the input's memory with any shape, strides and offset (the input's if None).

    Raises RuntimeError where it would leave the memory.
    https://pytorch.org/docs/stable/generated/torch.as_strided.html

    >>> import tiny_torch as torch
    >>> torch.as_strided(torch.arange(9), (3,), (4,))
    tensor([0, 4, 8])
    """
    return apply_view(AsStrided, input, *strided_arguments(input, size, stride, storage_offset))


def strided_arguments(x: Tensor, size: Any, stride: Any, storage_offset: int | None) -> tuple:
    size = as_ints("as_strided", "size", None, size)
    stride = as_ints("as_strided", "stride", None, stride)
    offset = 0 if storage_offset is None else storage_offset - offset_of(x.array)
    return origin_of(x.array), size, stride, offset


@function_and_method
def as_strided_(self: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """as_strided in place."""
    arguments = strided_arguments(self, size, stride, storage_offset)
    return apply_view_inplace(AsStrided, self, *arguments)
