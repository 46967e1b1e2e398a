"""Pseudo-inverse, least squares, exponential and eigenvalues of matrices, in leading dims."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tiny_torch import _core
from tiny_torch.autograd.apply import apply, apply_many
from tiny_torch.autograd.engine import sum_to
from tiny_torch.autograd.graph import Op
from tiny_torch.base.devices import array_module
from tiny_torch.base.dtypes import finfo
from tiny_torch.ops.elementwise.cast import widen
from tiny_torch.ops.linalg.factor import LinalgEigh, LinalgSvd, columns, over_differences
from tiny_torch.ops.linalg.lapack import (
    LinAlgError,
    all_finite,
    by_columns,
    by_rows,
    check_broadcast,
    eig_of_finite,
    in_tensors,
    lapack,
    svd_of_finite,
)
from tiny_torch.ops.linalg.solve import solve_regular
from tiny_torch.ops.shape.join import Cat
from tiny_torch.tensor import Tensor, wrap


def rank_tolerance(A: Tensor, largest: Tensor, atol: Any, rtol: Any) -> Tensor:
    """Values up to max(atol, rtol * largest) count as zero; rtol is by default eps * max(m, n)."""
    if rtol is None:
        rtol = finfo(A.dtype).eps * max(A.shape[-2:])
        if atol is not None:
            rtol = (atol <= 0) * rtol if isinstance(atol, Tensor) else 0.0 if atol > 0 else rtol
    tolerance = largest * rtol
    if atol is None:
        return tolerance
    atol = atol if isinstance(atol, Tensor) else largest * 0 + atol
    check_broadcast(atol.shape, tolerance.shape)
    return (atol + tolerance * 0).maximum(tolerance + atol * 0)


# ---------------------------------------------------------------------------------- pseudo-inverse


class LinalgPinv(Op):
    """V diag(1 / S) U^T, where S above the threshold."""

    saves = (0, ~0)

    @staticmethod
    def forward(A, atol, rtol, hermitian):
        x = wrap(A)
        if hermitian:
            S, U = apply(LinalgEigh, x, "L")
            V = U
        else:
            U, S, Vh = apply(LinalgSvd, x, False)
            V = Vh.mT
        sizes = S.abs()
        largest = sizes.amax(-1) if S.shape[-1] else S.sum(-1)
        counts = rank_tolerance(x, largest, atol, rtol).unsqueeze(-1) < sizes
        factor = counts.to(S.dtype) / S.masked_fill(~counts, 1)
        result = (V * factor.unsqueeze(-2)) @ U.mT
        return result.contiguous().array, (A, result.array)

    @staticmethod
    @in_tensors
    def backward(saved, grad, needs):
        A, P = saved
        return sum_to(through_pinv(A, P, grad), tuple(A.shape), grad.dtype)


def through_pinv(A, P, grad):
    """Golub and Pereyra's derivative of the pseudo-inverse P of A, of constant rank."""
    m, n = A.shape[-2:]
    if m <= n:
        K = grad.mT @ P
        KPt = K @ P.mT
        return -((P @ K).mT) + KPt - (A @ P) @ KPt + (P.mT @ P) @ (grad.mT - K @ A)
    K = P @ grad.mT
    PtK = P.mT @ K
    return -((K @ P).mT) + (grad.mT - A @ K) @ P @ P.mT + PtK - (PtK @ P) @ A


# ----------------------------------------------------------------------------------- least squares


class LinalgLstsq(Op):
    """(solution, residuals, rank, singular values) of min |A X - B|, by singular values.

    B has all dims of the batch; rank and singular values have only A's.
    """

    arity = 2
    outputs = 4
    saves = (0, 1, ~0)

    @staticmethod
    def forward(A, B, rcond, driver):
        def solve(A, B):
            m, n = A.shape[-2:]
            if np.isnan(B).any() or (driver == "gelsd" and not all_finite(A)):
                raise np.linalg.LinAlgError
            U, S, Vh = svd_of_finite(A, False)
            largest = S[..., :1] if S.size else np.zeros((*S.shape[:-1], 1), S.dtype)
            kept = rcond * largest < S
            factor = np.where(kept, 1 / np.where(kept, S, 1), 0)
            rank = kept.sum(-1)
            # As LAPACK leaves it: in the first n rows of a matrix of max(m, n).
            held = np.zeros((*B.shape[:-2], max(m, n), B.shape[-1]), B.dtype)
            held[..., :n, :] = Vh.swapaxes(-1, -2) @ (factor[..., None] * (U.swapaxes(-1, -2) @ B))
            held[np.isinf(B).any((-2, -1))] = np.nan
            residuals = np.empty(0, B.dtype)
            if driver != "gelsy" and m > n and (rank == n).all():
                residuals = ((A @ held[..., :n, :] - B) ** 2).sum(-2)
            return held, residuals, rank, S

        reason = "The solution could not be computed because the input is not finite."
        held, residuals, rank, S = lapack("torch.linalg.lstsq", solve, A, B, reason=reason)
        if driver == "gels" and (rank < S.shape[-1]).any():
            raise LinAlgError(
                "torch.linalg.lstsq: The least squares solution could not be computed because the "
                "input matrix does not have full rank."
            )
        solution = by_columns(held).slice(-2, 0, A.shape[-1], 1)
        if driver == "gels":
            rank = np.empty(0, np.int64)
        if driver not in ("gelsd", "gelss"):
            S = np.empty(0, S.dtype)
        results = solution, by_rows(residuals), by_rows(rank), by_rows(S)
        return results, (A, B, results[0])

    @staticmethod
    @in_tensors
    def backward(saved, grads, needs):
        A, B, X = saved
        A_shape = tuple(A.shape)
        P = apply(LinalgPinv, A, None, None, False)
        to_A = to_B = None
        if grads[0] is not None:
            to_A = through_pinv(A, P, grads[0] @ B.mT)
            to_B = P.mT @ grads[0]
        if grads[1] is not None and grads[1].numel():
            error = 2 * (A @ X - B) * grads[1].unsqueeze(-2)
            to_A = error @ X.mT if to_A is None else to_A + error @ X.mT
            to_B = -error if to_B is None else to_B - error
        return None if to_A is None else sum_to(to_A, A_shape, X.dtype), to_B


