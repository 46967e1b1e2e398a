"""NumPy's LAPACK on our arrays.

LAPACK writes matrices by columns, so that is how factors lie in memory; PyTorch's do, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from tiny_torch import _core
from tiny_torch.tensor import Tensor, wrap


class _LinAlgError(RuntimeError):
    """A matrix does not allow what was asked: it is singular, or not positive definite, ..."""


LinAlgError = _LinAlgError  # PyTorch's class has that name, too


def lapack(
    name: str,
    function: Callable,
    *arrays: Any,
    reason: str = "failed",
    **options: Any,
) -> Any:
    """NumPy's function of the arrays; its results as NumPy's arrays.

    Raises LinAlgError with the reason, and the first of a batch that it is true of.
    """
    for array in arrays:
        if array.device != "cpu":
            raise NotImplementedError(f"[{name}] is not implemented on {array.device}")
    values = [array.numpy() for array in arrays]
    with np.errstate(all="ignore"):
        try:
            return function(*values, **options)
        except np.linalg.LinAlgError as error:
            place = first_failure(function, values, options) if values[0].ndim > 2 else None
            raise LinAlgError(failure(name, place, reason)) from error


def failure(name: str, place: int | None, reason: str) -> str:
    batch = "" if place is None else f"(Batch element {place}): "
    return f"{name}: {batch}{reason}"


def first_failure(function: Callable, values: list, options: dict) -> int:
    """The number of the first matrix of a batch that fails."""
    batch = np.broadcast_shapes(*[x.shape[:-2] for x in values])
    stacks = [np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in values]
    for i, at in enumerate(np.ndindex(batch)):
        matrices = [stack[at] for stack in stacks]
        try:
            function(*matrices, **options)
        except np.linalg.LinAlgError:
            return i
    return 0


def with_info(function: Callable, alone: Callable) -> Callable:
    """The function of stacks of matrices, and an int32 for each: 0 where it did not fail.

    `alone` answers both for the matrices of a failure: there the int tells what went wrong.
    """

    def run(*values):
        try:
            return function(*values), np.zeros(values[0].shape[:-2], np.int32)
        except np.linalg.LinAlgError:
            if values[0].ndim == 2:
                return alone(*values)
        results, info = zip(*map(run, *values), strict=True)
        return np.stack(results), np.stack(info)

    return run


def check_info(
    name: str, info: Tensor, reason: str, error: type[RuntimeError] = LinAlgError
) -> None:
    """Raises the error where an info is not 0; {} in the reason stands for the first of them."""
    codes = info.array.numpy()
    if codes.any():
        first = int(np.flatnonzero(codes)[0])
        code = reason.format(codes.flat[first])
        raise error(failure(name, first if codes.ndim else None, code))


# --------------------------------------------------------------------------------- NaN and infinity
#
# NumPy's LAPACK may look for singular values of infinity for ever, and takes a NaN for a pivot.


def all_finite(A: Any) -> bool:
    """False where a number of A is not finite, or too many are too large for their sum."""
    return math.isfinite(np.add.reduce(A, None))


def sparing(bad: Any, function: Callable, A: Any, *others: Any, **options: Any) -> Any:
    """The function of matrices A, its results NaN for `bad` ones, which it does not see."""
    eye = np.eye(*A.shape[-2:], dtype=A.dtype)
    results = function(np.where(bad[..., None, None], eye, A), *others, **options)

    def without_rows(x):
        return np.where(
            bad.reshape(bad.shape + (1,) * (x.ndim - bad.ndim)), x.dtype.type(np.nan), x
        )

    return (
        tuple(map(without_rows, results)) if isinstance(results, tuple) else without_rows(results)
    )


def without_nan(function: Callable) -> Callable:
    """A function of matrices, answering NaN for those with NaN."""

    def spare(A, *others):
        if all_finite(A):
            return function(A, *others)
        return sparing(np.isnan(A).any((-2, -1)), function, A, *others)

    return spare


def svd_of_finite(A: Any, full_matrices: bool) -> tuple:
    """U, S, Vh: NaN for matrices with infinity; LinAlgError for those with NaN."""
    if all_finite(A):
        return tuple(np.linalg.svd(A, full_matrices=full_matrices))
    if np.isnan(A).any():
        raise np.linalg.LinAlgError
    bad = np.isinf(A).any((-2, -1))
    return sparing(bad, np.linalg.svd, A, full_matrices=full_matrices)


def eigh_of_finite(A: Any, UPLO: Any) -> tuple:
    """Values and vectors by one triangle; LinAlgError where it has NaN.

    Infinity gives values NaN and vectors of the identity on the diagonal, LinAlgError elsewhere.
    """
    if all_finite(A) or A.shape[-1] == 1:
        return tuple(np.linalg.eigh(A, UPLO=UPLO))
    seen = np.tril(A) if UPLO == "L" else np.triu(A)
    diagonal = np.eye(A.shape[-1], dtype=bool)
    if np.isnan(seen).any() or np.isinf(np.where(diagonal, 0, seen)).any():
        raise np.linalg.LinAlgError
    bad = np.isinf(seen).any((-2, -1))
    values, vectors = sparing(bad, np.linalg.eigh, seen, UPLO=UPLO)
    return values, np.where(bad[..., None, None], diagonal.astype(A.dtype), vectors)


def eig_of_finite(A: Any) -> tuple:
    """Values and vectors of any square matrices; ValueError unless all of them are real."""
    values, vectors = np.linalg.eig(A)
    if np.iscomplexobj(values):
        raise ValueError("complex eigenvalues")
    return values, vectors


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
    def wrapper(saved, grad, needs):
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

    return wrapper


def check_broadcast(first: Any, second: Any) -> None:
    """RuntimeError where batch dims do not broadcast."""
    for n, m in zip(reversed(first), reversed(second), strict=False):
        if n != m and 1 not in (n, m):
            raise RuntimeError(
                f"The size of tensor a ({n}) must match the size of tensor b ({m}): batch dims "
                f"{list(first)} and {list(second)} do not broadcast"
            )
