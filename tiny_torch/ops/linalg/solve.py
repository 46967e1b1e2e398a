"""Systems of equations, inverses and determinants, stacked in leading dims.

Values by LAPACK (lapack.py); gradients are solutions of the transposed systems.
"""

from __future__ import annotations

import math

import numpy as np

from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.engine import sum_to
from tiny_torch.autograd.graph import Op
from tiny_torch.ops.elementwise.arithmetic import everywhere
from tiny_torch.ops.linalg.factor import LinalgSvd
from tiny_torch.ops.linalg.lapack import (
    by_columns,
    by_rows,
    check_info,
    in_tensors,
    lapack,
    with_info,
    without_nan,
)
from tiny_torch.ops.linalg.lu import lu_of_numbers, solve_singular
from tiny_torch.tensor import Tensor, wrap

INV = with_info(
    without_nan(np.linalg.inv), lambda A: solve_singular(A, np.eye(len(A), dtype=A.dtype))
)
SOLVE = with_info(without_nan(np.linalg.solve), solve_singular)
SINGULAR = "The solver failed because the input matrix is singular."
DET = without_nan(lambda A: np.asarray(np.linalg.det(A)))
SLOGDET = without_nan(lambda A: tuple(map(np.asarray, np.linalg.slogdet(A))))


# ---------------------------------------------------------------------------------------- inverse


class LinalgInvEx(Op):
    """(inverse, info): the first pivot of Gaussian elimination that is 0, or 0."""

    outputs = 2
    saves = (~0,)
    words = "result:inverse"

    @staticmethod
    def forward(A):
        inverse, info = lapack("linalg.inv", INV, A)
        result = by_columns(inverse)
        return (result, by_rows(info)), (result,)

    @staticmethod
    @in_tensors
    def backward(saved, grads, needs):
        (inverse,) = saved
        return -(inverse.mT @ grads[0] @ inverse.mT)


def inverse_where_regular(A: Tensor) -> tuple[Tensor, Tensor | None]:
    """The inverses, of the identity instead of singular matrices; and which these are."""
    inverse, info = apply(LinalgInvEx, A)
    singular = info != 0
    if not singular.any():
        return inverse, None
    mask = singular.unsqueeze(-1).unsqueeze(-1)
    eye = wrap(by_rows(np.eye(A.shape[-1]))).to(A.dtype)
    return apply(LinalgInvEx, A.masked_fill(mask, 0) + eye * mask)[0], singular


# ------------------------------------------------------------------------------------------ solve


class LinalgSolveEx(Op):
    """(X, info) with A X = B: A (..., n, n), B (..., n, k), or (..., n) if `vector`.

    Batches broadcast; info is of A's shape alone, as LinalgInvEx has it.
    """

    arity = 2
    outputs = 2
    saves = (0, ~0)
    keeps_data = (0,)

    @staticmethod
    def forward(A, B, vector):
        columns = B.unsqueeze(-1) if vector else B
        batch = np.broadcast_shapes(A.shape[:-2], columns.shape[:-2])
        parts = [x.expand((*batch, *x.shape[-2:])) for x in (A, columns)]
        values, info = lapack("torch.linalg.solve", SOLVE, *parts)
        info = lu_of_numbers(A.numpy())[2] if info.any() else np.zeros(A.shape[:-2], np.int32)
        values = values[..., 0] if vector else values
        X = by_columns(values) if values.ndim > 1 else by_rows(values)
        return (X, by_rows(info)), (A, X, A.shape, B.shape, vector)

    @staticmethod
    @in_tensors
    def backward(saved, grads, needs):
        A, X, A_shape, B_shape, vector = saved
        to_B, _ = apply(LinalgSolveEx, A.mT, grads[0], vector)
        to_A = None
        if needs[0]:
            to_A = -(to_B.unsqueeze(-1) * X.unsqueeze(-2) if vector else to_B @ X.mT)
            to_A = sum_to(to_A, A_shape, X.dtype)
        return to_A, sum_to(to_B, B_shape, X.dtype) if needs[1] else None


def solve_regular(A: Tensor, B: Tensor, vector: bool = False) -> Tensor:
    """X with A X = B. LinAlgError where a matrix is singular."""
    X, info = apply(LinalgSolveEx, A, B, vector)
    check_info("torch.linalg.solve", info, SINGULAR)
    return X


# ----------------------------------------------------------------------------------- determinants


class LinalgDet(Op):
    saves = (0, ~0)
    keeps_data = (0,)

    @staticmethod
    def forward(A):
        result = by_rows(lapack("linalg.det", DET, A))
        return result, (A, result)

    @staticmethod
    @in_tensors
    def backward(saved, grad, needs):
        A, det = saved
        return grad.unsqueeze(-1).unsqueeze(-1) * cofactors(A, det)


def cofactors(A, det):
    """det(A) A^-T; of singular matrices from their singular values, of which some may be 0."""
    singular = det.detach() == 0
    if not singular.any():
        return det.unsqueeze(-1).unsqueeze(-1) * apply(LinalgInvEx, A)[0].mT
    if A.ndim > 2 and not singular.all():
        result = A.new_zeros(A.shape)
        for of in (singular, ~singular):
            result = result.index_put((of,), cofactors(A[of], det[of]))
        return result
    U, S, Vh = apply(LinalgSvd, A, True)
    n = S.shape[-1]
    others = S.unsqueeze(-2).expand(*S.shape, n)
    eye = everywhere(others.detach(), True).tril().triu()
    others = others.masked_fill(eye, 1).prod(-1)
    sign = apply(LinalgDet, U.detach() @ Vh.detach()).sign()
    return sign.unsqueeze(-1).unsqueeze(-1) * (U * others.unsqueeze(-2)) @ Vh


class LinalgSlogdet(Op):
    """(sign, log |det|)"""

    outputs = 2
    saves = (0,)
    keeps_data = (0,)

    @staticmethod
    def forward(A):
        sign, logarithm = lapack("linalg.slogdet", SLOGDET, A)
        sign = np.where(np.isnan(logarithm), sign.dtype.type(0), sign)
        return (by_rows(sign), by_rows(logarithm)), (A,)

    @staticmethod
    @in_tensors
    def backward(saved, grads, needs):
        (A,) = saved
        if grads[1] is None:
            return A * 0
        inverse, singular = inverse_where_regular(A)
        if singular is not None:
            inverse = inverse.masked_fill(singular.unsqueeze(-1).unsqueeze(-1), math.nan)
        return grads[1].unsqueeze(-1).unsqueeze(-1) * inverse.mT
