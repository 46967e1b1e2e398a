"""Systems of equations, inverses and determinants."""

from __future__ import annotations

from typing import Any

from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.op_mode import as_one
from tiny_torch.functions.common import into_same, name_results
from tiny_torch.functions.linalg.lapack import check_input, check_matrix, check_precision
from tiny_torch.functions.linalg.triangular import check_pair
from tiny_torch.functions.public import function_and_method
from tiny_torch.ops.linalg.solve import LinalgDet, LinalgInvEx, LinalgSlogdet, LinalgSolveEx
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
    check_input("linalg.inv", "A", A, RuntimeError)
    return into_same(out, apply(LinalgInvEx, A))


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
    name = "linalg.solve"
    check_matrix(name, "linalg_solve", "A", A)
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


def det(A: Tensor, *, out: Any = None) -> Tensor:
    """The determinants of square matrices.

    https://pytorch.org/docs/stable/generated/torch.linalg.det.html

    >>> import tiny_torch as torch
    >>> torch.linalg.det(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor(8.)
    """
    check_input("linalg.det", "A", A)
    return into_same(out, apply(LinalgDet, A))


@function_and_method("det")
def old_det(input: Tensor) -> Tensor:
    """linalg.det. https://pytorch.org/docs/stable/generated/torch.det.html"""
    return det(input)


def slogdet(A: Tensor, *, out: Any = None) -> Any:
    """The sign of the determinant, and the logarithm of its absolute value.

    https://pytorch.org/docs/stable/generated/torch.linalg.slogdet.html
    """
    check_input("linalg.slogdet", "A", A, RuntimeError)
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
