"""What functions of linear algebra ask of a matrix."""

from __future__ import annotations

import warnings
from typing import Any

from tiny_torch.base.dtypes import scalar_type
from tiny_torch.tensor import Tensor

WITHOUT_INVERSE = (
    "The diagonal element {} is zero, the inversion could not be completed because the input "
    "matrix is singular."
)


def warn_of_old_name(name: str, new: str, how: str) -> None:
    warnings.warn(
        f"torch.{name} is deprecated in favor of torch.{new} and will be removed in a future "
        f"PyTorch release.\n{how}",
        stacklevel=3,
    )


def check_matrix(name: str, A: Any, argument: str = "The input tensor A") -> None:
    if A.ndim < 2:
        raise RuntimeError(f"{name}: {argument} must have at least 2 dimensions.")


def check_vectors(function: str, **vectors: Tensor) -> None:
    for name, vector in vectors.items():
        if vector.ndim != 1:
            raise RuntimeError(f"{function}: Expected 1-D argument {name}, but got {vector.ndim}-D")


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


def check_input(name: str, A: Any, error: type[Exception] = NotImplementedError) -> None:
    """Square matrices of numbers that LAPACK takes; `error` is raised for half types."""
    check_matrix(name, A)
    check_square(name, A)
    check_floating(name, A)
    check_precision(name, A, error)


def check_same_types(name: str, a: str, A: Tensor, b: str, B: Tensor, end: str = "") -> None:
    if A.dtype is not B.dtype:
        raise RuntimeError(
            f"{name}Expected {a} and {b} to have the same dtype, but found {a} of type "
            f"{scalar_type(A.dtype)} and {b} of type {scalar_type(B.dtype)} instead{end}"
        )


def check_precision(name: str, A: Tensor, error: type[Exception] = NotImplementedError) -> None:
    """Half types have no factorisations, as in PyTorch."""
    if A.is_floating_point() and A.itemsize == 2:
        raise error(f"{name}: Low precision dtypes not supported. Got {scalar_type(A.dtype)}")


def check_right_side(name: str, A: Tensor, B: Tensor, left: bool) -> None:
    """Of A X = B, or X A = B, with a square A."""
    check_matrix(name, B, "The input tensor B")
    if A.shape[-1] != B.shape[-2 if left else -1]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation "
            f"{'AX = B' if left else 'XA = B'} ({A.shape[-2]}x{A.shape[-1]} and "
            f"{B.shape[-2]}x{B.shape[-1]})"
        )
