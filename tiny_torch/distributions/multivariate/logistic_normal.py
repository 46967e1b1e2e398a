"""The logistic-normal distribution."""

from __future__ import annotations

from typing import Any

from tiny_torch.distributions import constraints
from tiny_torch.distributions.continuous.normal import Normal
from tiny_torch.distributions.transformed_distribution import TransformedDistribution
from tiny_torch.distributions.transforms import StickBreakingTransform
from tiny_torch.distributions.utils import same_as


class LogisticNormal(TransformedDistribution):
    """Points of the simplex with K + 1 parts, made of K normal draws by StickBreakingTransform.

    https://pytorch.org/docs/stable/distributions.html#logisticnormal

    >>> import tiny_torch as torch
    >>> torch.distributions.LogisticNormal(torch.zeros(2), torch.ones(2)).sample((4,)).shape
    torch.Size([4, 3])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True
    _parameters = ()

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    loc = same_as("base_dist.base_dist.loc")
    scale = same_as("base_dist.base_dist.scale")
