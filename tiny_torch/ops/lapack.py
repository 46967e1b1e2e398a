"""NumPy's LAPACK on our arrays, and what the modules of linear algebra share.

LAPACK writes matrices by columns, so that is how factors lie in memory; PyTorch's do, too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from tiny_torch import _core
from tiny_torch.dtypes import scalar_type
from tiny_torch.ops.public import check_tensor
from tiny_torch.tensor import Tensor, wrap


class _LinAlgError(RuntimeError):
    """A matrix does not allow what was asked: it is singular, or not positive definite, ..."""


LinAlgError = _LinAlgError  # PyTorch's class has that name, too


def lapack(name: str, function: Callable, *arrays: Any, reason: str = "failed", **options: Any):
    """NumPy's function of the arrays; its results as NumPy's arrays.

    Raises LinAlgError with the reason, and the first matrix of a batch that it is true of.
    """
    for array in arrays:
        if array.device != "cpu":
            raise NotImplementedError(f"[{name}] is not implemented on {array.device}")
    values = [array.numpy() for array in arrays]
    with np.errstate(all="ignore"):
        try:
            return function(*values, **options)
        except np.linalg.LinAlgError as error:
            batch = ""
            if values[0].ndim > 2:
                batch = f"(Batch element {first_failure(function, values[0], options)}): "
            raise LinAlgError(f"{name}: {batch}{reason}") from error


def first_failure(function: Callable, matrices: Any, options: dict) -> int:
    test = np.linalg.inv if function is np.linalg.solve else function
    for i, matrix in enumerate(matrices.reshape(-1, *matrices.shape[-2:])):
        try:
            test(matrix, **options)
        except np.linalg.LinAlgError:
            return i
    return 0


def by_rows(values: Any) -> Any:
    """An NDArray of NumPy's values, contiguous."""
    values = np.require(values, requirements=("C", "W"))  # a copy, if it is a broadcast view
    if values.size == 0:
        return _core.empty(values.shape, getattr(_core, values.dtype.name))
    return _core.from_numpy(values.reshape(-1)).view(values.shape)


def by_columns(values: Any) -> Any:
    """An NDArray whose matrices lie column after column."""
    return by_rows(values.swapaxes(-1, -2)).transpose(-1, -2)


def in_tensors(backward: Callable) -> Callable:
    """A backward that is written with functions of tensors: arrays are wrapped for it."""

    @wraps(backward)
    def wrapped(saved, grad, needs):
        grads = grad if isinstance(grad, (tuple, list)) else (grad,)
        if any(hasattr(g, "array") for g in grads):
            return backward(saved, grad, needs)
        saved = [wrap(s) if hasattr(s, "stamp") else s for s in saved]
        if isinstance(grad, (tuple, list)):
            results = backward(saved, [None if g is None else wrap(g) for g in grad], needs)
        else:
            results = backward(saved, wrap(grad), needs)
        if isinstance(results, tuple):
            return tuple([None if r is None else r.array for r in results])
        return None if results is None else results.array

    return wrapped


# ----------------------------------------------------------------------------------------- checks


def check_matrix(name: str, function: str, argument: str, A: Any) -> None:
    """TypeError unless A is a tensor, RuntimeError unless it is at least a matrix."""
    check_tensor(function, argument, 1, A)
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


def check_precision(name: str, A: Tensor, error: type[Exception] = NotImplementedError) -> None:
    """Half types have no factorisations, as in PyTorch."""
    if A.is_floating_point() and A.itemsize == 2:
        raise error(f"{name}: Low precision dtypes not supported. Got {scalar_type(A.dtype)}")
