"""LU decompositions with partial pivoting, stacked in leading dims: A = P L U.

NumPy has none of its own, so Gaussian elimination is spelled out here, all matrices at once.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tiny_torch.autograd.apply import apply, apply_many
from tiny_torch.autograd.graph import Op
from tiny_torch.ops.linalg.lapack import by_columns, by_rows, in_tensors, lapack
from tiny_torch.ops.linalg.triangular import BLOCK, LinalgSolveTriangular, solve_unit, substitute
from tiny_torch.ops.shape.join import Cat
from tiny_torch.tensor import wrap


def lu_of_numbers(A: Any) -> tuple[Any, Any, Any]:
    """LU (*, m, n), pivots (*, k) and info (*), as LAPACK's getrf answers them.

    L stands below the diagonal of LU; pivots[i] is the row, from 1, that row i was swapped with;
    info is the number, from 1, of the first pivot that is 0, or 0.
    """
    *batch, m, n = A.shape
    LU = np.array(A).reshape(math.prod(batch), m, n)
    each, k = np.arange(len(LU)), min(m, n)
    pivots, info = np.zeros((len(LU), k), np.int32), np.zeros(len(LU), np.int32)
    for start in range(0, k, BLOCK):
        stop = min(start + BLOCK, k)
        for j in range(start, stop):
            row = j + abs(LU[:, j:, j]).argmax(1)
            LU[each, j], LU[each, row] = LU[each, row], LU[each, j]
            pivots[:, j] = row + 1
            zero = LU[:, j, j] == 0
            info[zero & (info == 0)] = j + 1
            LU[:, j + 1 :, j] /= np.where(zero, 1, LU[:, j, j])[:, None]
            LU[:, j + 1 :, j + 1 : stop] -= LU[:, j + 1 :, j, None] * LU[:, j, None, j + 1 : stop]
        block, right = slice(start, stop), slice(stop, None)
        LU[:, block, right] = solve_unit(LU[:, block, block], LU[:, block, right], upper=False)
        LU[:, right, right] -= LU[:, right, block] @ LU[:, block, right]
    return LU.reshape(A.shape), pivots.reshape(*batch, k), info.reshape(batch)


def order_of(pivots: Any, m: int) -> Any:
    """(*, k) -> (*, m): which rows of A are those of L U, in their order."""
    order = np.broadcast_to(np.arange(m), (*pivots.shape[:-1], m)).copy()
    for i in range(pivots.shape[-1]):
        row = pivots[..., i, None] - 1
        moved = np.take_along_axis(order, row, -1)
        np.put_along_axis(order, row, order[..., i, None].copy(), -1)
        order[..., i, None] = moved
    return order


def solve_singular(A: Any, B: Any) -> tuple[Any, Any]:
    """X with A X = B of one matrix, with the infinities of dividing by pivots 0; and info."""
    LU, pivots, info = lu_of_numbers(A)
    Y = solve_unit(LU, B[order_of(pivots, len(A))], upper=False)
    return substitute(LU, Y, upper=True), info


class LinalgLuFactorEx(Op):
    """(LU, pivots, info)"""

    outputs = 3
    saves = (~0, ~1)

    @staticmethod
    def forward(A):
        LU, pivots, info = lapack("linalg.lu_factor", lu_of_numbers, A)
        results = by_columns(LU), by_rows(pivots), by_rows(info)
        return results, results[:2]

    @staticmethod
    @in_tensors
    def backward(saved, grads, needs):
        LU, pivots = saved
        grad = grads[0]
        m, n = LU.shape[-2:]
        k = min(m, n)
        square = LU[..., :k, :k]
        inner = square.tril(-1).mT @ grad[..., :k, :k].tril(-1) + grad[..., :k, :k]
        inner = inner.tril(-1) + (grad[..., :k, :k].triu() @ square.triu().mT).triu()
        right, below = grad[..., k:], grad[..., k:, :]  # of which at least one is empty
        if n > k:
            inner = inner - (right @ LU[..., k:].mT).tril(-1)
        if m > k:
            inner = inner - (LU[..., k:, :].mT @ below).triu()
        rows = over_factor(square, inner)
        if n > k:
            rows = apply_many(Cat, (rows, right), -1)
        rows = apply(LinalgSolveTriangular, square.mT, rows, True, True, True)
        if m > k:
            rows = apply_many(Cat, (rows, over_factor(square, below)), -2)
        place = order_of(pivots.array.numpy(), m).argsort(-1)
        return rows.gather(-2, wrap(by_rows(place)).unsqueeze(-1).expand(rows.shape))


def over_factor(LU, x):
    """x U^-T"""
    return apply(LinalgSolveTriangular, LU.mT, x, False, False, False)
