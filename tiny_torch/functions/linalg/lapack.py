"""What functions of linear algebra ask of a matrix."""

from __future__ import annotations

from typing import Any

from tiny_torch.base.dtypes import scalar_type
from tiny_torch.tensor import Tensor

WITHOUT_INVERSE = (
    "The diagonal element {} is zero, the inversion could not be completed because the input "
    "matrix is singular."
)


def check_matrix(name: str, function: str, argument: str, A: Any) -> None:
    """TypeError unless A is a tensor, RuntimeError unless it is at least a matrix."""
    if A.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")


def check_square(name: str, A: Tensor) -> None:
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {A.shape[-2]} by "
            f"{A.shape[-1]} matrices"
        )


def check_floating(name: str, A: Tensor) -> None:
    if not A.is_floating_point():
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got "
            f"{scalar_type(A.dtype)}"
        )


def check_input(
    name: str, argument: str, A: Any, error: type[Exception] = NotImplementedError
) -> None:
    """Square matrices of numbers that LAPACK takes; `error` is raised for half types."""
    check_matrix(name, name.replace(".", "_"), argument, A)
    check_square(name, A)
    check_floating(name, A)
    check_precision(name, A, error)


def check_precision(name: str, A: Tensor, error: type[Exception] = NotImplementedError) -> None:
    """Half types have no factorisations, as in PyTorch."""
    if A.is_floating_point() and A.itemsize == 2:
        raise error(f"{name}: Low precision dtypes not supported. Got {scalar_type(A.dtype)}")


def check_right_side(name: str, A: Tensor, B: Tensor, left: bool) -> None:
    """Of A X = B, or X A = B, with a square A."""
    if B.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor B must have at least 2 dimensions.")
    if A.shape[-1] != B.shape[-2 if left else -1]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation "
            f"{'AX = B' if left else 'XA = B'} ({A.shape[-2]}x{A.shape[-1]} and "
            f"{B.shape[-2]}x{B.shape[-1]})"
        )
