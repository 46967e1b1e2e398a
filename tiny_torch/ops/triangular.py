"""Triangular systems of equations, by substitution."""

from __future__ import annotations

from typing import Any

import numpy as np

from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.engine import sum_to
from tiny_torch.autograd.graph import Op
from tiny_torch.ops.lapack import (
    by_columns,
    check_floating,
    check_matrix,
    check_precision,
    check_square,
    in_tensors,
    lapack,
)
from tiny_torch.ops.public import check_tensor, into_same
from tiny_torch.tensor import Tensor

BLOCK = 32


def substituted(A: Any, B: Any, upper: bool) -> Any:
    """X with A X = B, A (..., n, n) triangular, B (..., n, k).

    Block rows after one another: what is known of X is multiplied at once, then a block of A is
    solved row by row.
    """
    n = A.shape[-1]
    X = np.array(B)
    starts = range(0, n, BLOCK)
    for start in reversed(starts) if upper else starts:
        stop = min(start + BLOCK, n)
        known = slice(stop, n) if upper else slice(0, start)
        X[..., start:stop, :] -= A[..., start:stop, known] @ X[..., known, :]
        rows = range(start, stop)
        for i in reversed(rows) if upper else rows:
            known = slice(i + 1, stop) if upper else slice(start, i)
            X[..., i, :] -= (A[..., i : i + 1, known] @ X[..., known, :])[..., 0, :]
            X[..., i, :] /= A[..., i, i, None]
    return X


class LinalgSolveTriangular(Op):
    """X with A X = B, or X A = B; one triangle of A is read, its diagonal is 1 if unitriangular."""

    arity = 2
    saves = (0, ~0)

    @staticmethod
    def forward(A, B, upper, left, unitriangular):
        def solve(A, B):
            A = np.triu(A) if upper else np.tril(A)
            if unitriangular:
                n = A.shape[-1]
                A[..., range(n), range(n)] = 1
            if left:
                return substituted(A, B, upper)
            return substituted(A.swapaxes(-1, -2), B.swapaxes(-1, -2), not upper).swapaxes(-1, -2)

        batch = np.broadcast_shapes(A.shape[:-2], B.shape[:-2])
        wide = B.expand((*batch, *B.shape[-2:]))
        X = by_columns(lapack("linalg.solve_triangular", solve, A, wide))
        return X, (A, X, A.shape, B.shape, upper, left, unitriangular)

    @staticmethod
    @in_tensors
    def backward(saved, grad, needs):
        A, X, A_shape, B_shape, upper, left, unitriangular = saved
        to_B = solve_triangular(A.mT, grad, upper=not upper, left=left, unitriangular=unitriangular)
        to_A = None
        if needs[0]:
            to_A = -(to_B @ X.mT) if left else -(X.mT @ to_B)
            kept = 1 if unitriangular else 0
            to_A = to_A.triu(kept) if upper else to_A.tril(-kept)
            to_A = sum_to(to_A, A_shape, to_A.dtype)
        return to_A, sum_to(to_B, B_shape, to_B.dtype) if needs[1] else None


def solve_triangular(
    input: Tensor,
    B: Tensor,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
    out: Any = None,
) -> Tensor:
    """X with A X = B (or X A = B unless `left`), A = input triangular: (*, n, n), (*, n, k).

    A zero on the diagonal gives inf or NaN.
    https://pytorch.org/docs/stable/generated/torch.linalg.solve_triangular.html

    >>> import tiny_torch as torch
    >>> A, B = torch.tensor([[2.0, 1.0], [0.0, 4.0]]), torch.tensor([[4.0], [8.0]])
    >>> torch.linalg.solve_triangular(A, B, upper=True)
    tensor([[1.],
            [2.]])
    """
    name = "linalg.solve_triangular"
    check_matrix(name, "linalg_solve_triangular", "input", input)
    check_tensor("linalg_solve_triangular", "B", 2, B)
    check_pair(name, input, B, left)
    return into_same(out, apply(LinalgSolveTriangular, input, B, upper, left, unitriangular))


def check_pair(name: str, A: Tensor, B: Tensor, left: bool) -> None:
    """RuntimeError unless A X = B, or X A = B, has one solution by its shapes."""
    if A.dtype is not B.dtype:
        raise RuntimeError(
            f"{name}: Expected A and B to have the same dtype, but found A of type {A.dtype} and B "
            f"of type {B.dtype} instead"
        )
    check_floating(name, A)
    check_precision(name, A)
    check_square(name, A)
    if B.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor B must have at least 2 dimensions.")
    if A.shape[-1] != B.shape[-2 if left else -1]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation "
            f"{'AX = B' if left else 'XA = B'} ({A.shape[-2]}x{A.shape[-1]} and "
            f"{B.shape[-2]}x{B.shape[-1]})"
        )
    check_broadcast(A.shape[:-2], B.shape[:-2])


def check_broadcast(first: Any, second: Any) -> None:
    """RuntimeError where batch dims do not broadcast."""
    for n, m in zip(reversed(first), reversed(second), strict=False):
        if n != m and 1 not in (n, m):
            raise RuntimeError(
                f"The size of tensor a ({n}) must match the size of tensor b ({m}): batch dims "
                f"{list(first)} and {list(second)} do not broadcast"
            )
