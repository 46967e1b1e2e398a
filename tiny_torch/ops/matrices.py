"""Functions of matrices, stacked in leading dims: pseudo-inverse, least squares, rank, condition,
powers and the exponential.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tiny_torch import _core
from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.engine import sum_to
from tiny_torch.autograd.graph import Op
from tiny_torch.devices import array_module
from tiny_torch.ops.factor import eigh, svd, svdvals
from tiny_torch.ops.floats import nan_to_num
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
    in_tensors,
    lapack,
    svd_of_finite,
)
from tiny_torch.ops.matmul import matmul
from tiny_torch.ops.norms import matrix_norm
from tiny_torch.ops.pointwise import everywhere
from tiny_torch.ops.products import wide
from tiny_torch.ops.public import check_tensor, into, into_same, named
from tiny_torch.ops.solve import inv, inverse_where_regular
from tiny_torch.ops.triangular import check_broadcast
from tiny_torch.tensor import Tensor, wrap

EPSILON = {"float32": float(np.finfo(np.float32).eps), "float64": float(np.finfo(np.float64).eps)}


def epsilon(A: Any) -> float:
    return EPSILON[str(A.dtype).removeprefix("torch.")]


def threshold(A: Tensor, largest: Tensor, atol: Any, rtol: Any) -> Tensor:
    """Values up to max(atol, rtol * largest) count as zero; rtol is by default eps * max(m, n)."""
    if rtol is None:
        rtol = epsilon(A) * max(A.shape[-2:])
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
            S, U = eigh(x)
            V = U
        else:
            U, S, Vh = svd(x, False)
            V = Vh.mT
        sizes = S.abs()
        largest = sizes.amax(-1) if S.shape[-1] else S.sum(-1)
        counts = threshold(x, largest, atol, rtol).unsqueeze(-1) < sizes
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


def pinv(
    input: Tensor,
    rcond: Any = None,
    hermitian: bool = False,
    *,
    atol: Any = None,
    rtol: Any = None,
    out: Any = None,
) -> Tensor:
    """The pseudo-inverse (Moore-Penrose): (*, m, n) -> (*, n, m).

    Singular values up to max(atol, rtol * largest) count as zero.
    https://pytorch.org/docs/stable/generated/torch.linalg.pinv.html
    """
    if not isinstance(input, Tensor):
        raise TypeError("linalg_pinv() received an invalid combination of arguments")
    if input.ndim < 2 or not input.is_floating_point():
        raise RuntimeError(
            "linalg.pinv: expected a tensor with 2 or more dimensions of float or double types"
        )
    check_precision("linalg.pinv", input, RuntimeError)
    if hermitian:
        check_square("linalg.pinv", input)
    rtol = rcond if rcond is not None else rtol
    return into_same(out, apply(LinalgPinv, input, atol, rtol, hermitian))


def matrix_rank(
    input: Tensor,
    tol: Any = None,
    hermitian: bool = False,
    *,
    atol: Any = None,
    rtol: Any = None,
    out: Any = None,
) -> Tensor:
    """How many singular values are above max(atol, rtol * largest), as int64.

    https://pytorch.org/docs/stable/generated/torch.linalg.matrix_rank.html

    >>> import tiny_torch as torch
    >>> torch.linalg.matrix_rank(torch.tensor([[1.0, 2.0], [2.0, 4.0]]))
    tensor(1)
    """
    if not isinstance(input, Tensor):
        raise TypeError("linalg_matrix_rank() received an invalid combination of arguments")
    check_matrix("torch.linalg.matrix_rank", "linalg_matrix_rank", "input", input)
    if not input.is_floating_point() or input.itemsize == 2:
        raise RuntimeError("This function doesn't handle types other than float and double")
    input = input.detach()
    if tol is not None:
        atol, rtol = tol, 0.0
    S = eigh(input)[0].abs() if hermitian else svdvals(input)
    largest = S.amax(-1) if S.shape[-1] else S.sum(-1)
    limit = threshold(input, largest, atol, rtol)
    return into(out, (limit.unsqueeze(-1) < S).sum(-1))


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
        def solved(A, B):
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
        held, residuals, rank, S = lapack("torch.linalg.lstsq", solved, A, B, reason=reason)
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


def lstsq(
    input: Tensor,
    b: Tensor,
    rcond: float | None = None,
    *,
    driver: str | None = None,
    out: Any = None,
) -> Any:
    """The X of least |A X - b|: (solution, residuals, rank, singular_values); some may be empty.

    A is input, (*, m, n); b (*, m, k) or (*, m). Every driver is computed by singular values, so
    that A need not have full rank. https://pytorch.org/docs/stable/generated/torch.linalg.lstsq.html
    """
    name, A, B = "torch.linalg.lstsq", input, b
    check_tensor("linalg_lstsq", "input", 1, A)
    check_tensor("linalg_lstsq", "b", 2, B)
    if A.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if B.ndim < 1:
        raise RuntimeError(f"{name}: other must have at least 1 dimension.")
    if A.dtype is not B.dtype:
        raise RuntimeError(f"{name}: Expected input and other to have the same dtype")
    check_floating(name, A)
    check_precision(name, A)
    if not 0 <= A.ndim - B.ndim <= 1:
        raise RuntimeError(
            f"{name}: input.dim() must be greater or equal to other.dim() and (input.dim() - "
            "other.dim()) <= 1"
        )
    vector = A.ndim - 1 == B.ndim
    columns = B.unsqueeze(-1) if vector else B
    if columns.shape[-2] != A.shape[-2]:
        raise RuntimeError(f"{name}: input.size(-2) should match other.size(-2)")
    check_broadcast(A.shape[:-2], columns.shape[:-2])
    driver = "gelsy" if driver is None else driver
    if driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(
            f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)"
        )
    batch = np.broadcast_shapes(tuple(A.shape[:-2]), tuple(columns.shape[:-2]))
    columns = columns.expand(*batch, *columns.shape[-2:])
    rcond = epsilon(A) * max(A.shape[-2:]) if rcond is None else rcond
    X, residuals, rank, S = apply(LinalgLstsq, A, columns, rcond, driver)
    return named("linalg_lstsq", (X.squeeze(-1) if vector else X, residuals, rank, S), out)


# --------------------------------------------------------------------------------------- condition


def cond(input: Tensor, p: Any = None, *, out: Any = None) -> Tensor:
    """The condition number |A| |A^-1| in the norm p (of matrix_norm; 2 without it).

    inf where a matrix is singular. https://pytorch.org/docs/stable/generated/torch.linalg.cond.html
    """
    check_matrix("linalg.cond", "linalg_cond", "input", input)
    if p in (None, 2, -2):
        S = svdvals(input)
        if S.shape[-1] == 0:
            return into_same(out, S.sum(-1))
        largest, smallest = S[..., 0], S[..., -1]
        return into_same(out, smallest / largest if p == -2 else largest / smallest)
    if input.shape[-1] != input.shape[-2]:
        check_square(f"linalg.cond(ord={p})", input)
    if p not in ("fro", "nuc", 1, -1, math.inf, -math.inf):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    check_floating("linalg.cond", input)
    if input.numel() == 0:
        return into_same(out, input.new_zeros(tuple(input.shape[:-2])))
    if p == "nuc":
        S = svdvals(input)
        return into_same(out, S.sum(-1) * (1 / S).sum(-1))
    inverse, singular = inverse_where_regular(input)
    result = matrix_norm(input, p) * matrix_norm(inverse, p)
    result = result if singular is None else result.masked_fill(singular, math.inf)
    return into_same(out, nan_to_num(result, math.inf, math.inf, -math.inf))


# ------------------------------------------------------------------------------------------ powers


def matrix_power(input: Tensor, n: int, *, out: Any = None) -> Tensor:
    """A matrix multiplied n times; n < 0 takes the inverse, or raises LinAlgError without one.

    https://pytorch.org/docs/stable/generated/torch.linalg.matrix_power.html

    >>> import tiny_torch as torch
    >>> torch.linalg.matrix_power(torch.tensor([[1, 1], [0, 1]]), 5)
    tensor([[1, 5],
            [0, 1]])
    """
    check_matrix("linalg.matrix_power", "linalg_matrix_power", "input", input)
    if isinstance(n, bool) or not isinstance(n, int):
        raise TypeError(
            f"linalg_matrix_power(): argument 'n' (position 2) must be int, not {type(n).__name__}"
        )
    check_square("linalg.matrix_power", input)
    if n < 0:
        input, n = inv(input), -n
    if n == 3:  # in PyTorch's order
        return into_same(out, matmul(matmul(input, input), input))
    result = None
    while n:
        if n % 2:
            result = input if result is None else matmul(result, input)
        n //= 2
        input = matmul(input, input) if n else input
    if result is None:
        size = input.shape[-1]
        eye = wrap(array_module(input.array.device).full((size,), 1, input.dtype)).diag_embed()
        result = input.masked_fill(everywhere(input.detach(), True), 0).contiguous() + eye
    return into_same(out, result if result is not input else input.clone())


def matrix_power_method(self: Tensor, n: int) -> Tensor:
    return matrix_power(self, n)


SERIES_NORM = {_core.float32: 3.0, _core.float64: 1.0}  # up to it, 20 terms are exact


class LinalgMatrixExp(Op):
    """Taylor's series of A / 2^s, squared s times; each matrix has its s."""

    saves = (0,)

    @staticmethod
    def forward(A):
        x = wide(A)
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
        left = cat([A.mT, A.detach() * 0], -2)
        right = cat([grad / scale, A.mT], -2)
        return apply(LinalgMatrixExp, cat([left, right], -1))[..., :n, n:] * scale


def matrix_exp(input: Tensor) -> Tensor:
    """The exponential of square matrices: I + A + A^2 / 2 + A^3 / 6 + ...

    https://pytorch.org/docs/stable/generated/torch.linalg.matrix_exp.html

    >>> import tiny_torch as torch
    >>> torch.linalg.matrix_exp(torch.tensor([[0.0, 1.0], [0.0, 0.0]]))
    tensor([[1., 1.],
            [0., 1.]])
    """
    check_matrix("linalg.matrix_exp", "linalg_matrix_exp", "input", input)
    check_floating("linalg.matrix_exp", input)
    check_square("linalg.matrix_exp", input)
    return apply(LinalgMatrixExp, input)


def old_pinv(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """linalg.pinv under its old name."""
    return pinv(input, rtol=rcond)


FUNCTIONS = {"matrix_exp": matrix_exp, "pinverse": old_pinv, "matrix_power": matrix_power}
METHODS = {**FUNCTIONS, "matrix_power": matrix_power_method}
