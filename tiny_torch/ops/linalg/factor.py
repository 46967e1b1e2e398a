"""Factorisations of matrices, stacked in leading dims: Cholesky, QR, eigenvalues, singular values.

Values by LAPACK (lapack.py), gradients from the factors. Where eigenvalues or singular values
repeat, the gradients of their vectors are not finite, as in PyTorch.
"""

from __future__ import annotations

import numpy as np

from tiny_torch.autograd.apply import apply, apply_many
from tiny_torch.autograd.graph import Op
from tiny_torch.ops.linalg.lapack import (
    all_finite,
    by_columns,
    by_rows,
    eigh_of_finite,
    in_tensors,
    lapack,
    svd_of_finite,
    with_info,
)
from tiny_torch.ops.linalg.triangular import LinalgSolveTriangular
from tiny_torch.ops.shape.join import Cat
from tiny_torch.tensor import Tensor


def halved_diagonal(x: Tensor) -> Tensor:
    return x - (x.diagonal(0, -2, -1) / 2).diag_embed()


def columns(x: Tensor) -> Tensor:
    """(..., n) -> (..., 1, n): scales the columns of a matrix."""
    return x.unsqueeze(-2)


def over_differences(x: Tensor, values: Tensor) -> Tensor:
    """x[i, j] / (values[j] - values[i]), and x on the diagonal."""
    difference = values.unsqueeze(-2) - values.unsqueeze(-1)
    ones = (values * 0 + 1).diag_embed()
    return x / (difference + ones)


# --------------------------------------------------------------------------------------- Cholesky


class LinalgCholeskyEx(Op):
    """A = L L^T, and info: the order of the first leading minor that has no such L, or 0.

    Of A only one triangle is read.
    """

    outputs = 2
    saves = (~0,)
    words = "result:L"

    @staticmethod
    def forward(A, upper):
        factor, info = lapack("linalg.cholesky", CHOLESKY, A.transpose(-1, -2) if upper else A)
        result = by_columns(factor.swapaxes(-1, -2) if upper else factor)
        return (result, by_rows(info)), (result, upper)

    @staticmethod
    @in_tensors
    def backward(saved, grads, needs):
        L, upper = saved
        grad = grads[0]
        if upper:
            L, grad = L.mT, grad.mT
        inner = halved_diagonal((L.mT @ grad).tril())
        half = apply(LinalgSolveTriangular, L.mT, inner, True, True, False)
        result = apply(LinalgSolveTriangular, L, half, False, False, False)
        return (result + result.mT) / 2


def cholesky_of_numbers(values):
    if not all_finite(values) and np.isinf(np.tril(values, -1)).any():
        raise np.linalg.LinAlgError
    factor = np.linalg.cholesky(values)
    if np.isnan(factor).any():
        raise np.linalg.LinAlgError
    return factor


def cholesky_until_failure(matrix):
    """The columns of L up to the first that has none, as LAPACK leaves them; and its number."""
    L = np.tril(matrix)
    for j in range(len(L)):
        row = L[j, :j]
        L[j, j] -= row @ row
        if not L[j, j] > 0:
            return L, np.int32(j + 1)
        L[j, j] = np.sqrt(L[j, j])
        L[j + 1 :, j] = (L[j + 1 :, j] - L[j + 1 :, :j] @ row) / L[j, j]
    return L, np.int32(0)


CHOLESKY = with_info(cholesky_of_numbers, cholesky_until_failure)


# --------------------------------------------------------------------------------------------- QR


class LinalgQr(Op):
    outputs = 2
    saves = (0, ~0, ~1)

    @staticmethod
    def forward(A, mode):
        if A.size == 0:
            Q, R = empty_qr(A, mode)
        elif mode == "r":
            R = lapack("linalg.qr", np.linalg.qr, A, mode="r")
            Q = np.empty(0, R.dtype)
        else:
            Q, R = lapack("linalg.qr", np.linalg.qr, A, mode=mode)
        result = by_columns(Q) if Q.ndim > 1 else by_rows(Q), by_columns(R)
        wide = A.shape[-2] < A.shape[-1]  # else no gradient is computed from A
        return result, (A if wide else None, *result, mode)

    @staticmethod
    @in_tensors
    def backward(saved, grads, needs):
        A, Q, R, mode = saved
        if mode == "r":
            raise RuntimeError(
                "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. "
                "Please use linalg.qr(A, mode='reduced') if you are going to require the derivative"
            )
        m, n = Q.shape[-2], R.shape[-1]
        if mode == "complete" and m > n:
            raise RuntimeError(
                "The QR decomposition is not differentiable when mode='complete' and nrows > ncols."
            )
        to_Q, to_R = [
            x * 0 if grad is None else grad for x, grad in zip((Q, R), grads, strict=True)
        ]
        if m >= n:
            return through_qr(Q, R, to_Q, to_R)
        # The first m columns of A determine Q; the others are Q times theirs of R.
        rest, to_rest = A[..., m:], to_R[..., m:]
        first = through_qr(Q, R[..., :m], to_Q + rest @ to_rest.mT, to_R[..., :m])
        return apply_many(Cat, (first, Q @ to_rest), -1)


