"""The Pareto distribution."""

from __future__ import annotations

from typing import Any

from tiny_torch.distributions import constraints
from tiny_torch.distributions.continuous.exponential import Exponential
from tiny_torch.distributions.transformed_distribution import TransformedDistribution
from tiny_torch.distributions.transforms import AffineTransform, ExpTransform
from tiny_torch.distributions.utils import broadcast_all, same_as
from tiny_torch.tensor import Tensor


class Pareto(TransformedDistribution):
    """The Pareto distribution of type 1: scale * exp(x) for exponential draws x of rate `alpha`.

    https://pytorch.org/docs/stable/distributions.html#pareto

    >>> import tiny_torch as torch
    >>> torch.distributions.Pareto(2.0, torch.tensor([1.0, 3.0])).mean
    tensor([inf, 3.])
    """

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}
    _parameters = ("scale", "alpha")

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        transforms: list = [ExpTransform(), AffineTransform(0, self.scale)]
        super().__init__(base, transforms, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        return constraints.greater_than_eq(self.scale)

    mode = same_as("scale")

    @property
    def mean(self) -> Tensor:
        """Infinite up to an alpha of 1."""
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def variance(self) -> Tensor:
        """Infinite up to an alpha of 2."""
        a = self.alpha.clamp(min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + 1 + self.alpha.reciprocal()
