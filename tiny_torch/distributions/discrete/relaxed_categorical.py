"""The relaxed categorical distribution."""

from __future__ import annotations

import math
from typing import Any

import tiny_torch as torch
from tiny_torch.distributions import constraints
from tiny_torch.distributions.discrete.categorical import Categorical
from tiny_torch.distributions.distribution import Distribution
from tiny_torch.distributions.transformed_distribution import TransformedDistribution
from tiny_torch.distributions.transforms import ExpTransform
from tiny_torch.distributions.utils import broadcast_all, clamp_probs, same_as
from tiny_torch.tensor import Tensor


class ExpRelaxedCategorical(Distribution):
    """The logarithms of RelaxedOneHotCategorical draws.

    https://pytorch.org/docs/stable/distributions.html#exprelaxedcategorical
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        shapes = self._categorical.batch_shape, self._categorical.param_shape[-1:]
        super().__init__(*shapes, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(ExpRelaxedCategorical, _instance)
        new.temperature = self.temperature
        new._categorical = self._categorical.expand(batch_shape)
        return self._finish_expand(new, batch_shape)

    param_shape = same_as("_categorical.param_shape")
    logits = same_as("_categorical.logits")
    probs = same_as("_categorical.probs")

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """The softmax's logarithm of logits with Gumbel noise, over the temperature."""
        shape = self._extended_shape(sample_shape)
        u = clamp_probs(torch.rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        scores = (self.logits - (-u.log()).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        k = self._categorical._num_events
        scores = logits - value * self.temperature
        scores = (scores - scores.logsumexp(dim=-1, keepdim=True)).sum(-1)
        return scores + math.lgamma(k) + (k - 1) * self.temperature.log()


class RelaxedOneHotCategorical(TransformedDistribution):
    """Points of the simplex near its corners, differentiable in their `probs` (or `logits`).

    The lower the `temperature`, the nearer. E. Jang et al., Categorical reparameterization with
    Gumbel-softmax, 2017;
    https://pytorch.org/docs/stable/distributions.html#relaxedonehotcategorical

    >>> import tiny_torch as torch
    >>> choice = torch.distributions.RelaxedOneHotCategorical(torch.tensor(0.5), torch.ones(3))
    >>> choice.rsample((2,)).shape
    torch.Size([2, 3])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True
    _parameters = ()

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    temperature = same_as("base_dist.temperature")
    logits = same_as("base_dist.logits")
    probs = same_as("base_dist.probs")
