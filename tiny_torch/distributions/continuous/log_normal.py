"""The log-normal distribution."""

from __future__ import annotations

from typing import Any

from tiny_torch.distributions import constraints
from tiny_torch.distributions.continuous.normal import Normal
from tiny_torch.distributions.transformed_distribution import TransformedDistribution
from tiny_torch.distributions.transforms import ExpTransform
from tiny_torch.distributions.utils import same_as
from tiny_torch.tensor import Tensor


class LogNormal(TransformedDistribution):
    """The distribution of numbers whose logarithm is normal, of mean `loc` and deviation `scale`.

    https://pytorch.org/docs/stable/distributions.html#lognormal
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _parameters = ()

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    loc = same_as("base_dist.loc")
    scale = same_as("base_dist.scale")

    @property
    def mean(self) -> Tensor:
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self) -> Tensor:
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Tensor:
        square = self.scale.pow(2)
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc
