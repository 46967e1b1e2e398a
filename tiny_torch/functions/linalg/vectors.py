"""Products of vectors and of blocks, and of chains of matrices."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.op_mode import as_one
from tiny_torch.base.arguments import as_int
from tiny_torch.base.dtypes import NUMERIC, check_implemented, check_same_type, scalar_type
from tiny_torch.functions.common import (
    check_kind,
    check_listed,
    into,
    into_same,
    standalone,
    write_out,
)
from tiny_torch.functions.linalg.einsum import tensordot
from tiny_torch.functions.linalg.lapack import check_vectors
from tiny_torch.functions.linalg.matmul import dot, matmul
from tiny_torch.functions.public import function, function_and_method
from tiny_torch.functions.shape.join import cat
from tiny_torch.ops.common import refuse_overlap
from tiny_torch.ops.elementwise.arithmetic import Mul
from tiny_torch.ops.linalg.vectors import LinalgCross
from tiny_torch.ops.shape.views import wrap_dim
from tiny_torch.tensor import Tensor


@function_and_method
def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inner product of two vectors (real ones: the same as dot).

    https://pytorch.org/docs/stable/generated/torch.vdot.html
    """
    return dot(input, other, out=out)


@function_and_method
def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inner products over the last dims: (*m, k), (*n, k) -> (*m, *n).

    Raises RuntimeError where the last sizes or the dtypes differ.
    https://pytorch.org/docs/stable/generated/torch.inner.html

    >>> import tiny_torch as torch
    >>> torch.inner(torch.ones(2, 3), torch.ones(3))
    tensor([3., 3.])
    """
    if input.ndim == 0 or other.ndim == 0:
        return into(out, input * other)
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(input.shape)} and {list(other.shape)}"
        )
    return tensordot(input, other, ([-1], [-1]), out=out)


@function_and_method("ger")
@function_and_method
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The outer product of two vectors: (n), (m) -> (n, m).

    https://pytorch.org/docs/stable/generated/torch.outer.html
    """
    check_vectors("outer", self=input, vec2=vec2)
    column = input.unsqueeze(1)
    return apply(Mul, column, vec2) if out is None else write_out(Mul, "outer", out, column, vec2)


@function_and_method
def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Kronecker product: a block input[i, j, ...] * other for each element of input.

    https://pytorch.org/docs/stable/generated/torch.kron.html

    >>> import tiny_torch as torch
    >>> torch.kron(torch.tensor([[1, 10]]), torch.tensor([[1, 2]]))
    tensor([[ 1,  2, 10, 20]])
    """
    refuse_overlap(out, (), (input, other))
    ndim = max(input.ndim, other.ndim)
    a = (1,) * (ndim - input.ndim) + tuple(input.shape)
    b = (1,) * (ndim - other.ndim) + tuple(other.shape)
    blocks = input.reshape([size for n in a for size in (n, 1)])
    block = other.reshape([size for n in b for size in (1, n)])
    product = (blocks * block).reshape([n * m for n, m in zip(a, b, strict=True)])
    return into(out, standalone(product))


@function_and_method
def cross(
    input: Tensor, other: Tensor, dim: int | None = None, *, out: Tensor | None = None
) -> Tensor:
    """linalg.cross over `dim`: by default the first of size 3.

    https://pytorch.org/docs/stable/generated/torch.cross.html
    """
    if dim is None:
        warnings.warn(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass "
            "the dim explicitly or simply use torch.linalg.cross.",
            UserWarning,
            stacklevel=2,
        )
        if 3 not in input.shape:
            raise RuntimeError("no dimension of size 3 in input")
        dim = tuple(input.shape).index(3)
    return cross_along(input, other, dim, out)


def linalg_cross(
    input: Tensor, other: Tensor, *, dim: int = -1, out: Tensor | None = None
) -> Tensor:
    """The cross product of vectors of 3 elements along `dim`; the other dims broadcast.

    Raises RuntimeError where `dim` has another size.
    https://pytorch.org/docs/stable/generated/torch.linalg.cross.html
    """
    return cross_along(input, other, dim, out)


def cross_along(input: Tensor, other: Tensor, dim: int, out: Tensor | None) -> Tensor:
    x, y = input.array, other.array
    if x.ndim != y.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    at = wrap_dim(dim, x.ndim)
    sizes = (x.shape[at], y.shape[at])
    if sizes != (3, 3):
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {sizes[0]} and "
            f"{sizes[1]}"
        )
    check_same_type(x.dtype, y.dtype)
    check_implemented("cross", x.dtype, NUMERIC)
    refuse_overlap(out, (input, other))
    result = apply(LinalgCross, input, other, dim)
    return result if out is None else into_same(out, result)


@as_one
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """Inner products of vectors along `dim`; the other dims broadcast.

    https://pytorch.org/docs/stable/generated/torch.linalg.vecdot.html
    """
    if x.dtype is not y.dtype or not x.is_floating_point():
        raise RuntimeError(
            "linalg.vecdot: Expected x and y to be floating point and to have the same dtype, but "
            f"found x of type {x.dtype} and y of type {y.dtype} instead"
        )
    if x.ndim == y.ndim == 1 and x.shape != y.shape:
        raise RuntimeError(
            f"linalg.vecdot: expected vectors of the same size, got {x.shape[0]} and {y.shape[0]}"
        )
    return into_same(out, (x * y).sum(dim))


def linalg_vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The powers 0 to N - 1 of each element: (*, n) -> (*, n, N), N = n by default.

    Integers give int64. Raises RuntimeError where N is less than 2, for bool and half types.
    https://pytorch.org/docs/stable/generated/torch.linalg.vander.html

    >>> import tiny_torch as torch
    >>> torch.linalg.vander(torch.tensor([2, 3]), N=4)
    tensor([[ 1,  2,  4,  8],
            [ 1,  3,  9, 27]])
    """
    N = None if N is None else as_int("linalg_vander", "N", None, N)
    half = x.is_floating_point() and x.itemsize == 2
    if half or x.dtype is _core.bool:
        raise RuntimeError(
            "linalg.vander supports floating point, complex, and integer tensors, but got "
            f"{scalar_type(x.dtype)}"
        )
    x = (x if x.ndim else x.unsqueeze(0)).unsqueeze(-1)
    count = x.shape[-2] if N is None else N
    if count < 2:
        raise RuntimeError("N must be greater than 1.")
    powers = x.expand((*x.shape[:-1], count - 1)).cumprod(-1)
    return cat([powers.new_ones((*x.shape[:-1], 1)), powers], -1)


