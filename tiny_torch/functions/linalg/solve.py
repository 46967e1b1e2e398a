"""Systems of equations, inverses and determinants."""

from __future__ import annotations

import math
from typing import Any

from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.op_mode import as_one
from tiny_torch.base.arguments import as_int
from tiny_torch.functions.common import into_same, name_results, standalone
from tiny_torch.functions.linalg.lapack import (
    WITHOUT_INVERSE,
    check_input,
    check_matrix,
    check_precision,
)
from tiny_torch.functions.linalg.triangular import check_pair
from tiny_torch.functions.public import function_and_method
from tiny_torch.ops.linalg.lapack import check_info
from tiny_torch.ops.linalg.solve import (
    SINGULAR,
    LinalgDet,
    LinalgInvEx,
    LinalgSlogdet,
    LinalgSolveEx,
)
from tiny_torch.tensor import Tensor


@as_one
def inv(A: Tensor, *, out: Any = None) -> Tensor:
    """The inverses of square matrices. Raises LinAlgError where one is singular.

    https://pytorch.org/docs/stable/generated/torch.linalg.inv.html

    >>> import tiny_torch as torch
    >>> torch.linalg.inv(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    return into_same(out, regular_inverse("linalg.inv", A))


def regular_inverse(name: str, A: Tensor) -> Tensor:
    check_input("linalg.inv", A, RuntimeError)
    inverse, info = apply(LinalgInvEx, A)
    check_info(name, info, WITHOUT_INVERSE)
    return inverse


@as_one
def inv_ex(A: Tensor, *, check_errors: bool = False, out: Any = None) -> Any:
    """(inverse, info) of square matrices: info is int32, above 0 where a matrix is singular.

    Raises LinAlgError there if `check_errors`; else that inverse is of inf and NaN.
    https://pytorch.org/docs/stable/generated/torch.linalg.inv_ex.html

    >>> import tiny_torch as torch
    >>> torch.linalg.inv_ex(torch.tensor([[[2.0]], [[0.0]]])).info
    tensor([0, 1], dtype=torch.int32)
    """
    check_input("linalg.inv", A, RuntimeError)
    results = apply(LinalgInvEx, A)
    if check_errors:
        check_info("linalg.inv_ex", results[1], WITHOUT_INVERSE)
    return name_results("linalg_inv_ex", results, out)


@function_and_method
def inverse(input: Tensor, *, out: Any = None) -> Tensor:
    """linalg.inv. https://pytorch.org/docs/stable/generated/torch.inverse.html"""
    return inv(input, out=out)


@as_one
def solve(A: Tensor, B: Tensor, *, left: bool = True, out: Any = None) -> Tensor:
    """X with A X = B (or X A = B unless `left`): A (*, n, n), B (*, n, k), or (*, n) as A's batch.

    Raises LinAlgError where a matrix is singular.
    https://pytorch.org/docs/stable/generated/torch.linalg.solve.html

    >>> import tiny_torch as torch
    >>> torch.linalg.solve(torch.tensor([[2.0, 0.0], [0.0, 4.0]]), torch.ones(2))
    tensor([0.5000, 0.2500])
    """
    X, info = solution_and_info(A, B, left, RuntimeError)
    check_info("torch.linalg.solve", info, SINGULAR)
    return into_same(out, X)


@as_one
def solve_ex(
    A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False, out: Any = None
) -> Any:
    """(result, info) of linalg.solve: info is int32, above 0 where a matrix of A is singular.

    Raises LinAlgError there if `check_errors`; else that result is of inf and NaN.
    https://pytorch.org/docs/stable/generated/torch.linalg.solve_ex.html

    >>> import tiny_torch as torch
    >>> torch.linalg.solve_ex(torch.tensor([[[2.0]], [[0.0]]]), torch.ones(2, 1)).info
    tensor([0, 1], dtype=torch.int32)
    """
    X, info = solution_and_info(A, B, left, NotImplementedError)
    if check_errors:
        check_info("torch.linalg.solve_ex", info, SINGULAR)
    return name_results("linalg_solve_ex", (X, info), out)


