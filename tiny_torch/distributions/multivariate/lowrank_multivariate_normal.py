"""The normal distribution over vectors whose covariance is of low rank but for a diagonal."""

from __future__ import annotations

import math
from typing import Any

import tiny_torch as torch
from tiny_torch.base.size import Size
from tiny_torch.distributions import constraints
from tiny_torch.distributions.distribution import Distribution
from tiny_torch.distributions.multivariate.multivariate_normal import batch_mahalanobis, batch_mv
from tiny_torch.distributions.utils import lazy_property, same_as, standard_normal
from tiny_torch.tensor import Tensor


def _capacitance_tril(W: Tensor, D: Tensor) -> Tensor:
    """The factor of I + W' D^-1 W, for W (..., n, m) and a diagonal D (..., n)."""
    capacitance = torch.matmul(W.mT / D.unsqueeze(-2), W)
    return torch.linalg.cholesky(capacitance + torch.eye(W.shape[-1]).to(W))


def _batch_lowrank_logdet(W: Tensor, D: Tensor, capacitance_tril: Tensor) -> Tensor:
    """log |W W' + D|, by the matrix determinant lemma."""
    diagonal = capacitance_tril.diagonal(dim1=-2, dim2=-1)
    return 2 * diagonal.log().sum(-1) + D.log().sum(-1)


def _batch_lowrank_mahalanobis(W: Tensor, D: Tensor, x: Tensor, capacitance_tril: Tensor) -> Tensor:
    """x' (W W' + D)^-1 x, by the Woodbury identity."""
    inner = batch_mv(W.mT / D.unsqueeze(-2), x)
    return (x.pow(2) / D).sum(-1) - batch_mahalanobis(capacitance_tril, inner)


class LowRankMultivariateNormal(Distribution):
    """The normal distribution of mean `loc` (..., n) and covariance W W' + diag(D).

    W is `cov_factor` (..., n, m), D is `cov_diag` (..., n).

    https://pytorch.org/docs/stable/distributions.html#lowrankmultivariatenormal

    >>> import tiny_torch as torch
    >>> factor = torch.tensor([[1.0], [2.0]])
    >>> from tiny_torch.distributions import LowRankMultivariateNormal
    >>> LowRankMultivariateNormal(torch.zeros(2), factor, torch.ones(2)).covariance_matrix
    tensor([[2., 2.],
            [2., 5.]])
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    _parameters = ("loc", "cov_factor", "cov_diag", "covariance_matrix", "scale_tril",
                   "precision_matrix")  # fmt: skip

    def __init__(
        self,
        loc: Tensor,
        cov_factor: Tensor,
        cov_diag: Tensor,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError(
                "cov_factor must be at least two-dimensional, with optional leading batch "
                "dimensions"
            )
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(
                f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m"
            )
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        batches = loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1]
        try:
            batch_shape = Size(torch.broadcast_shapes(*batches))
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, "
                f"cov_diag {cov_diag.shape}"
            ) from error
        self.loc = loc.expand((*batch_shape, -1))
        self.cov_factor = cov_factor.expand((*batch_shape, -1, -1))
        self.cov_diag = cov_diag.expand((*batch_shape, -1))
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = _capacitance_tril(cov_factor, cov_diag)
        super().__init__(batch_shape, event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        for name in ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril"):
            setattr(new, name, getattr(self, name))
        return new

    @property
    def _covariance(self) -> tuple[Tensor, Tensor, Tensor]:
        """W, D and the factor of the capacitance, as given."""
        return (
            self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag, self._capacitance_tril,
        )  # fmt: skip

    def _as_batch(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    mean = same_as("loc")
    mode = same_as("loc")

    @lazy_property
    def variance(self) -> Tensor:
        variance = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return variance.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """D^1/2 times the factor of I + D^-1/2 W W' D^-1/2, which is better conditioned."""
        W, D, _ = self._covariance
        root = D.sqrt().unsqueeze(-1)
        scaled = W / root
        inner = torch.matmul(scaled, scaled.mT) + torch.eye(W.shape[-2]).to(W)
        return self._as_batch(root * torch.linalg.cholesky(inner))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        W, D, _ = self._covariance
        return self._as_batch(torch.matmul(W, W.mT) + torch.diag_embed(D))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """By the Woodbury identity."""
        W, D, capacitance_tril = self._covariance
        columns = W.mT / D.unsqueeze(-2)
        A = torch.linalg.solve_triangular(capacitance_tril, columns, upper=False)
        return self._as_batch(torch.diag_embed(D.reciprocal()) - torch.matmul(A.mT, A))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        rank = self.cov_factor.shape[-1:]
        of_factor = standard_normal(shape[:-1] + rank, self.loc.dtype, self.loc.device)
        of_diag = standard_normal(shape, self.loc.dtype, self.loc.device)
        W, D, _ = self._covariance
        return self.loc + batch_mv(W, of_factor) + D.sqrt() * of_diag

    def _factor(self) -> Tensor:
        """The F of a covariance F F'."""
        return torch.cat([self.cov_factor, torch.diag_embed(self.cov_diag.sqrt())], -1)

    def _half_log_det(self) -> Tensor:
        return 0.5 * _batch_lowrank_logdet(*self._covariance)

    def _squared_distance(self, x: Tensor) -> Tensor:
        """x' C^-1 x for the covariance C."""
        W, D, capacitance_tril = self._covariance
        return _batch_lowrank_mahalanobis(W, D, x, capacitance_tril)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        distance = self._squared_distance(value - self.loc)
        return -0.5 * (constant + distance) - self._half_log_det()

    def entropy(self) -> Tensor:
        entropy = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()
        return entropy.expand(self._batch_shape)
