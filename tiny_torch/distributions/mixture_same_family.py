"""Mixtures of distributions of one family."""

from __future__ import annotations

from typing import Any

import tiny_torch as torch
from tiny_torch.base.size import Size
from tiny_torch.distributions import constraints
from tiny_torch.distributions.discrete.categorical import Categorical
from tiny_torch.distributions.distribution import Distribution
from tiny_torch.distributions.utils import same_as
from tiny_torch.tensor import Tensor


class MixtureSameFamily(Distribution):
    """Draws of a component that `mixture_distribution`, a Categorical, picks.

    The components are the last dim of the batch of `component_distribution`.

    https://pytorch.org/docs/stable/distributions.html#mixturesamefamily

    >>> import tiny_torch as torch
    >>> from tiny_torch.distributions import Categorical, MixtureSameFamily, Normal
    >>> components = Normal(torch.tensor([-1.0, 1.0]), 1.0)
    >>> MixtureSameFamily(Categorical(torch.tensor([1.0, 3.0])), components).mean
    tensor(0.5000)
    """

    arg_constraints: Any = {}
    has_rsample = False

    def __init__(
        self,
        mixture_distribution: Any,
        component_distribution: Any,
        validate_args: bool | None = None,
    ) -> None:
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        self._check_kinds()
        self._check_batches()
        self._num_component = component_distribution.batch_shape[-1]
        shape = component_distribution.event_shape
        self._event_ndims = len(shape)
        batch_shape = component_distribution.batch_shape[:-1]
        super().__init__(batch_shape, shape, validate_args=validate_args)

    def _check_kinds(self) -> None:
        if not isinstance(self._mixture_distribution, Categorical):
            raise ValueError(
                "The Mixture distribution needs to be an instance of "
                "torch.distributions.Categorical"
            )
        if not isinstance(self._component_distribution, Distribution):
            raise ValueError(
                "The Component distribution needs to be an instance of "
                "torch.distributions.Distribution"
            )

    def _check_batches(self) -> None:
        mixture = self._mixture_distribution.batch_shape
        components = self._component_distribution.batch_shape
        for i, j in zip(reversed(mixture), reversed(components[:-1]), strict=False):
            if i != 1 and j != 1 and i != j:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixture}) is not compatible with "
                    f"`component_distribution.batch_shape`({components[:-1]})"
                )
        k = self._mixture_distribution.logits.shape[-1]
        if k != components[-1]:
            raise ValueError(
                f"`mixture_distribution component` ({k}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({components[-1]})"
            )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        batch_shape = Size(batch_shape)
        components = (*batch_shape, self._num_component)
        new._component_distribution = self._component_distribution.expand(components)
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component = self._num_component
        new._event_ndims = self._event_ndims
        return self._finish_expand(new, batch_shape)

    @constraints.dependent_property
    def support(self):
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    mixture_distribution = same_as("_mixture_distribution")
    component_distribution = same_as("_component_distribution")

    def _mean_of(self, values: Tensor) -> Tensor:
        """The weighted mean over components of (..., K, *event_shape)."""
        probs = self._mixture_distribution.probs
        probs = probs.reshape(probs.shape + (1,) * self._event_ndims)
        return (probs * values).sum(-1 - self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return self._mean_of(self._component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        """The mean of the components' variances, and the variance of their means."""
        distance = self._component_distribution.mean - self._pad(self.mean)
        within = self._mean_of(self._component_distribution.variance)
        return within + self._mean_of(distance.pow(2))

    def _pad(self, x: Tensor) -> Tensor:
        """x with a dim of size 1 for the components."""
        return x.unsqueeze(-1 - self._event_ndims)

    def cdf(self, x: Tensor) -> Tensor:
        x = self._pad(x)
        return (self._component_distribution.cdf(x) * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, x: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(x)
        log_probs = self._component_distribution.log_prob(self._pad(x))
        log_weights = torch.log_softmax(self._mixture_distribution.logits, dim=-1)
        return torch.logsumexp(log_probs + log_weights, dim=-1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with torch.no_grad():
            picked = self._mixture_distribution.sample(sample_shape)
            drawn = self._component_distribution.sample(sample_shape)
            dim = len(sample_shape) + len(self._batch_shape)
            index = picked.reshape((*picked.shape, 1) + (1,) * self._event_ndims)
            index = index.expand((*picked.shape, 1, *self._event_shape))
            return drawn.gather(dim, index).squeeze(dim)

    def __repr__(self) -> str:
        return (
            f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
        )
