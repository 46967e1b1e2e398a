"""Triangular systems of equations, by substitution, and those of a Cholesky factor."""

from __future__ import annotations

from typing import Any

import numpy as np

from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.engine import sum_to
from tiny_torch.autograd.graph import Op
from tiny_torch.ops.linalg.lapack import all_finite, by_columns, in_tensors, lapack

BLOCK = 64
FEW = 4  # rows that are solved as fast one by one


def substitute(A: Any, B: Any, upper: bool) -> Any:
    """X with A X = B, A (..., n, n) triangular, B (..., n, k).

    Block rows after one another: what is known of X is multiplied at once, then a block of A is
    solved.
    """
    n = A.shape[-1]
    X = np.array(B)
    starts = range(0, n, BLOCK)
    for start in reversed(starts) if upper else starts:
        rows = slice(start, start + BLOCK)
        known = slice(start + BLOCK, n) if upper else slice(0, start)
        if known.start < known.stop:
            X[..., rows, :] -= A[..., rows, known] @ X[..., known, :]
        X[..., rows, :] = substitute_in_block(A[..., rows, rows], X[..., rows, :], upper)
    return X


def substitute_in_block(A: Any, B: Any, upper: bool) -> Any:
    """By LAPACK's elimination: of an upper triangle of finite numbers it swaps and changes nothing.

    A lower triangle is one with its rows and columns turned round.
    """
    if not upper:
        turned = slice(None, None, -1)
        return substitute_in_block(A[..., turned, turned], B[..., turned, :], True)[..., turned, :]
    triangle = np.triu(A)
    if A.shape[-1] > FEW and all_finite(triangle) and all_finite(B):
        try:
            return np.linalg.solve(triangle, B)
        except np.linalg.LinAlgError:  # of a diagonal with a 0
            pass
    return substitute_by_rows(triangle, B)


def substitute_by_rows(A: Any, B: Any) -> Any:
    """With an upper triangle: dividing by 0 makes infinities, and NaN stays where it is used."""
    X = np.array(B)
    for i in reversed(range(A.shape[-1])):
        X[..., i, :] -= (A[..., i : i + 1, i + 1 :] @ X[..., i + 1 :, :])[..., 0, :]
        X[..., i, :] /= A[..., i, i, None]
    return X


def solve_unit(A: Any, B: Any, upper: bool) -> Any:
    """`substitute` with ones on the diagonal of A."""
    n = A.shape[-1]
    A = np.array(A)
    A[..., range(n), range(n)] = 1
    return substitute(A, B, upper)


class LinalgSolveTriangular(Op):
    """X with A X = B, or X A = B; one triangle of A is read, its diagonal is 1 if unitriangular."""

    arity = 2
    saves = (0, ~0)

    @staticmethod
    def forward(A, B, upper, left, unitriangular):
        def solve(A, B):
            solve_left = solve_unit if unitriangular else substitute
            if left:
                return solve_left(A, B, upper)
            return solve_left(A.swapaxes(-1, -2), B.swapaxes(-1, -2), not upper).swapaxes(-1, -2)

        batch = np.broadcast_shapes(A.shape[:-2], B.shape[:-2])
        wide = B.expand((*batch, *B.shape[-2:]))
        X = by_columns(lapack("linalg.solve_triangular", solve, A, wide))
        return X, (A, X, A.shape, B.shape, upper, left, unitriangular)

    @staticmethod
    @in_tensors
    def backward(saved, grad, needs):
        A, X, A_shape, B_shape, upper, left, unitriangular = saved
        to_B = apply(LinalgSolveTriangular, A.mT, grad, not upper, left, unitriangular)
        to_A = None
        if needs[0]:
            to_A = -(to_B @ X.mT) if left else -(X.mT @ to_B)
            kept = 1 if unitriangular else 0
            to_A = to_A.triu(kept) if upper else to_A.tril(-kept)
            to_A = sum_to(to_A, A_shape, to_A.dtype)
        return to_A, sum_to(to_B, B_shape, to_B.dtype) if needs[1] else None


class CholeskySolve(Op):
    """X with L L^T X = B, or L^T L X = B if `upper`; one triangle of L is read.

    The gradient is that of a whole matrix L, as PyTorch's: it is not 0 in the other triangle.
    """

    arity = 2
    saves = (1, ~0)

    @staticmethod
    def forward(B, L, upper):
        def solve(L, B):
            return substitute(L.swapaxes(-1, -2), substitute(L, B, False), True)

        batch = np.broadcast_shapes(L.shape[:-2], B.shape[:-2])
        wide = B.expand((*batch, *B.shape[-2:]))
        X = by_columns(lapack("cholesky_solve", solve, L.transpose(-1, -2) if upper else L, wide))
        return X, (L, X, B.shape, L.shape, upper)

    @staticmethod
    @in_tensors
    def backward(saved, grad, needs):
        L, X, B_shape, L_shape, upper = saved
        to_B = apply(CholeskySolve, grad, L, upper)
        to_L = None
        if needs[1]:
            to_A = -(to_B @ X.mT)
            to_A = to_A + to_A.mT
            to_L = sum_to(L @ to_A if upper else to_A @ L, L_shape, L.dtype)
        return sum_to(to_B, B_shape, to_B.dtype) if needs[0] else None, to_L
