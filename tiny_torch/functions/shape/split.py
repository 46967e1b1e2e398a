"""Taking tensors apart: split, chunk, unbind and their family.

Each is one op with several outputs, all views of the input's memory.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply_view
from tiny_torch.autograd.graph import Op
from tiny_torch.base.arguments import as_int, as_ints
from tiny_torch.functions.common import check_dim_exists
from tiny_torch.functions.public import function, function_and_method, method
from tiny_torch.ops.shape.split import Pieces, Rows
from tiny_torch.ops.shape.views import Slice, wrap_dim
from tiny_torch.tensor import Tensor

PIECE_BYTES = 256  # at least: a tensor and its array


@functools.lru_cache(maxsize=256)
def several(op: type[Op], name: str, count: int) -> type[Op]:
    """The op under PyTorch's name for it, with so many outputs."""
    return type(name, (op,), {"outputs": count})


def pieces(name: str, x: Tensor, dim: int, sizes: Sequence[int]) -> tuple:
    """Views of the next sizes[0], sizes[1], ... positions along a dim."""
    return apply_view(several(Pieces, name, len(sizes)), x, dim, sizes)


@function_and_method
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of all positions along a dim, which is gone then.

    https://pytorch.org/docs/stable/generated/torch.unbind.html

    >>> import tiny_torch as torch
    >>> torch.unbind(torch.tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """
    shape = input.array.shape
    check_dim_exists(input, dim)
    dim = wrap_dim(dim, len(shape))
    return apply_view(several(Rows, "Unbind", shape[dim]), input, dim)


def check_has_dims(function: str, x: Tensor) -> None:
    if not x.array.ndim:
        raise RuntimeError(f"{function} expects at least a 1-dimensional tensor")


@function
def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of pieces of one size along a dim (the last may be smaller), or of listed sizes.

    Raises RuntimeError where the sizes do not make up the dim, AttributeError for no tensor.
    https://pytorch.org/docs/stable/generated/torch.split.html

    >>> import tiny_torch as torch
    >>> torch.split(torch.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """
    return tensor.split(split_size_or_sections, dim)


@method("split")
def split_method(self: Tensor, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """torch.split"""
    if isinstance(split_size, (tuple, list)):
        return split_with_sizes(self, split_size, dim)
    check_has_dims("split", self)
    dim = wrap_dim(dim, self.array.ndim)
    size, each = self.array.shape[dim], as_int("split", "split_size", 1, split_size)
    if each < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={each}")
    if each == 0 and size:
        raise RuntimeError(
            f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}"
        )
    return pieces("Split", self, dim, equal_sizes(size, each))


def equal_sizes(size: int, each: int) -> list[int]:
    """How a size is cut into pieces of which all but the last, smaller one have a size."""
    if size == 0:
        return [0]
    rest = size % each
    return [each] * (size // each) + ([rest] if rest else [])


@function_and_method
def split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of pieces of listed sizes along a dim. RuntimeError where they do not make it up."""
    check_has_dims("split_with_sizes", input)
    sizes = as_ints("split_with_sizes", "split_sizes", None, split_sizes)
    dim = wrap_dim(dim, input.array.ndim)
    if any(size < 0 for size in sizes):
        raise RuntimeError(
            "split_with_sizes expects split_sizes have only non-negative entries, but got "
            f"split_sizes={list(sizes)}"
        )
    if sum(sizes) != input.array.shape[dim]:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {input.array.shape[dim]} "
            f"(input tensor's size at dimension {dim}), but got split_sizes={list(sizes)}"
        )
    return pieces("SplitWithSizes", input, dim, sizes)


@function_and_method
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of at most so many pieces along a dim, equal but for the last.

    https://pytorch.org/docs/stable/generated/torch.chunk.html

    >>> import tiny_torch as torch
    >>> torch.chunk(torch.arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    check_has_dims("chunk", input)
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    dim = wrap_dim(dim, input.array.ndim)
    size = input.array.shape[dim]
    if size == 0:  # so many empty pieces, rather than one
        _core.expect_memory(float(chunks) * PIECE_BYTES)
        return pieces("SplitWithSizes", input, dim, [0] * chunks)
    return pieces("Split", input, dim, equal_sizes(size, -(-size // chunks)))


def views_of(input: Tensor, parts: Sequence[Tensor], dim: int) -> tuple[Tensor, ...]:
    """The parts as views of one output each, which may be written in place."""
    starts = [0, *itertools.accumulate(part.shape[dim] for part in parts)]
    return tuple(input.narrow(dim, start, end - start) for start, end in itertools.pairwise(starts))


@function_and_method
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """torch.chunk, whose pieces may be written in place."""
    return views_of(input, chunk(input.detach(), chunks, dim), dim)


@function_and_method
def unsafe_split(input: Tensor, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """torch.split, whose pieces may be written in place."""
    return views_of(input, split(input.detach(), split_size, dim), dim)


@function_and_method
def unsafe_split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """torch.split_with_sizes, whose pieces may be written in place."""
    return views_of(input, split_with_sizes(input.detach(), split_sizes, dim), dim)


@function_and_method
def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of so many pieces along a dim, sizes differing by 1 at most; or cut at listed indices.

    https://pytorch.org/docs/stable/generated/torch.tensor_split.html

    >>> import tiny_torch as torch
    >>> torch.tensor_split(torch.arange(5), (1, 3))
    (tensor([0]), tensor([1, 2]), tensor([3, 4]))
    """
    if not input.array.ndim:
        raise RuntimeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    dim = wrap_dim(dim, input.array.ndim)
    size = input.array.shape[dim]
    if isinstance(indices_or_sections, Tensor):
        indices_or_sections = indices_or_sections.tolist()
    if not isinstance(indices_or_sections, (tuple, list)):
        count = as_int("tensor_split", "sections", None, indices_or_sections)
        if count <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {count}")
        _core.expect_memory(float(count) * PIECE_BYTES)
        cuts = tuple([i * (size // count) + min(i, size % count) for i in range(1, count)])
    else:
        cuts = as_ints("tensor_split", "indices", None, indices_or_sections)
    # Slices of their own, because listed cuts may overlap.
    bounds = zip((0, *cuts), (*cuts, size), strict=True)
    return tuple([apply_view(Slice, input, (("slice", (dim, a, b, 1)),)) for a, b in bounds])


def split_along(name: str, dim: int, least: int) -> Callable[..., tuple[Tensor, ...]]:
    def function(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
        ndim = input.array.ndim
        if ndim < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor "
                f"with {ndim} dimensions!"
            )
        along = 0 if ndim == 1 else dim
        size = input.array.shape[along]
        if isinstance(indices_or_sections, int) and size % max(indices_or_sections, 1):
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {along}, but the size of the "
                f"dimension {size} is not divisible by the split_size {indices_or_sections}!"
            )
        return tensor_split(input, indices_or_sections, along)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"tensor_split along dim {dim}. https://pytorch.org/docs/stable/generated/torch.{name}.html"
    )
    return function


for _split in (("hsplit", 1, 1), ("vsplit", 0, 2), ("dsplit", 2, 3)):
    function_and_method(split_along(*_split))
