"""The binomial distribution."""

from __future__ import annotations

from typing import Any

import tiny_torch as torch
from tiny_torch.distributions import constraints
from tiny_torch.distributions.distribution import Distribution
from tiny_torch.distributions.utils import CountedTrials, same_as
from tiny_torch.tensor import Tensor


class Binomial(CountedTrials, Distribution):
    """How many of `total_count` trials succeed, each of probability `probs` or log-odds `logits`.

    https://pytorch.org/docs/stable/distributions.html#binomial

    >>> import tiny_torch as torch
    >>> torch.distributions.Binomial(2, torch.tensor(0.5)).log_prob(torch.tensor([0.0, 1.0])).exp()
    tensor([0.2500, 0.5000])
    """

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True
    _parameters = ("total_count", "probs", "logits", "_param")

    def __init__(
        self,
        total_count: Any = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._param = self._take_counted(total_count, probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self.total_count)

    param_shape = same_as("_param.shape")

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n = self.total_count
        log_ways = torch.lgamma(n + 1) - torch.lgamma(value + 1) - torch.lgamma(n - value + 1)
        distance = self.logits.abs()
        log_total = 0.5 * (self.logits + distance) + torch.log1p(torch.exp(-distance))
        return value * self.logits - n * log_total + log_ways

    def _common_count(self, asked: str) -> int:
        """The one number of trials of the whole batch."""
        count = int(self.total_count.max())
        if not self.total_count.min() == count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{asked}`.")
        return count

    def entropy(self) -> Tensor:
        self._common_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(torch.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self._common_count("enumerate_support")
        param = self._param
        values = torch.arange(1 + count, dtype=param.dtype, device=param.device)
        return self._enumerate(values, expand)
