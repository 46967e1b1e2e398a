"""The gamma distribution."""

from __future__ import annotations

from typing import Any

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.graph import Op
from tiny_torch.distributions import constraints
from tiny_torch.distributions.exp_family import ExponentialFamily
from tiny_torch.distributions.utils import broadcast_all
from tiny_torch.tensor import Tensor


class GammaInc(Op):
    """The probability that a gamma draw of shape parameter a and rate 1 is below x."""

    arity = 2
    saves = (0, 1)

    @staticmethod
    def forward(a, x):
        return _core.gammainc(a, x), (a, x)

    @staticmethod
    def backward(saved, grad, needs):
        if needs[0]:
            raise NotImplementedError(
                "the derivative for 'concentration' of cdf is not implemented."
            )
        if hasattr(grad, "array"):
            raise RuntimeError("derivative for Gamma.cdf's backward is not implemented")
        return None, grad * _core.gamma_density(*saved)


class Gamma(ExponentialFamily):
    """The gamma distribution of shape parameter `concentration` and `rate`, tensors or numbers.

    https://pytorch.org/docs/stable/distributions.html#gamma
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    _parameters = ("concentration", "rate")

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        draw = torch._standard_gamma(self.concentration.expand(shape))  # type: ignore[attr-defined]
        value = draw / self.rate.expand(shape)
        value.detach().clamp_(min=torch.finfo(value.dtype).tiny)  # not part of the graph
        return value

    def log_prob(self, value: Any) -> Tensor:
        value = torch.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        if self._validate_args:
            self._validate_sample(value)
        return (
            torch.xlogy(self.concentration, self.rate)
            + torch.xlogy(self.concentration - 1, value)
            - self.rate * value
            - torch.lgamma(self.concentration)
        )

    def cdf(self, value: Tensor) -> Tensor:
        """Differentiable in `value` and the rate."""
        if self._validate_args:
            self._validate_sample(value)
        a, x = torch.broadcast_tensors(self.concentration, self.rate * value)
        return apply(GammaInc, a, x)

    def entropy(self) -> Tensor:
        return (
            self.concentration
            - torch.log(self.rate)
            + torch.lgamma(self.concentration)
            + (1.0 - self.concentration) * torch.digamma(self.concentration)
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        return torch.lgamma(x + 1) + (x + 1) * torch.log(-y.reciprocal())
