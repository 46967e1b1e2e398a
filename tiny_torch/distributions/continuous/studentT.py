"""Student's t-distribution."""

from __future__ import annotations

import math
from typing import Any

import tiny_torch as torch
from tiny_torch.distributions import constraints
from tiny_torch.distributions.continuous.chi2 import Chi2
from tiny_torch.distributions.distribution import Distribution
from tiny_torch.distributions.utils import broadcast_all, same_as, standard_normal
from tiny_torch.tensor import Tensor


class StudentT(Distribution):
    """Student's t-distribution of `df` degrees of freedom around `loc`, of `scale`.

    https://pytorch.org/docs/stable/distributions.html#studentt

    >>> import tiny_torch as torch
    >>> torch.distributions.StudentT(torch.tensor([1.0, 2.0, 4.0])).variance
    tensor([nan, inf, 2.])
    """

    arg_constraints = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True
    _parameters = ("df", "loc", "scale")

    def __init__(
        self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._chi2 = self._chi2.expand(batch_shape)
        return new

    @property
    def mean(self) -> Tensor:
        mean = self.loc.clone(memory_format=torch.contiguous_format)
        mean[self.df <= 1] = math.nan
        return mean

    mode = same_as("loc")

    @property
    def variance(self) -> Tensor:
        finite = self.df > 2
        df = self.df[finite]
        variance = self.df.clone(memory_format=torch.contiguous_format)
        variance[finite] = self.scale[finite].pow(2) * df / (df - 2)
        variance[(self.df > 1) & ~finite] = math.inf
        variance[self.df <= 1] = math.nan
        return variance

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        normal = standard_normal(shape, dtype=self.df.dtype, device=self.df.device)
        spread = torch.rsqrt(self._chi2.rsample(sample_shape) / self.df)
        return self.loc + self.scale * (normal * spread)

    def _log_beta(self) -> Tensor:
        """log B(df / 2, 1 / 2)."""
        half = 0.5 * self.df
        return torch.lgamma(half) + math.lgamma(0.5) - torch.lgamma(half + 0.5)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = (value - self.loc) / self.scale
        normalizer = self.scale.log() + 0.5 * self.df.log() + self._log_beta()
        return -0.5 * (self.df + 1) * torch.log1p(z.pow(2) / self.df) - normalizer

    def entropy(self) -> Tensor:
        half = 0.5 * (self.df + 1)
        slope = torch.digamma(half) - torch.digamma(0.5 * self.df)
        return self.scale.log() + half * slope + 0.5 * self.df.log() + self._log_beta()
