"""LU decompositions, and systems of equations solved by them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tiny_torch import _core
from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.op_mode import as_one
from tiny_torch.base import return_types
from tiny_torch.base.dtypes import SINGLE_AND_DOUBLE, check_implemented
from tiny_torch.functions.common import into_same, name_results, standalone
from tiny_torch.functions.linalg.lapack import (
    check_floating,
    check_matrix,
    check_right_side,
    check_same_types,
    check_square,
    warn_of_old_name,
)
from tiny_torch.functions.public import function, function_and_method, method
from tiny_torch.ops.linalg.lapack import by_rows, check_broadcast, check_info, lapack
from tiny_torch.ops.linalg.lu import LinalgLuFactorEx, order_of
from tiny_torch.ops.linalg.triangular import LinalgSolveTriangular
from tiny_torch.tensor import Tensor, wrap

SINGULAR = (
    "U[{0},{0}] is zero and using it on lu_solve would result in a division by zero. If you still "
    "want to perform the factorization, consider calling linalg.lu(A, pivot) or "
    "linalg.lu_factor_ex(A, pivot)"
)


def factors(name: str, A: Tensor, pivot: bool) -> Any:
    """LU, pivots and info of matrices."""
    check_data(name, A)
    check_implemented("lu_cpu", A.dtype, SINGLE_AND_DOUBLE)
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    return apply(LinalgLuFactorEx, A)


def check_data(name: str, A: Tensor) -> None:
    if A.ndim < 2:
        raise RuntimeError(
            f"{name}: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead"
        )


@as_one
def lu_factor_ex(
    A: Tensor, *, pivot: bool = True, check_errors: bool = False, out: Any = None
) -> Any:
    """(LU, pivots, info) of A = P L U, (*, m, n): L below the diagonal of LU, U on and above it.

    pivots[i] is the row, from 1, that row i was swapped with; info the first pivot that is 0, from
    1, or 0. Both are int32. Raises RuntimeError where one is 0, if `check_errors`.
    https://pytorch.org/docs/stable/generated/torch.linalg.lu_factor_ex.html

    >>> import tiny_torch as torch
    >>> torch.linalg.lu_factor_ex(torch.zeros(2, 2)).info
    tensor(1, dtype=torch.int32)
    """
    results = factors("torch.lu_factor", A, pivot)
    if check_errors:
        check_info("torch.linalg.lu_factor_ex", results[2], SINGULAR, RuntimeError)
    return name_results("linalg_lu_factor_ex", results, out)


@as_one
def lu_factor(A: Tensor, *, pivot: bool = True, out: Any = None) -> Any:
    """(LU, pivots) of linalg.lu_factor_ex. Raises RuntimeError where a pivot is 0.

    https://pytorch.org/docs/stable/generated/torch.linalg.lu_factor.html

    >>> import tiny_torch as torch
    >>> LU, pivots = torch.linalg.lu_factor(torch.tensor([[1.0, 3.0], [2.0, 4.0]]))
    >>> LU, pivots
    (tensor([[2.0000, 4.0000],
            [0.5000, 1.0000]]), tensor([2, 2], dtype=torch.int32))
    """
    LU, pivots, info = factors("torch.lu_factor", A, pivot)
    check_info("torch.linalg.lu_factor", info, SINGULAR, RuntimeError)
    return name_results("linalg_lu_factor", (LU, pivots), out)


@as_one
def lu(A: Tensor, *, pivot: bool = True, out: Any = None) -> Any:
    """(P, L, U) with A = P L U: (*, m, n) -> (*, m, m), (*, m, k), (*, k, n), k = min(m, n).

    P is a permutation, L lower triangular with ones on its diagonal, U upper triangular.
    https://pytorch.org/docs/stable/generated/torch.linalg.lu.html

    >>> import tiny_torch as torch
    >>> P, L, U = torch.linalg.lu(torch.tensor([[1.0, 3.0], [2.0, 4.0]]))
    >>> P @ L @ U
    tensor([[1., 3.],
            [2., 4.]])
    """
    LU, pivots, _ = factors("linalg.lu", A, pivot)
    return name_results("linalg_lu", (permutation(LU, pivots), *triangles(LU)), out)


@function("lu")
@as_one
def old_lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """(LU, pivots) of linalg.lu_factor_ex; with info if `get_infos`. A pivot may be 0.

    https://pytorch.org/docs/stable/generated/torch.lu.html
    """
    warn_of_old_name(
        "lu",
        "linalg.lu_factor / torch.linalg.lu_factor_ex",
        "LU, pivots = torch.lu(A, compute_pivots)\nshould be replaced with\n"
        "LU, pivots = torch.linalg.lu_factor(A, compute_pivots)\nand\n"
        "LU, pivots, info = torch.lu(A, compute_pivots, get_infos=True)\nshould be replaced with\n"
        "LU, pivots, info = torch.linalg.lu_factor_ex(A, compute_pivots)",
    )
    results = tuple(lu_factor_ex(A, pivot=pivot))[: 3 if get_infos else 2]
    if out is None:
        return return_types._lu_with_info(results) if get_infos else results
    if not isinstance(out, (tuple, list)):
        raise TypeError(f"argument 'out' must be tuple of Tensors, not {type(out).__name__}")
    if len(out) != len(results):
        raise TypeError(f"expected tuple of {len(results)} elements but got {len(out)}")
    for target, result in zip(out, results, strict=True):
        target.resize_as_(result).copy_(result)
    return out


@method("lu")
def lu_method(self: Tensor, pivot: bool = True, get_infos: bool = False) -> tuple:
    """torch.lu, whose results have no names here.

    https://pytorch.org/docs/stable/generated/torch.Tensor.lu.html
    """
    return tuple(old_lu(self, pivot, get_infos))


# -------------------------------------------------------------------------------------- unpacking


@function
@as_one
def lu_unpack(
    LU_data: Tensor,
    LU_pivots: Tensor,
    unpack_data: bool = True,
    unpack_pivots: bool = True,
    *,
    out: Any = None,
) -> Any:
    """(P, L, U) of what linalg.lu_factor answers; those not asked for are empty.

    Raises RuntimeError where pivots are not int32, or beyond the rows.
    https://pytorch.org/docs/stable/generated/torch.lu_unpack.html

    >>> import tiny_torch as torch
    >>> LU, pivots = torch.linalg.lu_factor(torch.tensor([[1.0, 3.0], [2.0, 4.0]]))
    >>> torch.lu_unpack(LU, pivots).L
    tensor([[1.0000, 0.0000],
            [0.5000, 1.0000]])
    """
    check_data("torch.lu_unpack", LU_data)
    if unpack_pivots and LU_pivots.dtype is not _core.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 "
            "dtype.\nNote: this function is intended to be used with the output produced by "
            "torch.linalg.lu_factor"
        )
    empty = LU_data.new_zeros(0)
    P, L, U = empty, empty, empty
    if unpack_pivots:
        if not ((LU_pivots >= 1) & (LU_pivots <= LU_data.shape[-2])).all():
            raise RuntimeError(
                "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive."
                "Did you properly pass the result of lu_factor?"
            )
        P = permutation(LU_data, LU_pivots)
    if unpack_data:
        L, U = triangles(LU_data)
    return name_results("lu_unpack", (P, L, U), out)


def rows_of(pivots: Tensor, m: int) -> Tensor:
    """(*, k) -> (*, m): which rows of A are those of L U, in their order."""
    return wrap(by_rows(lapack("lu_unpack", order_of, pivots.array, m=m)))


def permutation(LU: Tensor, pivots: Tensor) -> Tensor:
    """(*, m, m): a one in each column, at the row of A."""
    m = LU.shape[-2]
    rows = rows_of(pivots, m).unsqueeze(-2)
    return rows.new_zeros((*rows.shape[:-2], m, m)).scatter(-2, rows, 1).to(LU.dtype)


def triangles(LU: Tensor) -> tuple[Tensor, Tensor]:
    m, n = LU.shape[-2:]
    k = min(m, n)
    eye = LU.new_ones(k).diag_embed()
    if m > k:
        eye = eye.new_zeros(m, k).slice_scatter(eye, 0, 0, k)
    return (LU[..., :k].tril(-1) + eye).contiguous(), LU[..., :k, :].triu().contiguous()


# ---------------------------------------------------------------------------------------- systems


@as_one
def lu_solve(
    LU: Tensor,
    pivots: Tensor,
    B: Tensor,
    *,
    left: bool = True,
    adjoint: bool = False,
    out: Any = None,
) -> Tensor:
    """X with A X = B (X A = B unless `left`, A^T for A if `adjoint`), A by linalg.lu_factor.

    LU (*, n, n), pivots (*, n), B (*, n, k), or (*, k, n) unless `left`; batches broadcast. Raises
    RuntimeError where shapes or dtypes do not fit.
    https://pytorch.org/docs/stable/generated/torch.linalg.lu_solve.html

    >>> import tiny_torch as torch
    >>> LU, pivots = torch.linalg.lu_factor(torch.tensor([[1.0, 3.0], [2.0, 4.0]]))
    >>> torch.linalg.lu_solve(LU, pivots, torch.tensor([[4.0], [6.0]]))
    tensor([[1.],
            [1.]])
    """
    check_system(LU, pivots, B, left)
    batch = np.broadcast_shapes(tuple(LU.shape[:-2]), tuple(B.shape[:-2]))
    rows, B = rows_of(pivots, n := LU.shape[-1]).expand(*batch, n), B.expand(*batch, *B.shape[-2:])
    if not left:
        return into_same(out, solve_by_lu(LU, rows, B.mT, not adjoint).mT)
    return into_same(out, solve_by_lu(LU, rows, B, adjoint))


def solve_by_lu(LU: Tensor, rows: Tensor, B: Tensor, adjoint: bool) -> Tensor:
    """L U X = the rows of B; or U^T L^T X = B, whose rows are those of X."""
    if not adjoint:
        Y = apply(LinalgSolveTriangular, LU, take_rows(B, rows), False, True, True)
        return apply(LinalgSolveTriangular, LU, Y, True, True, False)
    Y = apply(LinalgSolveTriangular, LU.mT, B, False, True, False)
    Y = apply(LinalgSolveTriangular, LU.mT, Y, True, True, True)
    return take_rows(Y, rows.argsort(-1))


def take_rows(B: Tensor, rows: Tensor) -> Tensor:
    """Rows of B, which lie column after column."""
    rows = rows.unsqueeze(-2)
    return standalone(B.mT.gather(-1, rows.expand(B.mT.shape)).mT)


def check_system(LU: Tensor, pivots: Tensor, B: Tensor, left: bool) -> None:
    name = "linalg.lu_solve"
    check_matrix("torch." + name, LU)
    check_floating("torch." + name, LU)
    check_square("torch." + name, LU)
    if pivots.dtype is not _core.int32:
        raise RuntimeError(f"{name}: pivots should be a Tensor of scalar type torch.int32")
    check_same_types(f"{name}: ", "LU", LU, "B", B)
    check_right_side(name, LU, B, left)
    n = LU.shape[-1]
    if pivots.ndim == 0 or pivots.shape[-1] != n:
        raise RuntimeError(
            f"{name}: Number of pivots per batch should be same as the dimension of the matrix"
        )
    if pivots.shape != LU.shape[:-1]:
        raise RuntimeError(
            f"{name}: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with "
            f"shape {list(pivots.shape)} instead"
        )
    check_broadcast(LU.shape[:-2], B.shape[:-2])
    check_implemented("linalg.lu_solve_cpu", LU.dtype, SINGLE_AND_DOUBLE)
    for bad, place in ((pivots < 1, "greater or equal to 1"),
                       (pivots > n, "smaller or equal to LU.size(-2)")):  # fmt: skip
        if bad.any():
            raise RuntimeError(
                f"Pivots given to lu_solve must all be {place}. Did you properly pass the result "
                "of lu_factor?"
            )


@function_and_method("lu_solve")
@as_one
def old_lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Any = None) -> Tensor:
    """linalg.lu_solve with another order of arguments: X with A X = input.

    https://pytorch.org/docs/stable/generated/torch.lu_solve.html
    """
    warn_of_old_name(
        "lu_solve",
        "linalg.lu_solve",
        "Note that torch.linalg.lu_solve has its arguments reversed.\n"
        "X = torch.lu_solve(B, LU, pivots)\nshould be replaced with\n"
        "X = torch.linalg.lu_solve(LU, pivots, B)",
    )
    return lu_solve(LU_data, LU_pivots, input, out=out)
