"""The negative binomial distribution."""

from __future__ import annotations

from typing import Any

import tiny_torch as torch
from tiny_torch.distributions import constraints
from tiny_torch.distributions.continuous.gamma import Gamma
from tiny_torch.distributions.distribution import Distribution
from tiny_torch.distributions.utils import CountedTrials, lazy_property, same_as
from tiny_torch.nn.functional import logsigmoid
from tiny_torch.tensor import Tensor


class NegativeBinomial(CountedTrials, Distribution):
    """How many trials succeed before `total_count` have failed.

    Each succeeds with probability `probs`, or with log-odds `logits`.

    https://pytorch.org/docs/stable/distributions.html#negativebinomial

    >>> import tiny_torch as torch
    >>> torch.distributions.NegativeBinomial(3, torch.tensor(0.5)).mean
    tensor(3.)
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    _parameters = ("total_count", "probs", "logits", "_param")

    def __init__(
        self,
        total_count: Any,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._param = self._take_counted(total_count, probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    param_shape = same_as("_param.shape")

    @property
    def mean(self) -> Tensor:
        return self.total_count * torch.exp(self.logits)

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / torch.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self) -> Gamma:
        """The rates of Poisson draws that make up this distribution."""
        return Gamma(self.total_count, torch.exp(-self.logits), validate_args=False)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with torch.no_grad():
            return torch.poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n = self.total_count
        log_ways = torch.lgamma(n + value) - torch.lgamma(1.0 + value) - torch.lgamma(n)
        log_ways = log_ways.masked_fill(n + value == 0.0, 0.0)  # nothing is awaited
        return n * logsigmoid(-self.logits) + value * logsigmoid(self.logits) + log_ways
