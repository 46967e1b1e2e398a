"""The generalized Pareto distribution."""

from __future__ import annotations

import math
from typing import Any

import tiny_torch as torch
from tiny_torch.distributions import constraints
from tiny_torch.distributions.distribution import Distribution
from tiny_torch.distributions.utils import broadcast_all, same_as
from tiny_torch.tensor import Tensor


class GeneralizedPareto(Distribution):
    """Values above `loc`: a fraction (1 + c z)^(-1 / c) exceeds loc + scale * z.

    c is `concentration`: above 0 the tail is Pareto's, at 0 it is exponential, below 0 it ends.

    https://pytorch.org/docs/stable/distributions.html#generalizedpareto

    >>> import tiny_torch as torch
    >>> torch.distributions.GeneralizedPareto(0.0, 1.0, torch.tensor([-1.0, 0.0, 0.5])).mean
    tensor([0.5000, 1.0000, 2.0000])
    """

    arg_constraints = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True
    _parameters = ("loc", "scale", "concentration")

    def __init__(
        self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        end = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, torch.where(self.concentration < 0, end, math.inf))

    mode = same_as("loc")

    @property
    def mean(self) -> Tensor:
        """NaN from a concentration of 1."""
        exists = self.concentration < 1
        c = torch.where(exists, self.concentration, 0.5)
        return torch.where(exists, self.loc + self.scale / (1 - c), math.nan)

    @property
    def variance(self) -> Tensor:
        """NaN from a concentration of 1/2."""
        exists = self.concentration < 0.5
        c = torch.where(exists, self.concentration, 0.25)
        return torch.where(exists, self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)), math.nan)

    def _exponential_or(self) -> tuple[Tensor, Tensor]:
        """Where the concentration is 0, and the concentration with 1 there."""
        zero = torch.isclose(self.concentration, torch.zeros_like(self.concentration))
        return zero, torch.where(zero, 1.0, self.concentration)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(torch.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = (value - self.loc) / self.scale
        zero, c = self._exponential_or()
        power = 1 / c + torch.ones_like(z)
        tail = torch.where(power == 0, power, power * torch.log1p(c * z))
        return -self.scale.log() - torch.where(zero, z, tail)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of more than `value`."""
        if self._validate_args:
            self._validate_sample(value)
        z = (value - self.loc) / self.scale
        zero, c = self._exponential_or()
        return torch.where(zero, -z, -torch.log1p(c * z) / c)

    def log_cdf(self, value: Tensor) -> Tensor:
        return torch.log1p(-torch.exp(self.log_survival_function(value)))

    def cdf(self, value: Tensor) -> Tensor:
        return torch.exp(self.log_cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        zero, c = self._exponential_or()
        log_survival = torch.log1p(-value)
        tail = self.scale / c * torch.expm1(-(c * log_survival))
        return self.loc + torch.where(zero, -(self.scale * log_survival), tail)

    def entropy(self) -> Tensor:
        return torch.log(self.scale) + self.concentration + 1
