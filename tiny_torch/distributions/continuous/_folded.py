"""The absolute value of a draw that is symmetric around 0: what the half distributions share."""

from __future__ import annotations

import math
from typing import Any

import tiny_torch as torch
from tiny_torch.distributions import constraints
from tiny_torch.distributions.transformed_distribution import TransformedDistribution
from tiny_torch.distributions.transforms import AbsTransform
from tiny_torch.distributions.utils import same_as
from tiny_torch.tensor import Tensor


class Folded(TransformedDistribution):
    """|x| of `base`, whose parameters are a `loc` of 0 and a `scale`: twice its density."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, base: Any, validate_args: bool | None) -> None:
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    scale = same_as("base_dist.scale")

    @property
    def mode(self) -> Tensor:
        return torch.zeros_like(self.scale)

    def _log_density(self, value: Tensor) -> Tensor:
        return torch.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._log_density(value)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, prob: Tensor) -> Tensor:
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
