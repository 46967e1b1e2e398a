"""The Kumaraswamy distribution."""

from __future__ import annotations

import math
from typing import Any

import tiny_torch as torch
from tiny_torch.distributions import constraints
from tiny_torch.distributions.continuous.uniform import Uniform
from tiny_torch.distributions.transformed_distribution import TransformedDistribution
from tiny_torch.distributions.transforms import AffineTransform, PowerTransform
from tiny_torch.distributions.utils import broadcast_all, euler_constant
from tiny_torch.tensor import Tensor


class Kumaraswamy(TransformedDistribution):
    """Beta's like with a cdf: 1 - (1 - x^a)^b for a `concentration1` and b `concentration0`.

    https://pytorch.org/docs/stable/distributions.html#kumaraswamy

    >>> import tiny_torch as torch
    >>> torch.distributions.Kumaraswamy(1.0, 3.0).mean
    tensor(0.2500)
    """

    arg_constraints = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True
    _parameters = ("concentration1", "concentration0")

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool | None = None
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        low = torch.zeros_like(self.concentration0)
        base = Uniform(low, torch.ones_like(low), validate_args=validate_args)
        transforms: list = [
            PowerTransform(self.concentration0.reciprocal()),
            AffineTransform(1.0, -1.0),
            PowerTransform(self.concentration1.reciprocal()),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def _moment(self, k: int) -> Tensor:
        """The mean of x^k: b * B(1 + k / a, b)."""
        start, b = 1 + k / self.concentration1, self.concentration0
        return b * torch.exp(torch.lgamma(start) + torch.lgamma(b) - torch.lgamma(start + b))

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        """((a - 1) / (a b - 1))^(1 / a), which PyTorch computes otherwise: it answers NaN."""
        a, b = self.concentration1, self.concentration0
        mode = ((a - 1) / (a * b - 1)) ** a.reciprocal()
        return torch.where((a < 1) | (b < 1), math.nan, mode)

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self._moment(1).pow(2)

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = torch.digamma(b + 1) + euler_constant
        ends = (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic
        return ends - torch.log(a) - torch.log(b)
