"""The multinomial distribution."""

from __future__ import annotations

import math
from typing import Any

import tiny_torch as torch
from tiny_torch.base.size import Size
from tiny_torch.distributions import constraints
from tiny_torch.distributions.discrete.binomial import Binomial
from tiny_torch.distributions.discrete.categorical import Categorical
from tiny_torch.distributions.distribution import Distribution
from tiny_torch.distributions.utils import broadcast_all, same_as
from tiny_torch.tensor import Tensor


class Multinomial(Distribution):
    """How often each of K categories comes up in `total_count` draws, by weights (..., K).

    https://pytorch.org/docs/stable/distributions.html#multinomial

    >>> import tiny_torch as torch
    >>> torch.distributions.Multinomial(4, torch.tensor([1.0, 3.0])).mean
    tensor([1., 3.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    total_count: int

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs, logits)
        self._binomial = Binomial(total_count, probs=self.probs)
        shapes = self._categorical.batch_shape, self._categorical.param_shape[-1:]
        super().__init__(*shapes, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Multinomial, _instance)
        new.total_count = self.total_count
        new._categorical = self._categorical.expand(batch_shape)
        new._binomial = self._binomial.expand(Size(batch_shape) + self.event_shape)
        return self._finish_expand(new, Size(batch_shape))

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self):
        return constraints.multinomial(self.total_count)

    _param = same_as("_categorical._param")
    probs = same_as("_categorical.probs")
    logits = same_as("_categorical.logits")
    param_shape = same_as("_categorical.param_shape")

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        sample_shape = Size(sample_shape)
        drawn = self._categorical.sample(Size((self.total_count,)) + sample_shape)
        drawn = drawn.movedim(0, -1)
        counts = drawn.new_zeros(self._extended_shape(sample_shape))
        counts.scatter_add_(-1, drawn, torch.ones_like(drawn))
        return counts.type_as(self.probs)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0.0)  # 0 * log(0) is 0
        log_ways = torch.lgamma(value.sum(-1) + 1) - torch.lgamma(value + 1).sum(-1)
        return log_ways + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        """Each count is binomial: what the mean of log(count!) needs."""
        counts = self._binomial.enumerate_support(expand=False)[1:]
        masses = torch.exp(self._binomial.log_prob(counts))
        mean_log_factorials = (masses * torch.lgamma(counts + 1)).sum((0, -1))
        draws = self.total_count * self._categorical.entropy()
        return draws - math.lgamma(self.total_count + 1) + mean_log_factorials
