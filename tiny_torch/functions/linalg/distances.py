"""Distances between rows, similarities, covariance and correlation."""

from __future__ import annotations

import warnings
from typing import Any

from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.grad_mode import no_grad
from tiny_torch.autograd.op_mode import as_one
from tiny_torch.base.arguments import as_float, as_int
from tiny_torch.base.dtypes import check_same_type
from tiny_torch.functions.common import rounded_once
from tiny_torch.functions.creation.ranges import triu_indices
from tiny_torch.functions.linalg.lapack import check_precision
from tiny_torch.functions.public import function, function_and_method
from tiny_torch.functions.shape.join import broadcast_tensors
from tiny_torch.ops.elementwise.arithmetic import result_type
from tiny_torch.ops.linalg.distances import EuclideanDist, PairNorm
from tiny_torch.ops.linalg.lapack import check_broadcast
from tiny_torch.tensor import Tensor

MODES = {
    "use_mm_for_euclid_dist_if_necessary": lambda rows: rows > 25,
    "use_mm_for_euclid_dist": lambda rows: True,
    "donot_use_mm_for_euclid_dist": lambda rows: False,
}


@function
@as_one
def cdist(
    x1: Tensor,
    x2: Tensor,
    p: float = 2.0,
    compute_mode: str = "use_mm_for_euclid_dist_if_necessary",
) -> Tensor:
    """The p-norm distances of all pairs of rows: (*, P, M), (*, R, M) -> (*, P, R).

    With more than 25 rows, 2-norms are computed by a matrix product, which is less exact.
    https://pytorch.org/docs/stable/generated/torch.cdist.html

    >>> import tiny_torch as torch
    >>> torch.cdist(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0], [1.0, 0.0]]))
    tensor([[5., 1.]])
    """
    if compute_mode not in MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    for name, x in (("X1", x1), ("X2", x2)):
        if x.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}"
        )
    for name, x in (("X1", x1), ("X2", x2)):
        if not x.is_floating_point():
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {x.dtype}")
    check_same_type(x1.dtype, x2.dtype)
    check_precision("cdist", x1)
    p = as_order("cdist", 3, p)
    check_broadcast(x1.shape[:-2], x2.shape[:-2])
    if p == 2 and MODES[compute_mode](max(x1.shape[-2], x2.shape[-2])):
        return apply(EuclideanDist, x1, x2)
    return pair_norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p)


def as_order(name: str, position: int, p: float) -> float:
    p = as_float(name, "p", position, p)
    if p < 0:
        raise RuntimeError(f"{name} only supports non-negative p values")
    return p


def pair_norm(pairs: Tensor, p: float) -> Tensor:
    """The p-norm along the last dim, which may be empty."""
    if p == 0:  # NaN counts in vector_norm, but is NaN here
        return pairs.abs().ceil().clamp(max=1).sum(-1)
    return apply(PairNorm, pairs, p, (-1,), False) if pairs.shape[-1] else pairs.sum(-1)


# ------------------------------------------------------------------------------------- covariance


@function_and_method
@rounded_once
def cov(
    input: Tensor,
    *,
    correction: int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:
    """The covariance of rows (variables) over columns (observations).

    `fweights` says how often each was observed (integers), `aweights` how much it counts.
    https://pytorch.org/docs/stable/generated/torch.cov.html
    """
    check_two_dims("cov", input)
    if str(input.dtype) == "torch.bool":
        raise RuntimeError("cov(): bool dtype is not supported for input")
    correction = as_int("cov", "correction", None, correction)
    x = input if input.ndim == 2 else input.reshape(1, -1)
    count = x.shape[1]
    check_weights("fweights", fweights, count, False)
    check_weights("aweights", aweights, count, True)
    weights = fweights
    if aweights is not None:
        weights = aweights if fweights is None else fweights * aweights
    total: Any = count if weights is None else weights.sum()
    if weights is not None and count and float(total) == 0:
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    freedom = total - correction
    if aweights is not None and correction != 0:
        freedom = total - correction * (weights * aweights).sum() / total
    positive = float(freedom) > 0
    if not positive:
        warnings.warn(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number "
            "of observations.",
            UserWarning,
            stacklevel=2,
        )
    weighted = x if weights is None else x * weights
    plain = weights is None and x.is_floating_point()
    centred = x - (x.mean(1) if plain else weighted.sum(1) / total).unsqueeze(1)
    weighted = centred if weights is None else centred * weights
    # What is divided first does not overflow on the way.
    c = (weighted / freedom if positive else weighted) @ centred.t()
    return (c if positive else c / 0).squeeze()


def check_two_dims(name: str, input: Tensor) -> None:
    if input.ndim > 2:
        raise RuntimeError(
            f"{name}(): expected input to have two or fewer dimensions but got an input with "
            f"{input.ndim} dimensions"
        )


def check_weights(name: str, weights: Any, count: int, floating: bool) -> None:
    if weights is None:
        return
    if weights.ndim > 1:
        raise RuntimeError(f"cov(): expected {name} to have one or fewer dimensions")
    if weights.is_floating_point() is not floating or str(weights.dtype) == "torch.bool":
        kind = "floating point" if floating else "integral"
        raise RuntimeError(f"cov(): expected {name} to have {kind} dtype but got {weights.dtype}")
    if weights.numel() != count:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input"
        )
    if count and bool((weights < 0).any()):
        raise RuntimeError(f"cov(): {name} cannot be negative")


