"""The relaxed Bernoulli distribution."""

from __future__ import annotations

from typing import Any

import tiny_torch as torch
from tiny_torch.distributions import constraints
from tiny_torch.distributions.distribution import Distribution
from tiny_torch.distributions.transformed_distribution import TransformedDistribution
from tiny_torch.distributions.transforms import SigmoidTransform
from tiny_torch.distributions.utils import BinaryParameters, broadcast_all, clamp_probs, same_as
from tiny_torch.nn.functional import logsigmoid
from tiny_torch.tensor import Tensor


class LogitRelaxedBernoulli(BinaryParameters, Distribution):
    """The log-odds of RelaxedBernoulli draws: logistic noise around `logits`, over `temperature`.

    https://pytorch.org/docs/stable/distributions.html#logitrelaxedbernoulli
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    _parameters = ("probs", "logits", "_param")

    def __init__(
        self,
        temperature: Tensor,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        self._param = self._take(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new.temperature = self.temperature
        return new

    param_shape = same_as("_param.shape")

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(torch.rand(shape, dtype=probs.dtype, device=probs.device))
        noise = u.log() - (-u).log1p()
        return (noise + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        difference = logits - value * self.temperature
        return self.temperature.log() + difference + 2 * logsigmoid(-difference)


class RelaxedBernoulli(TransformedDistribution):
    """Numbers near 0 and 1, differentiable in their `probs` (or `logits`): Bernoulli's relaxation.

    The lower the `temperature`, the nearer. C. Maddison et al., The concrete distribution, 2017;
    https://pytorch.org/docs/stable/distributions.html#relaxedbernoulli

    >>> import tiny_torch as torch
    >>> gate = torch.distributions.RelaxedBernoulli(torch.tensor(0.5), logits=torch.zeros(3))
    >>> gate.rsample((2,)).shape
    torch.Size([2, 3])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _parameters = ()

    def __init__(
        self,
        temperature: Tensor,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    temperature = same_as("base_dist.temperature")
    logits = same_as("base_dist.logits")
    probs = same_as("base_dist.probs")