# --------------------------------------------------------------------------------------- chains


@as_one
def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The product of a chain of matrices, in the order that needs the fewest multiplications.

    The first and the last may be vectors. Raises RuntimeError for fewer than two tensors, or where
    sizes or dtypes do not fit. https://pytorch.org/docs/stable/generated/torch.linalg.multi_dot.html

    >>> import tiny_torch as torch
    >>> torch.linalg.multi_dot([torch.ones(2, 3), torch.ones(3, 4), torch.ones(4)])
    tensor([12., 12.])
    """
    tensors = check_chain(tensors)
    matrices = list(tensors)
    if tensors[0].ndim == 1:
        matrices[0] = tensors[0].unsqueeze(0)
    if tensors[-1].ndim == 1:
        matrices[-1] = tensors[-1].unsqueeze(-1)
    for position, matrix in enumerate(matrices):
        if matrix.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {position} must be 2D but got {matrix.ndim}D")
    sizes = [matrix.shape[0] for matrix in matrices] + [matrices[-1].shape[1]]
    cuts = best_cuts(sizes)

    def product(first: int, last: int) -> Tensor:
        if first == last:
            return matrices[first]
        cut = cuts[first, last]
        return matmul(product(first, cut), product(cut + 1, last))

    result = product(0, len(matrices) - 1)
    if tensors[-1].ndim == 1:
        result = result.squeeze(1)
    return into_same(out, result.squeeze(0) if tensors[0].ndim == 1 else result)


def check_chain(tensors: Any) -> list[Tensor]:
    check_kind("linalg_multi_dot", "tensors", 1, tensors, "tuple of Tensors", (tuple, list))
    check_listed("linalg_multi_dot", 1, tensors)
    if len(tensors) < 2:
        raise RuntimeError("multi_dot(): expected at least 2 tensors but got " + str(len(tensors)))
    return list(tensors)


def best_cuts(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Where to cut each part of a chain of matrices (sizes[i], sizes[i + 1]) in two."""
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    cuts = {}
    for length in range(1, count):
        for first in range(count - length):
            last = first + length
            outside = sizes[first] * sizes[last + 1]
            cost[first, last], cuts[first, last] = min(
                (cost[first, cut] + cost[cut + 1, last] + outside * sizes[cut + 1], cut)
                for cut in range(first, last)
            )
    return cuts


@function
@as_one
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """linalg.multi_dot of matrices; of one, that matrix."""
    warnings.warn(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use "
        "torch.linalg.multi_dot instead, which accepts a list of two or more tensors rather than "
        "multiple parameters.",
        stacklevel=2,
    )
    if len(matrices) == 1 and isinstance(matrices[0], Tensor):
        return into(out, matrices[0])
    for matrix in matrices:
        if isinstance(matrix, Tensor) and matrix.ndim != 2:
            raise RuntimeError(f"Tensor dimension is {matrix.ndim}, expected 2 instead.")
    return multi_dot(matrices, out=out)
