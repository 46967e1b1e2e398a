"""Triangular systems of equations, by substitution."""

from __future__ import annotations

from typing import Any

from tiny_torch.autograd.apply import apply
from tiny_torch.functions.common import into_same
from tiny_torch.functions.linalg.lapack import (
    check_floating,
    check_matrix,
    check_precision,
    check_right_side,
    check_square,
)
from tiny_torch.ops.linalg.lapack import check_broadcast
from tiny_torch.ops.linalg.triangular import LinalgSolveTriangular
from tiny_torch.tensor import Tensor


def solve_triangular(
    input: Tensor,
    B: Tensor,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
    out: Any = None,
) -> Tensor:
    """X with A X = B (or X A = B unless `left`), A = input triangular: (*, n, n), (*, n, k).

    A zero on the diagonal gives inf or NaN.
    https://pytorch.org/docs/stable/generated/torch.linalg.solve_triangular.html

    >>> import tiny_torch as torch
    >>> A, B = torch.tensor([[2.0, 1.0], [0.0, 4.0]]), torch.tensor([[4.0], [8.0]])
    >>> torch.linalg.solve_triangular(A, B, upper=True)
    tensor([[1.],
            [2.]])
    """
    name = "linalg.solve_triangular"
    check_matrix(name, input)
    check_pair(name, input, B, left)
    return into_same(out, apply(LinalgSolveTriangular, input, B, upper, left, unitriangular))


def check_pair(name: str, A: Tensor, B: Tensor, left: bool) -> None:
    """RuntimeError unless A X = B, or X A = B, has one solution by its shapes."""
    if A.dtype is not B.dtype:
        raise RuntimeError(
            f"{name}: Expected A and B to have the same dtype, but found A of type {A.dtype} and B "
            f"of type {B.dtype} instead"
        )
    check_floating(name, A)
    check_precision(name, A)
    check_square(name, A)
    check_right_side(name, A, B, left)
    check_broadcast(A.shape[:-2], B.shape[:-2])
