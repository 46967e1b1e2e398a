"""Factorisations of matrices, stacked in leading dims: Cholesky, QR, eigenvalues, singular values.

Values by LAPACK (lapack.py), gradients from the factors. Where eigenvalues or singular values
repeat, the gradients of their vectors are not finite, as in PyTorch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.graph import Op
from tiny_torch.dtypes import not_implemented
from tiny_torch.ops.join import cat
from tiny_torch.ops.lapack import (
    LinAlgError,
    all_finite,
    by_columns,
    by_rows,
    check_floating,
    check_matrix,
    check_precision,
    check_square,
    eigh_of_finite,
    in_tensors,
    lapack,
    svd_of_finite,
)
from tiny_torch.ops.public import into_same, named
from tiny_torch.ops.triangular import solve_triangular
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
    """A = L L^T; of A only one triangle is read."""

    saves = (~0,)

    @staticmethod
    def forward(A, upper):
        triangle = A.transpose(-1, -2) if upper else A
        factor = lapack(
            "linalg.cholesky",
            cholesky_of_numbers,
            triangle,
            reason="The factorization could not be completed because the input is not "
            "positive-definite.",
        )
        result = by_columns(factor.swapaxes(-1, -2) if upper else factor)
        return result, (result, upper)

    @staticmethod
    @in_tensors
    def backward(saved, grad, needs):
        L, upper = saved
        if upper:
            L, grad = L.mT, grad.mT
        inner = halved_diagonal((L.mT @ grad).tril())
        half = solve_triangular(L.mT, inner, upper=True)
        result = solve_triangular(L, half, upper=False, left=False)
        return (result + result.mT) / 2


def cholesky_of_numbers(values):
    if not all_finite(values) and np.isinf(np.tril(values, -1)).any():
        raise np.linalg.LinAlgError
    factor = np.linalg.cholesky(values)
    if np.isnan(factor).any():
        raise np.linalg.LinAlgError
    return factor


def cholesky(input: Tensor, *, upper: bool = False, out: Any = None) -> Tensor:
    """The lower triangular L with L L^T = input, of symmetric positive definite matrices.

    Raises LinAlgError where one is not positive definite.
    https://pytorch.org/docs/stable/generated/torch.linalg.cholesky.html

    >>> import tiny_torch as torch
    >>> torch.linalg.cholesky(torch.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    check_matrix("linalg.cholesky", "linalg_cholesky", "input", input)
    check_square("linalg.cholesky", input)
    check_floating("linalg.cholesky", input)
    check_precision("linalg.cholesky", input)
    return into_same(out, apply(LinalgCholeskyEx, input, bool(upper)))


def old_cholesky(input: Tensor, upper: bool = False, *, out: Any = None) -> Tensor:
    """linalg.cholesky under its old name."""
    return cholesky(input, upper=upper, out=out)


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
        return result, (A, *result, mode)

    @staticmethod
    @in_tensors
    def backward(saved, grads, needs):
        A, Q, R, mode = saved
        m, n = A.shape[-2:]
        if mode == "r":
            raise RuntimeError(
                "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. "
                "Please use linalg.qr(A, mode='reduced') if you are going to require the derivative"
            )
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
        return cat([first, Q @ to_rest], -1)


def through_qr(Q, R, to_Q, to_R):
    """The gradient of a tall or square A = Q R."""
    inner = (to_R @ R.mT - Q.mT @ to_Q).triu()
    inner = inner + inner.mT - inner.diagonal(0, -2, -1).diag_embed()
    return solve_triangular(R.mT, to_Q + Q @ inner, upper=False, left=False)


def empty_qr(A, mode):
    *batch, m, n = A.shape
    k = m if mode == "complete" else min(m, n)
    dtype = A.numpy().dtype
    Q = np.broadcast_to(np.eye(m, k, dtype=dtype), (*batch, m, k))
    return np.empty(0, dtype) if mode == "r" else Q, np.zeros((*batch, k, n), dtype)


def qr(A: Tensor, mode: str = "reduced", *, out: Any = None) -> Any:
    """A = Q R: Q with orthonormal columns, R upper triangular.

    (m, n) -> Q (m, k), R (k, n), where k is min(m, n) in mode "reduced", m in mode "complete"; in
    mode "r" Q is empty. https://pytorch.org/docs/stable/generated/torch.linalg.qr.html
    """
    check_matrix("linalg.qr", "linalg_qr", "A", A)
    check_floating("linalg.qr", A)
    check_precision("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', "
            "or 'complete'"
        )
    return named("linalg_qr", apply(LinalgQr, A, mode), out)


def old_qr(input: Tensor, some: bool = True, *, out: Any = None) -> Any:
    """linalg.qr in mode "reduced", or "complete" unless `some`.

    https://pytorch.org/docs/stable/generated/torch.qr.html
    """
    return named("qr", qr(input, "reduced" if some else "complete"), out)


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


def eigh(input: Tensor, UPLO: str = "L", *, out: Any = None) -> Any:
    """(eigenvalues, eigenvectors as columns) of symmetric matrices; values ascend.

    Only the lower (UPLO "L") or upper triangle is read. Raises LinAlgError where LAPACK finds none.
    https://pytorch.org/docs/stable/generated/torch.linalg.eigh.html
    """
    check_matrix("linalg.eigh", "linalg_eigh", "input", input)
    check_square("linalg.eigh", input)
    if not isinstance(UPLO, str) or UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    if not input.is_floating_point():
        raise not_implemented("linalg_eigh_cpu", input.dtype)
    check_precision("linalg.eigh", input)
    return named("linalg_eigh", apply(LinalgEigh, input, UPLO.upper()), out)


def eigvalsh(input: Tensor, UPLO: str = "L", *, out: Any = None) -> Tensor:
    """The eigenvalues of symmetric matrices, ascending.

    https://pytorch.org/docs/stable/generated/torch.linalg.eigvalsh.html
    """
    check_matrix("linalg.eigh", "linalg_eigvalsh", "input", input)
    return into_same(out, eigh(input, UPLO)[0])


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


def check_svd(A: Any, function: str, driver: str | None) -> None:
    check_matrix("linalg.svd", function, "A", A)
    if driver is not None:
        raise RuntimeError(
            f"torch.linalg.{function.removeprefix('linalg_')}: keyword argument `driver=` is only "
            "supported on CUDA inputs with cuSOLVER backend."
        )
    check_floating("linalg.svd", A)
    check_precision("linalg.svd", A)


def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None, out: Any = None):
    """A = U diag(S) Vh with orthonormal U and Vh and descending S; (m, n) -> (m, m), (k), (n, n).

    Without `full_matrices` U is (m, k) and Vh (k, n), k = min(m, n). Raises LinAlgError where
    LAPACK finds none. https://pytorch.org/docs/stable/generated/torch.linalg.svd.html
    """
    check_svd(A, "linalg_svd", driver)
    return named("linalg_svd", apply(LinalgSvd, A, bool(full_matrices)), out)


def svdvals(A: Tensor, *, driver: str | None = None, out: Any = None) -> Tensor:
    """The singular values, descending.

    https://pytorch.org/docs/stable/generated/torch.linalg.svdvals.html
    """
    check_svd(A, "linalg_svdvals", driver)
    return into_same(out, apply(LinalgSvd, A, False)[1])


def old_svd(input: Tensor, some: bool = True, compute_uv: bool = True, *, out: Any = None) -> Any:
    """U, S, V with input = U diag(S) V^T; U and V are zeros unless `compute_uv`.

    https://pytorch.org/docs/stable/generated/torch.svd.html
    """
    if compute_uv:
        U, S, Vh = svd(input, not some)
        return named("svd", (U, S, Vh.mT), out)
    S = svdvals(input)
    *batch, m, n = input.shape
    return named(
        "svd", (input.new_zeros((*batch, m, m)), S, input.new_zeros((*batch, n, n)).mT), out
    )


FUNCTIONS = {"qr": old_qr, "svd": old_svd, "cholesky": old_cholesky}
METHODS = FUNCTIONS

__all__ = ["LinAlgError", "cholesky", "eigh", "eigvalsh", "qr", "svd", "svdvals"]
