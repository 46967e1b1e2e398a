"""The categorical distribution."""

from __future__ import annotations

from typing import Any

import tiny_torch as torch
from tiny_torch.base.size import Size
from tiny_torch.distributions import constraints
from tiny_torch.distributions.distribution import Distribution
from tiny_torch.distributions.utils import (
    given_of,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
    same_as,
)
from tiny_torch.tensor import Tensor


class Categorical(Distribution):
    """Category numbers 0 ... K-1 by weights (..., K): `probs`, or their logarithms `logits`.

    The weights need not be normalised: the attributes are.

    https://pytorch.org/docs/stable/distributions.html#categorical

    >>> import tiny_torch as torch
    >>> policy = torch.distributions.Categorical(logits=torch.zeros(2, 4))
    >>> policy.log_prob(torch.tensor([0, 3]))
    tensor([-1.3863, -1.3863])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _parameters = ("probs", "logits", "_param")

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        given_of(probs, logits)
        if probs is not None:
            if probs.dim() < 1:
                raise ValueError("`probs` parameter must be at least one-dimensional.")
            self.probs = self._param = probs / probs.sum(-1, keepdim=True)
        elif logits is not None:
            if logits.dim() < 1:
                raise ValueError("`logits` parameter must be at least one-dimensional.")
            self.logits = self._param = logits - logits.logsumexp(dim=-1, keepdim=True)
        super().__init__(self._param.shape[:-1], validate_args=validate_args)

    @property
    def _num_events(self) -> int:
        return self._param.shape[-1]

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits)

    param_shape = same_as("_param.shape")

    @property
    def mean(self) -> Tensor:
        """NaN: category numbers have no mean."""
        return self._full_like(self.probs, torch.nan)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(dim=-1)

    variance = same_as("mean")

    def sample(self, sample_shape: Any = ()) -> Tensor:
        sample_shape = Size(sample_shape)
        rows = self.probs.reshape(-1, self._num_events)
        drawn = torch.multinomial(rows, sample_shape.numel(), True).T
        return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        index, log_probs = torch.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return log_probs.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = torch.clamp(self.logits, min=torch.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerate(torch.arange(self._num_events, device=self._param.device), expand)
