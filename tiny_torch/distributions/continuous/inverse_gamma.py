"""The inverse gamma distribution."""

from __future__ import annotations

import math
from typing import Any

import tiny_torch as torch
from tiny_torch.distributions import constraints
from tiny_torch.distributions.continuous.gamma import Gamma
from tiny_torch.distributions.transformed_distribution import TransformedDistribution
from tiny_torch.distributions.transforms import PowerTransform
from tiny_torch.distributions.utils import same_as
from tiny_torch.tensor import Tensor


class InverseGamma(TransformedDistribution):
    """The distribution of 1 / x for gamma draws x of `concentration` and `rate`.

    https://pytorch.org/docs/stable/distributions.html#inversegamma

    >>> import tiny_torch as torch
    >>> torch.distributions.InverseGamma(torch.tensor([1.0, 3.0]), 4.0).mean
    tensor([inf, 2.])
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _parameters = ()

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        inversion = PowerTransform(-base.rate.new_ones(()))
        super().__init__(base, inversion, validate_args=validate_args)

    concentration = same_as("base_dist.concentration")
    rate = same_as("base_dist.rate")

    @property
    def mean(self) -> Tensor:
        mean = self.rate / (self.concentration - 1)
        return torch.where(self.concentration > 1, mean, math.inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        a = self.concentration
        variance = self.rate.square() / ((a - 1).square() * (a - 2))
        return torch.where(a > 2, variance, math.inf)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()
