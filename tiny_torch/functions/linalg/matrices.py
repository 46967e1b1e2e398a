"""Functions of matrices, stacked in leading dims: pseudo-inverse, least squares, rank, condition,
powers and the exponential.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.op_mode import as_one
from tiny_torch.base.arguments import as_int
from tiny_torch.base.devices import array_module
from tiny_torch.base.dtypes import finfo
from tiny_torch.functions.common import into, into_same, name_results
from tiny_torch.functions.elementwise.floats import nan_to_num
from tiny_torch.functions.linalg.factor import eigh, svdvals
from tiny_torch.functions.linalg.lapack import (
    check_floating,
    check_matrix,
    check_precision,
    check_square,
)
from tiny_torch.functions.linalg.matmul import matmul
from tiny_torch.functions.linalg.solve import inv
from tiny_torch.functions.public import function, function_and_method, method
from tiny_torch.functions.reduce.norms import matrix_norm
from tiny_torch.ops.elementwise.arithmetic import everywhere
from tiny_torch.ops.linalg.lapack import check_broadcast
from tiny_torch.ops.linalg.matrices import LinalgLstsq, LinalgMatrixExp, LinalgPinv, rank_tolerance
from tiny_torch.ops.linalg.solve import inverse_where_regular
from tiny_torch.tensor import Tensor, wrap


@as_one
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


@as_one
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
    check_matrix("torch.linalg.matrix_rank", input)
    if not input.is_floating_point() or input.itemsize == 2:
        raise RuntimeError("This function doesn't handle types other than float and double")
    input = input.detach()
    if tol is not None:
        atol, rtol = tol, 0.0
    S = eigh(input)[0].abs() if hermitian else svdvals(input)
    largest = S.amax(-1) if S.shape[-1] else S.sum(-1)
    limit = rank_tolerance(input, largest, atol, rtol)
    return into(out, (limit.unsqueeze(-1) < S).sum(-1))


@as_one
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
    check_matrix(name, A, "input")
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
        dim = -1 if vector else -2
        raise RuntimeError(f"{name}: input.size(-2) should match other.size({dim})")
    check_broadcast(A.shape[:-2], columns.shape[:-2])
    driver = "gelsy" if driver is None else driver
    if driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(
            f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)"
        )
    batch = np.broadcast_shapes(tuple(A.shape[:-2]), tuple(columns.shape[:-2]))
    columns = columns.expand(*batch, *columns.shape[-2:])
    rcond = finfo(A.dtype).eps * max(A.shape[-2:]) if rcond is None else rcond
    X, residuals, rank, S = apply(LinalgLstsq, A, columns, rcond, driver)
    return name_results("linalg_lstsq", (X.squeeze(-1) if vector else X, residuals, rank, S), out)


# --------------------------------------------------------------------------------------- condition


@as_one
def cond(input: Tensor, p: Any = None, *, out: Any = None) -> Tensor:
    """The condition number |A| |A^-1| in the norm p (of matrix_norm; 2 without it).

    inf where a matrix is singular. https://pytorch.org/docs/stable/generated/torch.linalg.cond.html
    """
    check_matrix("linalg.cond", input)
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


@function
def matrix_power(input: Tensor, n: int, *, out: Any = None) -> Tensor:
    """A matrix multiplied n times; n < 0 takes the inverse, or raises LinAlgError without one.

    https://pytorch.org/docs/stable/generated/torch.linalg.matrix_power.html

    >>> import tiny_torch as torch
    >>> torch.linalg.matrix_power(torch.tensor([[1, 1], [0, 1]]), 5)
    tensor([[1, 5],
            [0, 1]])
    """
    check_matrix("linalg.matrix_power", input)
    n = as_int("linalg_matrix_power", "n", 2, n)
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


@method("matrix_power")
def matrix_power_method(self: Tensor, n: int) -> Tensor:
    return matrix_power(self, n)


@function_and_method
def matrix_exp(input: Tensor) -> Tensor:
    """The exponential of square matrices: I + A + A^2 / 2 + A^3 / 6 + ...

    https://pytorch.org/docs/stable/generated/torch.linalg.matrix_exp.html

    >>> import tiny_torch as torch
    >>> torch.linalg.matrix_exp(torch.tensor([[0.0, 1.0], [0.0, 0.0]]))
    tensor([[1., 1.],
            [0., 1.]])
    """
    check_matrix("linalg.matrix_exp", input)
    check_floating("linalg.matrix_exp", input)
    check_square("linalg.matrix_exp", input)
    return apply(LinalgMatrixExp, input)


@function_and_method("pinverse")
@as_one
def old_pinv(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """linalg.pinv under its old name."""
    return pinv(input, rtol=rcond)