class Geqrf(Op):
    """(a, tau): R above the diagonal of a and on it, Householder's vectors below it."""

    outputs = 2

    @staticmethod
    def forward(A):
        if A.size == 0:
            a, tau = A.numpy(), np.zeros((*A.shape[:-2], min(A.shape[-2:])), A.numpy().dtype)
        else:
            columns, tau = lapack("geqrf", np.linalg.qr, A, mode="raw")
            a = columns.swapaxes(-1, -2)
        return (by_columns(a), by_rows(tau)), ()

    @staticmethod
    def backward(saved, grads, needs):
        raise NotImplementedError("the derivative for 'geqrf' is not implemented.")


def through_qr(Q, R, to_Q, to_R):
    """The gradient of a tall or square A = Q R."""
    inner = (to_R @ R.mT - Q.mT @ to_Q).triu()
    inner = inner + inner.mT - inner.diagonal(0, -2, -1).diag_embed()
    return apply(LinalgSolveTriangular, R.mT, to_Q + Q @ inner, False, False, False)


def empty_qr(A, mode):
    *batch, m, n = A.shape
    k = m if mode == "complete" else min(m, n)
    dtype = A.numpy().dtype
    Q = np.broadcast_to(np.eye(m, k, dtype=dtype), (*batch, m, k))
    return np.empty(0, dtype) if mode == "r" else Q, np.zeros((*batch, k, n), dtype)


# ------------------------------------------------------------------------------------ eigenvalues


class LinalgEigh(Op):
    """A = V diag(values) V^T, values ascending; of A only one triangle is read."""

    outputs = 2
    saves = (~0, ~1)

    @staticmethod
    def forward(A, uplo):
        reason = (
            "The algorithm failed to converge because the input matrix is ill-conditioned or has "
            "too many repeated eigenvalues."
        )
        values, vectors = lapack("linalg.eigh", eigh_of_finite, A, reason=reason, UPLO=uplo)
        result = by_rows(values), by_columns(vectors)
        return result, result

    @staticmethod
    @in_tensors
    def backward(saved, grads, needs):
        values, V = saved
        to_values, to_V = grads
        if to_V is None:
            return (V * columns(to_values)) @ V.mT
        turn = V.mT @ to_V
        inner = over_differences((turn - turn.mT) / 2, values)  # V stays orthonormal
        if to_values is not None:
            inner = inner + to_values.diag_embed()
        return V @ inner @ V.mT


# -------------------------------------------------------------------------------- singular values


class LinalgSvd(Op):
    """A = U diag(S) Vh, S descending. (m, n) -> (m, k), (k), (k, n), or square U and Vh."""

    outputs = 3
    saves = (~0, ~1, ~2)

    @staticmethod
    def forward(A, full_matrices):
        reason = (
            "The algorithm failed to converge because the input matrix contained non-finite values."
        )
        if A.size == 0:
            U, S, Vh = empty_svd(A, full_matrices)
        else:
            U, S, Vh = lapack(
                "linalg.svd", svd_of_finite, A, reason=reason, full_matrices=full_matrices
            )
        result = by_columns(U), by_rows(S), by_columns(Vh)
        return result, result

    @staticmethod
    @in_tensors
    def backward(saved, grads, needs):
        U, S, Vh = saved
        to_U, to_S, to_Vh = grads
        m, k, n = U.shape[-2], S.shape[-1], Vh.shape[-1]
        U, Vh = U[..., :k], Vh[..., :k, :]
        if to_U is None and to_Vh is None:
            return (U * columns(to_S)) @ Vh
        inner = None if to_S is None else to_S.diag_embed()
        result = 0
        if to_U is not None:
            to_U = to_U[..., :k]
            skew = U.mT @ to_U
            part = over_differences(skew - skew.mT, S * S) * columns(S)
            inner = part if inner is None else inner + part
            if m > k:
                result = ((to_U - U @ (U.mT @ to_U)) / columns(S)) @ Vh
        if to_Vh is not None:
            to_V = to_Vh[..., :k, :].mT
            skew = Vh @ to_V
            part = over_differences(skew - skew.mT, S * S) * S.unsqueeze(-1)
            inner = part if inner is None else inner + part
            if n > k:
                result = result + U @ ((to_V - Vh.mT @ (Vh @ to_V)) / columns(S)).mT
        return result + U @ inner @ Vh


def empty_svd(A, full_matrices):
    *batch, m, n = A.shape
    dtype = A.numpy().dtype
    rows, cols = (m, n) if full_matrices else (min(m, n),) * 2
    U = np.broadcast_to(np.eye(m, rows, dtype=dtype), (*batch, m, rows))
    Vh = np.broadcast_to(np.eye(cols, n, dtype=dtype), (*batch, cols, n))
    return U, np.zeros((*batch, min(m, n)), dtype), Vh