def solution_and_info(
    A: Tensor, B: Tensor, left: bool, error: type[Exception]
) -> tuple[Tensor, Tensor]:
    """X, and info of A's batch; `error` is raised for half types."""
    name = "linalg.solve"
    check_matrix(name, A)
    vector = B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1])
    if vector and not left:
        raise RuntimeError(
            "linalg.solve: Vector broadcasting of the left hand side is not supported for "
            "left=False. In this case linalg.solve is equivalent to B / A.squeeze(-1)"
        )
    columns = B.unsqueeze(-1) if vector else B
    check_precision(name, A, error)
    check_pair(name, A, columns, left)
    if left:
        return apply(LinalgSolveEx, A, B, vector)
    X, info = apply(LinalgSolveEx, A.mT, B.mT, False)
    return X.mT, info


# ----------------------------------------------------------------------------------------- tensors


@as_one
def tensorinv(input: Tensor, ind: int = 2, *, out: Any = None) -> Tensor:
    """The inverse for tensordot(input, ., ind): (*a, *b) -> (*b, *a), cut before dim `ind`.

    Raises RuntimeError unless a and b have one product, LinAlgError without an inverse.
    https://pytorch.org/docs/stable/generated/torch.linalg.tensorinv.html

    >>> import tiny_torch as torch
    >>> torch.linalg.tensorinv(torch.eye(6).reshape(2, 3, 6)).shape
    torch.Size([6, 2, 3])
    """
    ind = as_int("linalg_tensorinv", "ind", None, ind)
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    if ind > input.ndim:
        raise RuntimeError(f"ArrayRef: invalid slice, N = {ind}; size = {input.ndim}")
    left, right = input.shape[:ind], input.shape[ind:]
    check_products("ind", math.prod(right), math.prod(left))
    inverse = regular_inverse("inv", input.reshape(math.prod(left), math.prod(right)))
    result = standalone(inverse.reshape(*right, *left))
    return result if out is None else into_same(out, result.contiguous())


@as_one
def tensorsolve(input: Tensor, other: Tensor, dims: Any = None, *, out: Any = None) -> Tensor:
    """X with tensordot(input, X, X.ndim) = other, after `dims` of input were moved to its end.

    input (*b, *x), other (*b) -> X (*x). Raises RuntimeError unless b and x have one product,
    LinAlgError without a solution.
    https://pytorch.org/docs/stable/generated/torch.linalg.tensorsolve.html

    >>> import tiny_torch as torch
    >>> torch.linalg.tensorsolve(torch.eye(6).reshape(2, 3, 6), torch.ones(2, 3)).shape
    torch.Size([6])
    """
    if dims is not None:
        input = input.movedim(dims, tuple(range(input.ndim - len(dims), input.ndim)))
    shape = input.shape[other.ndim :]
    size = math.prod(shape)
    check_products("other.ndim", size, other.numel())
    X = solve(input.reshape(size, size), other.reshape(-1))
    return into_same(out, standalone(X.reshape(shape)))


def check_products(cut: str, right: int, left: int) -> None:
    if right != left:
        raise RuntimeError(
            f"Expected self to satisfy the requirement prod(self.shape[{cut}:]) == "
            f"prod(self.shape[:{cut}]), but got {right} != {left}"
        )


# ------------------------------------------------------------------------------------ determinants


def det(A: Tensor, *, out: Any = None) -> Tensor:
    """The determinants of square matrices.

    https://pytorch.org/docs/stable/generated/torch.linalg.det.html

    >>> import tiny_torch as torch
    >>> torch.linalg.det(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor(8.)
    """
    check_input("linalg.det", A)
    return into_same(out, apply(LinalgDet, A))


@function_and_method("det")
def old_det(input: Tensor) -> Tensor:
    """linalg.det. https://pytorch.org/docs/stable/generated/torch.det.html"""
    return det(input)


def slogdet(A: Tensor, *, out: Any = None) -> Any:
    """The sign of the determinant, and the logarithm of its absolute value.

    https://pytorch.org/docs/stable/generated/torch.linalg.slogdet.html
    """
    check_input("linalg.slogdet", A, RuntimeError)
    return name_results("linalg_slogdet", apply(LinalgSlogdet, A), out)


@function_and_method("slogdet")
def old_slogdet(input: Tensor, *, out: Any = None) -> Any:
    """linalg.slogdet. https://pytorch.org/docs/stable/generated/torch.slogdet.html"""
    return name_results("slogdet", slogdet(input), out)


@function_and_method
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant; NaN where that is negative.

    https://pytorch.org/docs/stable/generated/torch.logdet.html
    """
    sign, logarithm = slogdet(input)
    return logarithm.masked_fill(sign == -1, float("nan"))
