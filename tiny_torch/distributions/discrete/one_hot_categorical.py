"""The categorical distribution over one-hot vectors."""

from __future__ import annotations

from typing import Any

import tiny_torch as torch
from tiny_torch.distributions import constraints
from tiny_torch.distributions.discrete.categorical import Categorical
from tiny_torch.distributions.distribution import Distribution
from tiny_torch.distributions.utils import same_as
from tiny_torch.nn.functional import one_hot
from tiny_torch.tensor import Tensor


class OneHotCategorical(Distribution):
    """Categorical draws as one-hot vectors (..., K).

    https://pytorch.org/docs/stable/distributions.html#onehotcategorical
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical = Categorical(probs, logits)
        shapes = self._categorical.batch_shape, self._categorical.param_shape[-1:]
        super().__init__(*shapes, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(OneHotCategorical, _instance)
        new._categorical = self._categorical.expand(batch_shape)
        return self._finish_expand(new, batch_shape)

    _param = same_as("_categorical._param")
    probs = same_as("_categorical.probs")
    logits = same_as("_categorical.logits")
    param_shape = same_as("_categorical.param_shape")
    mean = same_as("probs")

    @property
    def mode(self) -> Tensor:
        return one_hot(self.probs.argmax(dim=-1), self.probs.shape[-1]).to(self.probs)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        indices = self._categorical.sample(sample_shape)
        return one_hot(indices, self.probs.shape[-1]).to(self.probs)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = self.event_shape[0]
        values = torch.eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.view((n,) + (1,) * len(self.batch_shape) + (n,))
        return values.expand((n, *self.batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """OneHotCategorical whose draws pass gradients on to `probs` as if they were these.

    Y. Bengio et al., Estimating or propagating gradients through stochastic neurons for
    conditional computation, 2013;
    https://pytorch.org/docs/stable/distributions.html#onehotcategorical

    >>> import tiny_torch as torch
    >>> probs = torch.ones(3, requires_grad=True)
    >>> torch.distributions.OneHotCategoricalStraightThrough(probs).rsample().requires_grad
    True
    """

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        probs = self._categorical.probs
        return self.sample(sample_shape) + (probs - probs.detach())
