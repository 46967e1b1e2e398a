"""Tensors put together of others: block_diag, cartesian_prod, combinations, vander; and trace."""

from __future__ import annotations

import itertools
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.op_mode import as_one
from tiny_torch.base.arguments import as_int
from tiny_torch.base.dtypes import NUMERIC, check_implemented
from tiny_torch.base.layouts import MAX_DIMS
from tiny_torch.functions.common import check_elements, into, standalone
from tiny_torch.functions.creation.fill import ones, zeros
from tiny_torch.functions.creation.ranges import arange
from tiny_torch.functions.public import function, function_and_method
from tiny_torch.functions.shape.join import cat, meshgrid, stack
from tiny_torch.tensor import Tensor


def check_vector(x: Tensor) -> None:
    if x.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(x.shape)}")


@function
def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with the given ones (or rows, or numbers) along its diagonal, 0 elsewhere.

    https://pytorch.org/docs/stable/generated/torch.block_diag.html

    >>> import tiny_torch as torch
    >>> torch.block_diag(torch.tensor([[1, 2]]), torch.tensor(3))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
    check_elements(tensors)
    if not tensors:
        return zeros(1, 0)
    for position, x in enumerate(tensors):
        if x.ndim > 2:
            raise RuntimeError(
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input "
                f"{position} has {x.ndim} dimensions"
            )
    blocks = [x if x.ndim == 2 else x.reshape(1, -1) for x in tensors]
    width = sum(x.shape[1] for x in blocks)
    rows = []
    start = 0
    for x in blocks:
        height, size = x.shape
        left = x.new_zeros(height, start)
        right = x.new_zeros(height, width - start - size)
        rows.append(cat([left, x, right], 1))
        start += size
    return cat(rows, 0)


@function
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All choices of one element of each vector, as rows; of one vector, that vector.

    https://pytorch.org/docs/stable/generated/torch.cartesian_prod.html

    >>> import tiny_torch as torch
    >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([4, 5]))
    tensor([[1, 4],
            [1, 5],
            [2, 4],
            [2, 5]])
    """
    check_elements(tensors)
    for x in tensors:
        check_vector(x)
    if len(tensors) == 1:
        return tensors[0]
    return stack([grid.reshape(-1) for grid in meshgrid(*tensors, indexing="ij")], 1)


def along(x: Tensor, dim: int, ndim: int) -> Tensor:
    """A vector as a tensor of ndim dims that has it along one of them."""
    return x.reshape([-1 if d == dim else 1 for d in range(ndim)] if x.numel() else
                     [0 if d == dim else 1 for d in range(ndim)])  # fmt: skip


@function
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of r elements of a vector, in their order, as rows.

    https://pytorch.org/docs/stable/generated/torch.combinations.html

    >>> import tiny_torch as torch
    >>> torch.combinations(torch.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    check_vector(input)
    r = as_int("combinations", "r", 2, r)
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty(0)
    if r > MAX_DIMS:  # a mask has a dim for each of them
        raise RuntimeError(f"combinations: r may be at most {MAX_DIMS}, got {r}")
    chosen = ones((input.shape[0],) * r, dtype=_core.bool)
    positions = [along(arange(input.shape[0]), i, r) for i in range(r)]
    for first, second in itertools.pairwise(positions):
        chosen = chosen & (first <= second if with_replacement else first < second)
    found = chosen.nonzero()
    return standalone(input.index_select(0, found.reshape(-1)).reshape(found.shape))


@function
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of a vector as columns, N of them (as many as elements), falling or rising.

    https://pytorch.org/docs/stable/generated/torch.vander.html

    >>> import tiny_torch as torch
    >>> torch.vander(torch.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [4, 2, 1],
            [9, 3, 1]])
    """
    N = None if N is None else as_int("vander", "N", 2, N)
    if x.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    count = x.shape[0] if N is None else N
    if count < 0:
        raise RuntimeError("N must be non-negative.")
    if not x.is_floating_point():
        x = x.long()
    if count <= 1:
        return x.new_ones(x.shape[0], count)
    powers = x.unsqueeze(1).expand(-1, count - 1).cumprod(1)
    powers = cat([x.new_ones(x.shape[0], 1), powers], 1)
    return powers if increasing else powers.flip(1)


@function_and_method
@as_one
def trace(input: Tensor, *, out: Any = None) -> Tensor:
    """The sum of a matrix's diagonal. https://pytorch.org/docs/stable/generated/torch.trace.html"""
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    check_implemented("trace", input.dtype, NUMERIC)
    return into(out, input.diagonal().sum())