@function_and_method
@rounded_once
def corrcoef(input: Tensor) -> Tensor:
    """The correlation coefficients of rows, between -1 and 1.

    https://pytorch.org/docs/stable/generated/torch.corrcoef.html
    """
    check_two_dims("corrcoef", input)
    if input.is_floating_point() and input.numel():  # rows times powers of two: no square overflows
        exponents = input.detach().abs().amax(-1, keepdim=True).frexp().exponent
        input = input.ldexp(-exponents)
    c = cov(input)
    if c.ndim == 0:
        return c / c
    deviation = c.diagonal().sqrt()
    return (c / deviation.unsqueeze(1) / deviation.unsqueeze(0)).clamp(-1, 1)


# ----------------------------------------------------------------------- similarities, distances


@function
@as_one
@rounded_once
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x1 · x2 / (max(|x1|, eps) max(|x2|, eps)) along `dim` of their broadcast shape, without it.

    Floating dtypes. Raises RuntimeError where the shapes do not broadcast or neither is floating,
    IndexError for a dim out of range.
    Source: PyTorch, nn.functional.cosine_similarity.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.cosine_similarity(torch.tensor([1.0, 0.0]), torch.tensor([1.0, 1.0]), 0)
    tensor(0.7071)
    """
    eps = as_float("cosine_similarity", "eps", None, eps)
    dtype = result_type(x1, x2)
    if not dtype.is_floating_point:
        raise RuntimeError(
            f"expected common dtype to be floating point, yet common dtype is {dtype}"
        )
    x1, x2 = x1.to(dtype), x2.to(dtype)
    if x1.shape != x2.shape:
        x1, x2 = broadcast_tensors(x1, x2)
    return (x1 / length(x1, dim, eps) * (x2 / length(x2, dim, eps))).sum(dim)


def length(x: Tensor, dim: int, eps: float) -> Tensor:
    """The norm along a dim, at least eps; the limit does not count in its gradient."""
    norm = x.norm(2, dim, keepdim=True).clone()
    with no_grad():
        norm.clamp_min_(eps)
    return norm


@function
@rounded_once
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last dim of their broadcast shape, without it.

    Raises RuntimeError where the shapes do not broadcast.
    Source: PyTorch, nn.functional.pairwise_distance.

    >>> import tiny_torch as torch
    >>> torch.pairwise_distance(torch.tensor([0.0, 3.0]), torch.tensor([4.0, 0.0]))
    tensor(5.)
    """
    return (x1 - x2 + eps).norm(p, -1, keepdim)


@function
@as_one
def pdist(input: Tensor, p: float = 2) -> Tensor:
    """The p-norm distances of all pairs of different rows: (N, M) -> (N (N - 1) / 2).

    Raises RuntimeError for other than 2 dims, integers, and p < 0.
    Source: PyTorch, nn.functional.pdist.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.pdist(torch.tensor([[0.0, 0.0], [3.0, 4.0], [3.0, 0.0]]))
    tensor([5., 3., 4.])
    """
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if not input.is_floating_point():
        raise RuntimeError("pdist only supports floating-point dtypes")
    p = as_order("pdist", 2, p)
    check_precision("pdist", input)
    first, second = triu_indices(len(input), len(input), 1)
    return pair_norm(input[first] - input[second], p)
