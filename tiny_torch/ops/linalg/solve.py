"""Systems of equations, inverses and determinants, stacked in leading dims.

Values by LAPACK (lapack.py); gradients are solutions of the transposed systems.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.engine import sum_to
from tiny_torch.autograd.graph import Op
from tiny_torch.ops.elementwise.arithmetic import everywhere
from tiny_torch.ops.linalg.factor import LinalgSvd
from tiny_torch.ops.linalg.lapack import (
    LinAlgError,
    by_columns,
    by_rows,
    in_tensors,
    lapack,
    without_nan,
)
from tiny_torch.tensor import Tensor, wrap

INV, SOLVE = without_nan(np.linalg.inv), without_nan(np.linalg.solve)
DET = without_nan(lambda A: np.asarray(np.linalg.det(A)))
SLOGDET = without_nan(lambda A: tuple(map(np.asarray, np.linalg.slogdet(A))))


# ---------------------------------------------------------------------------------------- inverse


class LinalgInvEx(Op):
    saves = (~0,)
    words = "result:inverse"

    @staticmethod
    def forward(A):
        result = by_columns(lapack("linalg.inv", INV, A, reason=of_singular))
        return result, (result,)

    @staticmethod
    @in_tensors
    def backward(saved, grad, needs):
        (inverse,) = saved
        return -(inverse.mT @ grad @ inverse.mT)


def of_singular(A: Any) -> str:
    """Why there is no inverse: the first pivot of Gaussian elimination that is 0."""
    U, n = A.copy(), len(A)
    for k in range(n):
        row = k + np.argmax(abs(U[k:, k]))
        if U[row, k] == 0 or k == n - 1:
            break
        U[[k, row]] = U[[row, k]]
        U[k + 1 :] -= np.outer(U[k + 1 :, k] / U[k, k], U[k])
    return (
        f"The diagonal element {k + 1} is zero, the inversion could not be completed because the "
        "input matrix is singular."
    )


def inverse_where_regular(A: Tensor) -> tuple[Tensor, Tensor | None]:
    """The inverses, of the identity instead of singular matrices; and which these are."""
    try:
        return apply(LinalgInvEx, A), None
    except LinAlgError:
        singular = wrap(by_rows(lapack("linalg.det", DET, A.detach().array) == 0))
        mask = singular.unsqueeze(-1).unsqueeze(-1)
        eye = wrap(by_rows(np.eye(A.shape[-1]))).to(A.dtype)
        return apply(LinalgInvEx, A.masked_fill(mask, 0) + eye * mask), singular


# ------------------------------------------------------------------------------------------ solve


class LinalgSolveEx(Op):
    """X with A X = B: A (..., n, n), B (..., n, k), or (..., n) if `vector`; batches broadcast."""

    arity = 2
    saves = (0, ~0)
    keeps_data = (0,)

    @staticmethod
    def forward(A, B, vector):
        columns = B.unsqueeze(-1) if vector else B
        batch = np.broadcast_shapes(A.shape[:-2], columns.shape[:-2])
        parts = [x.expand((*batch, *x.shape[-2:])) for x in (A, columns)]
        reason = "The solver failed because the input matrix is singular."
        values = lapack("torch.linalg.solve", SOLVE, *parts, reason=reason)
        values = values[..., 0] if vector else values
        X = by_columns(values) if values.ndim > 1 else by_rows(values)
        return X, (A, X, A.shape, B.shape, vector)

    @staticmethod
    @in_tensors
    def backward(saved, grad, needs):
        A, X, A_shape, B_shape, vector = saved
        to_B = apply(LinalgSolveEx, A.mT, grad, vector)
        to_A = None
        if needs[0]:
            to_A = -(to_B.unsqueeze(-1) * X.unsqueeze(-2) if vector else to_B @ X.mT)
            to_A = sum_to(to_A, A_shape, X.dtype)
        return to_A, sum_to(to_B, B_shape, X.dtype) if needs[1] else None


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
        return det.unsqueeze(-1).unsqueeze(-1) * apply(LinalgInvEx, A).mT
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
