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
from tiny_torch.ops.factor import svd
from tiny_torch.ops.lapack import (
    LinAlgError,
    by_columns,
    by_rows,
    check_floating,
    check_matrix,
    check_precision,
    check_square,
    in_tensors,
    lapack,
    without_nan,
)
from tiny_torch.ops.pointwise import everywhere
from tiny_torch.ops.public import check_tensor, into_same, named
from tiny_torch.ops.triangular import check_pair
from tiny_torch.tensor import Tensor, wrap

INV, SOLVE = without_nan(np.linalg.inv), without_nan(np.linalg.solve)
DET = without_nan(lambda A: np.asarray(np.linalg.det(A)))
SLOGDET = without_nan(lambda A: tuple(map(np.asarray, np.linalg.slogdet(A))))

# ---------------------------------------------------------------------------------------- inverse


class LinalgInvEx(Op):
    saves = (~0,)

    @staticmethod
    def forward(A):
        reason = "The inversion could not be completed because the input matrix is singular."
        result = by_columns(lapack("linalg.inv", INV, A, reason=reason))
        return result, (result,)

    @staticmethod
    @in_tensors
    def backward(saved, grad, needs):
        (inverse,) = saved
        return -(inverse.mT @ grad @ inverse.mT)


def inv(A: Tensor, *, out: Any = None) -> Tensor:
    """The inverses of square matrices. Raises LinAlgError where one is singular.

    https://pytorch.org/docs/stable/generated/torch.linalg.inv.html

    >>> import tiny_torch as torch
    >>> torch.linalg.inv(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    check_matrix("linalg.inv", "linalg_inv", "A", A)
    check_square("linalg.inv", A)
    check_floating("linalg.inv", A)
    check_precision("linalg.inv", A, RuntimeError)
    return into_same(out, apply(LinalgInvEx, A))


def inverse_where_regular(A: Tensor) -> tuple[Tensor, Tensor | None]:
    """The inverses, of the identity instead of singular matrices; and which these are."""
    try:
        return inv(A), None
    except LinAlgError:
        singular = wrap(by_rows(lapack("linalg.det", DET, A.detach().array) == 0))
        mask = singular.unsqueeze(-1).unsqueeze(-1)
        eye = wrap(by_rows(np.eye(A.shape[-1]))).to(A.dtype)
        return inv(A.masked_fill(mask, 0) + eye * mask), singular


def inverse(input: Tensor, *, out: Any = None) -> Tensor:
    """linalg.inv. https://pytorch.org/docs/stable/generated/torch.inverse.html"""
    return inv(input, out=out)


# ------------------------------------------------------------------------------------------ solve


class LinalgSolveEx(Op):
    """X with A X = B: A (..., n, n), B (..., n, k), or (..., n) if `vector`; batches broadcast."""

    arity = 2
    saves = (0, ~0)

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


def solve(A: Tensor, B: Tensor, *, left: bool = True, out: Any = None) -> Tensor:
    """X with A X = B (or X A = B unless `left`): A (*, n, n), B (*, n, k), or (*, n) as A's batch.

    Raises LinAlgError where a matrix is singular.
    https://pytorch.org/docs/stable/generated/torch.linalg.solve.html

    >>> import tiny_torch as torch
    >>> torch.linalg.solve(torch.tensor([[2.0, 0.0], [0.0, 4.0]]), torch.ones(2))
    tensor([0.5000, 0.2500])
    """
    name = "linalg.solve"
    check_matrix(name, "linalg_solve", "A", A)
    check_tensor("linalg_solve", "B", 2, B)
    vector = B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1])
    if vector and not left:
        raise RuntimeError(
            "linalg.solve: Vector broadcasting of the left hand side is not supported for "
            "left=False. In this case linalg.solve is equivalent to B / A.squeeze(-1)"
        )
    columns = B.unsqueeze(-1) if vector else B
    check_precision(name, A, RuntimeError)
    check_pair(name, A, columns, left)
    if left:
        return into_same(out, apply(LinalgSolveEx, A, B, vector))
    return into_same(out, apply(LinalgSolveEx, A.mT, B.mT, False).mT)


# ----------------------------------------------------------------------------------- determinants


class LinalgDet(Op):
    saves = (0, ~0)

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
        return det.unsqueeze(-1).unsqueeze(-1) * inv(A).mT
    if A.ndim > 2 and not singular.all():
        result = A.new_zeros(A.shape)
        for of in (singular, ~singular):
            result = result.index_put((of,), cofactors(A[of], det[of]))
        return result
    U, S, Vh = svd(A)
    n = S.shape[-1]
    others = S.unsqueeze(-2).expand(*S.shape, n)
    eye = everywhere(others.detach(), True).tril().triu()
    others = others.masked_fill(eye, 1).prod(-1)
    sign = apply(LinalgDet, U.detach() @ Vh.detach()).sign()
    return sign.unsqueeze(-1).unsqueeze(-1) * (U * others.unsqueeze(-2)) @ Vh


def det(A: Tensor, *, out: Any = None) -> Tensor:
    """The determinants of square matrices.

    https://pytorch.org/docs/stable/generated/torch.linalg.det.html

    >>> import tiny_torch as torch
    >>> torch.linalg.det(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor(8.)
    """
    check_determinant("linalg.det", "linalg_det", A, NotImplementedError)
    return into_same(out, apply(LinalgDet, A))


def check_determinant(name, function, A, error):
    check_matrix(name, function, "A", A)
    check_square(name, A)
    check_floating(name, A)
    check_precision(name, A, error)


def old_det(input: Tensor) -> Tensor:
    """linalg.det. https://pytorch.org/docs/stable/generated/torch.det.html"""
    return det(input)


class LinalgSlogdet(Op):
    """(sign, log |det|)"""

    outputs = 2
    saves = (0,)

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


def slogdet(A: Tensor, *, out: Any = None) -> Any:
    """The sign of the determinant, and the logarithm of its absolute value.

    https://pytorch.org/docs/stable/generated/torch.linalg.slogdet.html
    """
    check_determinant("linalg.slogdet", "linalg_slogdet", A, RuntimeError)
    return named("linalg_slogdet", apply(LinalgSlogdet, A), out)


def old_slogdet(input: Tensor, *, out: Any = None) -> Any:
    """linalg.slogdet. https://pytorch.org/docs/stable/generated/torch.slogdet.html"""
    return named("slogdet", slogdet(input), out)


def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant; NaN where that is negative.

    https://pytorch.org/docs/stable/generated/torch.logdet.html
    """
    sign, logarithm = slogdet(input)
    return logarithm.masked_fill(sign == -1, float("nan"))


FUNCTIONS = {"inverse": inverse, "det": old_det, "slogdet": old_slogdet, "logdet": logdet}
METHODS = FUNCTIONS
