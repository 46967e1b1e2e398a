"""What distributions share: parameters that broadcast, logits and probabilities."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import tiny_torch as torch
from tiny_torch.nn import functional as F
from tiny_torch.tensor import Tensor

euler_constant = 0.57721566490153286060  # Euler Mascheroni constant


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Tensors and numbers as tensors of one shape.

    A number takes the dtype of the first tensor, or the default one. ValueError for others.
    """
    if not all(isinstance(value, Tensor | int | float) for value in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing "
            "__torch_function__."
        )
    tensors = [value for value in values if isinstance(value, Tensor)]
    if len(tensors) < len(values):
        dtype = tensors[0].dtype if tensors else torch.get_default_dtype()
        values = tuple(v if isinstance(v, Tensor) else torch.tensor(v, dtype=dtype) for v in values)
    return tuple(torch.broadcast_tensors(*values))


def standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    return torch.empty(shape, dtype=dtype, device=device).normal_()


def sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """Sums the last `dim` dims."""
    return value if dim == 0 else value.reshape((*value.shape[:-dim], -1)).sum(-1)


_standard_normal, _sum_rightmost = standard_normal, sum_rightmost  # PyTorch's names


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities of log-odds (binary), or of unnormalised log-probabilities in the last dim."""
    return torch.sigmoid(logits) if is_binary else F.softmax(logits, dim=-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities within [eps, 1 - eps] of their dtype."""
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Log-odds (binary) or log-probabilities, finite also where a probability is 0 or 1."""
    clamped = clamp_probs(probs)
    return torch.log(clamped) - torch.log1p(-clamped) if is_binary else torch.log(clamped)


class lazy_property:
    """An attribute that is computed when first asked for, then kept in the instance."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with torch.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def given_of(probs: Any, logits: Any) -> tuple[str, Any]:
    """Name and value of the one that is given; ValueError for both and for none."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return ("logits", logits) if probs is None else ("probs", probs)


def given_matrix(error: type[Exception], **matrices: Tensor | None) -> tuple[str, Tensor]:
    """Name and value of the one that is given; `error` for several and for none."""
    given = [(name, matrix) for name, matrix in matrices.items() if matrix is not None]
    if len(given) != 1:
        names = " or ".join(matrices)
        raise error(f"Exactly one of {names} may be specified.")
    return given[0]


class BinaryParameters:
    """What Bernoulli and its like share: `probs`, or their log-odds `logits`."""

    def _take(self, probs: Any, logits: Any) -> Tensor:
        """Keeps the one that is given, which is returned."""
        name, given = given_of(probs, logits)
        (given,) = broadcast_all(given)
        setattr(self, name, given)
        return given

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits, is_binary=True)


class CountedTrials(BinaryParameters):
    """What Binomial and NegativeBinomial share: a `total_count` that broadcasts with the other."""

    def _take_counted(self, total_count: Any, probs: Any, logits: Any) -> Tensor:
        name, given = given_of(probs, logits)
        total_count, given = broadcast_all(total_count, given)
        setattr(self, name, given)
        self.total_count = total_count.type_as(given)
        return given


def same_as(path: str) -> Any:
    """A property that is an attribute of another name, or one of an attribute."""
    return property(operator.attrgetter(path))


def _lower_mask(size: int, diag: int) -> Tensor:
    return torch.ones(size, size, dtype=torch.bool).tril(diag)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The lower triangle of (..., D, D) matrices, row by row, as vectors."""
    n = mat.shape[-1]
    if diag < -n or diag >= n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _lower_mask(n, diag)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The inverse of tril_matrix_to_vec: zeros above the diagonal."""
    step = 1 + 2 * diag
    size = (-step + (step**2 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    n = round(size)
    if n - size > torch.finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {vec.shape[-1]} which cannot be expressed as the lower "
            "triangular part of a square D x D matrix."
        )
    mat = vec.new_zeros((*vec.shape[:-1], n, n))
    mat[..., _lower_mask(n, diag)] = vec
    return mat