SERIES_NORM = {_core.float32: 3.0, _core.float64: 1.0}  # up to it, 20 terms are exact


class LinalgMatrixExp(Op):
    """Taylor's series of A / 2^s, squared s times; each matrix has its s."""

    saves = (0,)

    @staticmethod
    def forward(A):
        x = widen(A)
        size = x.shape[-1]
        if x.size == 0:
            empty = array_module(A.device).full(A.shape, 0, A.dtype) if size else A.clone()
            return empty, (A,)
        if size == 1:
            return A.exp(), (A,)
        norms = x.abs().sum((-1,), False).amax((-1,), False).numpy()  # of each matrix
        exponents = np.frexp(norms / SERIES_NORM[x.dtype])[1]
        finite = np.isfinite(norms)
        squarings = np.where(finite, exponents.clip(0), 0)
        scales = np.where(
            finite, np.ldexp(norms.dtype.type(1), -squarings), norms.dtype.type(np.nan)
        )
        x = x * by_rows(scales).unsqueeze(-1).unsqueeze(-1)
        x2 = x.matmul(x)
        x3 = x2.matmul(x)
        x4 = x2.matmul(x2)
        eye = np.eye(size, dtype=x.numpy().dtype)
        eye = by_rows(np.ascontiguousarray(np.broadcast_to(eye, x.shape)))
        result = None
        for k in (16, 12, 8, 4, 0):  # by Horner's rule in x4, four terms at a time
            term = eye * (1 / math.factorial(k))
            for power, i in ((x, 1), (x2, 2), (x3, 3)):
                term = term + power * (1 / math.factorial(k + i))
            result = term if result is None else result.matmul(x4) + term
        for done in range(squarings.max()):
            left = by_rows(done < squarings).unsqueeze(-1).unsqueeze(-1)
            result = left.where(result.matmul(result), result)
        return result if result.dtype is A.dtype else result.astype(A.dtype), (A,)

    @staticmethod
    @in_tensors
    def backward(saved, grad, needs):
        # exp of [[A^T, grad], [0, A^T]] has the gradient in its upper right; a large grad would
        # cost digits, so it is scaled first.
        (A,) = saved
        n = A.shape[-1]
        scale = grad.detach().abs().amax().item() if grad.numel() else 0.0
        scale = scale if 0 < scale < math.inf else 1.0
        left = apply_many(Cat, (A.mT, A.detach() * 0), -2)
        right = apply_many(Cat, (grad / scale, A.mT), -2)
        return apply(LinalgMatrixExp, apply_many(Cat, (left, right), -1))[..., :n, n:] * scale


# ------------------------------------------------------------------------------------ eigenvalues


class LinalgEig(Op):
    """A V = V diag(values), where all values are real; the columns of V have length 1."""

    outputs = 2
    saves = (~0, ~1)

    @staticmethod
    def forward(A):
        if A.size == 0:
            values, vectors = np.empty(A.shape[:-1], A.dtype.name), np.empty(A.shape, A.dtype.name)
        else:
            values, vectors = lapack("linalg.eig", eig_of_finite, A)
        result = by_rows(values), by_columns(vectors)
        return result, result

    @staticmethod
    @in_tensors
    def backward(saved, grads, needs):
        values, V = saved
        to_values, to_V = grads
        if to_V is None:
            return solve_regular(V.mT, to_values.unsqueeze(-1) * V.mT)
        turn = V.mT @ to_V
        lengths = V.mT @ (V * columns(turn.diagonal(0, -2, -1)))  # which stay 1
        inner = over_differences(turn - lengths, values)
        if to_values is not None:
            inner = inner + to_values.diag_embed()
        return solve_regular(V.mT, inner @ V.mT)
