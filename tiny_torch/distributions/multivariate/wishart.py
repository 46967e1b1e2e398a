"""The Wishart distribution."""

from __future__ import annotations

import math
import warnings
from typing import Any

import tiny_torch as torch
from tiny_torch.base.size import Size
from tiny_torch.distributions import constraints
from tiny_torch.distributions.continuous.chi2 import Chi2
from tiny_torch.distributions.exp_family import ExponentialFamily
from tiny_torch.distributions.multivariate.multivariate_normal import CovarianceParameters
from tiny_torch.distributions.utils import given_matrix
from tiny_torch.tensor import Tensor


def _mvdigamma(x: Tensor, p: int) -> Tensor:
    """The derivative of mvlgamma(x, p)."""
    if not x.gt((p - 1) / 2).all():
        raise AssertionError("Wrong domain for multivariate digamma function.")
    halves = torch.arange(p, dtype=x.dtype, device=x.device) / 2
    return torch.digamma(x.unsqueeze(-1) - halves).sum(-1)


class Wishart(CovarianceParameters, ExponentialFamily):
    """The sum of `df` outer products x x' of normal draws x of mean 0, and what lies in between.

    `df` is a real number above n - 1. The (..., n, n) covariance of x is `covariance_matrix`,
    given itself, or by its inverse `precision_matrix`, or by its lower triangular factor
    `scale_tril`.

    https://pytorch.org/docs/stable/distributions.html#wishart

    >>> import tiny_torch as torch
    >>> torch.distributions.Wishart(torch.tensor(3.0), torch.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    @property
    def arg_constraints(self) -> dict:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(
        self,
        df: Any,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = given_matrix(
            AssertionError,
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        if matrix.dim() < 2:
            raise ValueError(
                "scale_tril must be at least two-dimensional, with optional leading batch "
                "dimensions"
            )
        n = matrix.shape[-1]
        count = torch.as_tensor(df, dtype=None if isinstance(df, Tensor) else matrix.dtype)
        batch_shape = Size(torch.broadcast_shapes(matrix.shape[:-2], count.shape))
        self.df = count.expand(batch_shape) if isinstance(df, Tensor) else count.to(matrix.device)
        if self.df.le(n - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        self._take_matrix(name, matrix, batch_shape)
        if self.df.lt(n).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for "
                "ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        super().__init__(batch_shape, matrix.shape[-2:], validate_args=validate_args)
        self._factorise(name, matrix)
        self._dist_chi2 = self._chi2_of_rows(batch_shape)

    def _chi2_of_rows(self, batch_shape: Size) -> Chi2:
        """Of the squared diagonal of Bartlett's factor: df, df - 1, ..."""
        like = self._unbroadcasted_scale_tril
        rows = torch.arange(like.shape[-1], dtype=like.dtype, device=like.device)
        return Chi2(self.df.unsqueeze(-1) - rows.expand((*batch_shape, -1)))

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Wishart, _instance)
        batch_shape = Size(batch_shape)
        new.df = self.df.expand(batch_shape)
        self._expand_matrices(new, batch_shape + self.event_shape)
        new._dist_chi2 = new._chi2_of_rows(batch_shape)
        return self._finish_expand(new, batch_shape)

    @property
    def _df_of_matrices(self) -> Tensor:
        return self.df[..., None, None]

    @property
    def mean(self) -> Tensor:
        return self._df_of_matrices * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self._event_shape[-1] - 1
        factor[factor <= 0] = math.nan
        return factor[..., None, None] * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        covariance = self.covariance_matrix
        diagonal = covariance.diagonal(dim1=-2, dim2=-1)
        products = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self._df_of_matrices * (covariance.pow(2) + products)

    def _bartlett_sampling(self, sample_shape: Any = ()) -> Tensor:
        """L A A' L': the diagonal of A is chi, what is below it is normal."""
        roots = self._dist_chi2.rsample(sample_shape).sqrt()
        roots = roots.clamp(min=torch.finfo(roots.dtype).eps)
        n = self._event_shape[-1]
        shape = (*sample_shape, *self._batch_shape, n * (n - 1) // 2)
        noise = roots.new_zeros((*shape[:-1], n, n))
        below = torch.ones(n, n, dtype=torch.bool, device=roots.device).tril(-1)
        noise[..., below] = torch.randn(shape, dtype=roots.dtype, device=roots.device)
        factor = self._unbroadcasted_scale_tril @ (noise + torch.diag_embed(roots))
        return factor @ factor.mT

    def _is_singular(self, sample: Tensor) -> Tensor:
        """For each draw, whether any of its batch is."""
        singular = ~self.support.check(sample)
        kept = singular.dim() - len(self._batch_shape)
        return singular.reshape((*singular.shape[:kept], -1)).any(-1)

    def rsample(self, sample_shape: Any = (), max_try_correction: int | None = None) -> Tensor:
        """Singular draws are drawn anew, at most `max_try_correction` times, or else 10.

        PyTorch takes what is not singular for singular at first, and draws everything twice. Here
        the first draws are thrown away, so that a seed gives the same numbers.
        """
        self._bartlett_sampling(sample_shape)
        sample = self._bartlett_sampling(sample_shape)
        singular = self._is_singular(sample)
        if singular.any():
            warnings.warn("Singular sample detected.", stacklevel=2)
        for _ in range(10 if max_try_correction is None else max_try_correction):
            if not singular.any():
                break
            again = self._bartlett_sampling((int(singular.sum()),))
            sample = sample.index_put((singular,), again)
            singular = self._is_singular(sample)
        return sample

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        nu, n = self.df, self._event_shape[-1]
        inverse = torch.linalg.solve_triangular(
            self._unbroadcasted_scale_tril, torch.eye(n).to(value), upper=False
        )
        trace = ((inverse @ value) * inverse).sum((-2, -1))
        return (
            (nu - n - 1) / 2 * torch.linalg.slogdet(value).logabsdet
            - trace / 2
            - nu * (n * math.log(2) / 2 + self._half_log_det())
            - torch.mvlgamma(nu / 2, n)
        )

    def entropy(self) -> Tensor:
        nu, n = self.df, self._event_shape[-1]
        return (
            (n + 1) * (n * math.log(2) / 2 + self._half_log_det())
            + torch.mvlgamma(nu / 2, n)
            - (nu - n - 1) / 2 * _mvdigamma(nu / 2, n)
            + nu * n / 2
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        n = self._event_shape[-1]
        half_df = y + (n + 1) / 2
        log_det = -torch.linalg.slogdet(-2 * x).logabsdet
        return half_df * (log_det + n * math.log(2)) + torch.mvlgamma(half_df, n)
