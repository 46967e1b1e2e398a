"""The Weibull distribution."""

from __future__ import annotations

from typing import Any

import tiny_torch as torch
from tiny_torch.distributions import constraints
from tiny_torch.distributions.continuous.exponential import Exponential
from tiny_torch.distributions.transformed_distribution import TransformedDistribution
from tiny_torch.distributions.transforms import AffineTransform, PowerTransform
from tiny_torch.distributions.utils import broadcast_all, euler_constant
from tiny_torch.tensor import Tensor


class Weibull(TransformedDistribution):
    """The distribution of scale * x^(1 / concentration) for exponential draws x of rate 1.

    https://pytorch.org/docs/stable/distributions.html#weibull

    >>> import tiny_torch as torch
    >>> torch.distributions.Weibull(2.0, 1.0).mean
    tensor(2.)
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        base = Exponential(torch.ones_like(self.scale), validate_args=validate_args)
        super().__init__(base, self._powers(), validate_args=validate_args)

    def _powers(self) -> list:
        """Also keeps 1 / concentration."""
        self.concentration_reciprocal = self.concentration.reciprocal()
        return [PowerTransform(self.concentration_reciprocal), AffineTransform(0, self.scale)]

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Weibull, _instance)
        new.scale = self.scale.expand(batch_shape)
        new.concentration = self.concentration.expand(batch_shape)
        new.base_dist = self.base_dist.expand(batch_shape)
        new.transforms = new._powers()
        return self._finish_expand(new, new.scale.shape)

    def _log_gamma(self, k: int) -> Tensor:
        """The logarithm of the k-th moment for a scale of 1."""
        return torch.lgamma(1 + k * self.concentration_reciprocal)

    @property
    def mean(self) -> Tensor:
        return self.scale * torch.exp(self._log_gamma(1))

    @property
    def mode(self) -> Tensor:
        base = (self.concentration - 1) / self.concentration
        return self.scale * base**self.concentration_reciprocal

    @property
    def variance(self) -> Tensor:
        unit = torch.exp(self._log_gamma(2)) - torch.exp(2 * self._log_gamma(1))
        return self.scale.pow(2) * unit

    def entropy(self) -> Tensor:
        rest = euler_constant * (1 - self.concentration_reciprocal)
        return rest + torch.log(self.scale * self.concentration_reciprocal) + 1
