"""The normal distribution over vectors."""

from __future__ import annotations

import math
from typing import Any

import tiny_torch as torch
from tiny_torch.base.size import Size
from tiny_torch.distributions import constraints
from tiny_torch.distributions.distribution import Distribution
from tiny_torch.distributions.utils import (
    given_matrix,
    lazy_property,
    same_as,
    standard_normal,
)
from tiny_torch.tensor import Tensor


def batch_mv(bmat: Tensor, bvec: Tensor) -> Tensor:
    """Matrices (..., n, n) times vectors (..., n), broadcast."""
    return torch.matmul(bmat, bvec.unsqueeze(-1)).squeeze(-1)


def batch_mahalanobis(bL: Tensor, bx: Tensor) -> Tensor:
    """|L^-1 x|^2 of lower triangular L (..., n, n) and x (..., n), broadcast."""
    n = bx.size(-1)
    if bL.dim() == 2:  # one factorisation for all vectors, as columns
        columns = bx.reshape(-1, n).T
        solved = torch.linalg.solve_triangular(bL, columns, upper=False)
        return solved.pow(2).sum(-2).reshape(bx.shape[:-1])
    solved = torch.linalg.solve_triangular(bL, bx.unsqueeze(-1), upper=False)
    return solved.pow(2).sum((-2, -1))


_batch_mv, _batch_mahalanobis = batch_mv, batch_mahalanobis  # PyTorch's names


def _inverse(lower: Tensor) -> Tensor:
    identity = torch.eye(lower.shape[-1], dtype=lower.dtype, device=lower.device)
    return torch.linalg.solve_triangular(lower, identity, upper=False)


def _precision_to_scale_tril(precision: Tensor) -> Tensor:
    """The L of P^-1 = L L': if the reversed P is K K', then L^-1 is K reversed and transposed."""
    reversed_factor = torch.linalg.cholesky(torch.flip(precision, (-2, -1)))
    return _inverse(torch.flip(reversed_factor, (-2, -1)).mT)


class CovarianceParameters:
    """What the normal and Wishart distributions share: a matrix, given as one of three.

    `covariance_matrix`, its inverse `precision_matrix`, or its lower triangular factor
    `scale_tril`: the factor is what both compute with, the others are made when asked for.
    """

    _unbroadcasted_scale_tril: Tensor
    _batch_shape: Size
    _event_shape: Size

    def _take_matrix(self, name: str, matrix: Tensor, batch_shape: Size) -> None:
        """Keeps the one that is given, which still has to be checked."""
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))

    def _factorise(self, name: str, matrix: Tensor) -> None:
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = torch.linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(matrix)

    def _expand_matrices(self, new: Any, shape: Size) -> None:
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        for name in ("covariance_matrix", "precision_matrix", "scale_tril"):
            if name in self.__dict__:
                setattr(new, name, self.__dict__[name].expand(shape))

    def _as_batch(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape[-1:] * 2)

    @lazy_property
    def scale_tril(self) -> Tensor:
        return self._as_batch(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        factor = self._unbroadcasted_scale_tril
        return self._as_batch(torch.matmul(factor, factor.mT))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        inverse = _inverse(self._unbroadcasted_scale_tril)
        return self._as_batch(torch.matmul(inverse.mT, inverse))

    def _half_log_det(self) -> Tensor:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


class MultivariateNormal(CovarianceParameters, Distribution):
    """The normal distribution of mean `loc` (..., n) and of one of three (..., n, n) matrices.

    `covariance_matrix`, its inverse `precision_matrix`, or its lower triangular factor
    `scale_tril`. https://pytorch.org/docs/stable/distributions.html#multivariatenormal
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = given_matrix(
            ValueError,
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        if matrix.dim() < 2:
            raise ValueError(
                f"{name} must be at least two-dimensional, with optional leading batch dimensions"
            )
        batch_shape = Size(torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1]))
        self._take_matrix(name, matrix, batch_shape)
        self.loc = loc.expand((*batch_shape, -1))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._factorise(name, matrix)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(MultivariateNormal, _instance)
        vector = Size(batch_shape) + self.event_shape
        new.loc = self.loc.expand(vector)
        self._expand_matrices(new, vector + self.event_shape)
        return self._finish_expand(new, batch_shape)

    mean = same_as("loc")
    mode = same_as("loc")

    @property
    def variance(self) -> Tensor:
        variance = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return variance.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        noise = standard_normal(shape, dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + batch_mv(self._unbroadcasted_scale_tril, noise)

    def _factor(self) -> Tensor:
        """The F of a covariance F F'."""
        return self._unbroadcasted_scale_tril

    def _squared_distance(self, x: Tensor) -> Tensor:
        """x' C^-1 x for the covariance C."""
        return batch_mahalanobis(self._unbroadcasted_scale_tril, x)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = self._squared_distance(value - self.loc)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + distance) - self._half_log_det()

    def entropy(self) -> Tensor:
        entropy = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()
        return entropy.expand(self._batch_shape)
