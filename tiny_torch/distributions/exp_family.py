"""Distributions of the exponential family: entropy and divergence from the log-normalizer alone."""

from __future__ import annotations

from typing import Any

import tiny_torch as torch
from tiny_torch.distributions.distribution import Distribution
from tiny_torch.tensor import Tensor


class ExponentialFamily(Distribution):
    """p(x; theta) = exp(<t(x), theta> - F(theta) + k(x)).

    `_natural_params` are theta, `_log_normalizer(*theta)` is F, `_mean_carrier_measure` is the
    expectation of k. The gradient of F is the expectation of t.
    """

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise NotImplementedError

    def _normalizer_and_gradients(self) -> tuple[list[Tensor], Tensor, Any]:
        """theta, F(theta) and its gradients."""
        theta = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*theta)
        return theta, normalizer, torch.autograd.grad(normalizer.sum(), theta, create_graph=True)

    def entropy(self) -> Tensor:
        theta, normalizer, gradients = self._normalizer_and_gradients()
        result = normalizer - self._mean_carrier_measure
        for p, gradient in zip(theta, gradients, strict=True):
            result = result - (p * gradient).reshape((*self._batch_shape, -1)).sum(-1)
        return result
