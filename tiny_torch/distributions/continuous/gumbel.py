"""The Gumbel distribution."""

from __future__ import annotations

import math
from typing import Any

import tiny_torch as torch
from tiny_torch.distributions import constraints
from tiny_torch.distributions.continuous.uniform import Uniform
from tiny_torch.distributions.transformed_distribution import TransformedDistribution
from tiny_torch.distributions.transforms import AffineTransform, ExpTransform
from tiny_torch.distributions.utils import broadcast_all, euler_constant, same_as
from tiny_torch.tensor import Tensor


class Gumbel(TransformedDistribution):
    """The Gumbel distribution: loc - scale * log(-log(u)) for uniform draws u.

    https://pytorch.org/docs/stable/distributions.html#gumbel

    >>> import tiny_torch as torch
    >>> torch.distributions.Gumbel(0.0, 1.0).mean
    tensor(0.5772)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    _parameters = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        finfo = torch.finfo(self.loc.dtype)
        low = torch.full_like(self.loc, finfo.tiny)
        base = Uniform(low, torch.full_like(low, 1 - finfo.eps), validate_args=validate_args)
        transforms: list = [
            ExpTransform().inv,
            AffineTransform(0, -torch.ones_like(self.scale)),
            ExpTransform().inv,
            AffineTransform(loc, -self.scale),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    mode = same_as("loc")

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * euler_constant

    @property
    def stddev(self) -> Tensor:
        return self.scale * (math.pi / math.sqrt(6))

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = (self.loc - value) / self.scale
        return z - z.exp() - self.scale.log()

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)
