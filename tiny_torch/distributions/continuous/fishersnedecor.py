"""The Fisher-Snedecor distribution."""

from __future__ import annotations

import math
from typing import Any

import tiny_torch as torch
from tiny_torch.distributions import constraints
from tiny_torch.distributions.continuous.gamma import Gamma
from tiny_torch.distributions.distribution import Distribution
from tiny_torch.distributions.utils import broadcast_all
from tiny_torch.tensor import Tensor


class FisherSnedecor(Distribution):
    """The F-distribution: a ratio of chi-squared draws of `df1` and `df2`, each over its df.

    https://pytorch.org/docs/stable/distributions.html#fishersnedecor

    >>> import tiny_torch as torch
    >>> torch.distributions.FisherSnedecor(1.0, torch.tensor([2.0, 4.0])).mean
    tensor([nan, 2.])
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _parameters = ("df1", "df2")

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)
        super().__init__(self.df1.shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._gamma1 = self._gamma1.expand(batch_shape)
        new._gamma2 = self._gamma2.expand(batch_shape)
        return new

    def _df2_above(self, bound: float) -> Tensor:
        """df2, with NaN where a moment does not exist."""
        df2 = self.df2.clone(memory_format=torch.contiguous_format)
        df2[df2 <= bound] = math.nan
        return df2

    @property
    def mean(self) -> Tensor:
        df2 = self._df2_above(2)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        mode[self.df1 <= 2] = math.nan
        return mode

    @property
    def variance(self) -> Tensor:
        df1, df2 = self.df1, self._df2_above(4)
        return 2 * df2.pow(2) * (df1 + df2 - 2) / (df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        above = self._gamma1.rsample(sample_shape)
        below = self._gamma2.rsample(sample_shape)
        tiny = torch.finfo(below.dtype).tiny
        return (above / below.clamp(min=tiny)).clamp(min=tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a, b, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        minus_log_beta = (a + b).lgamma() - a.lgamma() - b.lgamma()
        powers = a * ratio.log() + (a - 1) * torch.log(value)
        return minus_log_beta + powers - (a + b) * torch.log1p(ratio * value)
