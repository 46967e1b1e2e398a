"""The Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any

import tiny_torch as torch
from tiny_torch.distributions import constraints
from tiny_torch.distributions.distribution import Distribution
from tiny_torch.distributions.utils import broadcast_all, same_as
from tiny_torch.tensor import Tensor


class Cauchy(Distribution):
    """The Cauchy distribution of median `loc` and half width at half maximum `scale`.

    https://pytorch.org/docs/stable/distributions.html#cauchy

    >>> import tiny_torch as torch
    >>> torch.distributions.Cauchy(0.0, 1.0).cdf(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([0.2500, 0.5000, 0.7500])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _parameters = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    mode = same_as("loc")

    @property
    def mean(self) -> Tensor:
        """NaN: the integral does not converge."""
        return self._full_like(self.loc, math.nan)

    @property
    def variance(self) -> Tensor:
        return self._full_like(self.loc, math.inf)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.loc + self.loc.new_empty(shape).cauchy_() * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = (value - self.loc) / self.scale
        return -math.log(math.pi) - self.scale.log() - (z**2).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return torch.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return torch.tan((value - 0.5) * math.pi) * self.scale + self.loc

    def entropy(self) -> Tensor:
        return self.scale.log() + math.log(4 * math.pi)
