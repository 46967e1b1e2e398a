"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any

import tiny_torch as torch
from tiny_torch.distributions import constraints
from tiny_torch.distributions.exp_family import ExponentialFamily
from tiny_torch.distributions.utils import (
    BinaryParameters,
    broadcast_all,
    clamp_probs,
    lazy_property,
    logits_to_probs,
    same_as,
)
from tiny_torch.nn.functional import binary_cross_entropy_with_logits
from tiny_torch.tensor import Tensor


class ContinuousBernoulli(BinaryParameters, ExponentialFamily):
    """Numbers x of [0, 1] by a density of C p^x (1 - p)^(1 - x), p of `probs` or `logits`.

    At p = 1/2 closed forms are 0 / 0: within `lims` series stand for them. G. Loaiza-Ganem and J.
    Cunningham, The continuous Bernoulli, 2019;
    https://pytorch.org/docs/stable/distributions.html#continuousbernoulli

    >>> import tiny_torch as torch
    >>> torch.distributions.ContinuousBernoulli(0.5).mean
    tensor(0.5000)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0
    _parameters = ("probs", "logits", "_param")

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        self._param = self._take(probs, logits)
        if probs is not None:
            # PyTorch looks before it clamps, but only if it is told whether to.
            inside = constraints.all_true(constraints.unit_interval.check(self._param))
            if validate_args is not None and not inside:
                raise ValueError("The parameter probs has invalid values")
            self.probs = self._param = clamp_probs(self._param)
        self._lims = lims
        super().__init__(self._param.shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._lims = self._lims
        return new

    @lazy_property
    def probs(self) -> Tensor:
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    param_shape = same_as("_param.shape")

    def _outside_unstable_region(self) -> Tensor:
        low, high = self._lims
        return (self.probs <= low) | (self.probs > high)

    def _cut_probs(self) -> Tensor:
        """The probabilities, where closed forms are computed from them."""
        return torch.where(self._outside_unstable_region(), self.probs, self._lims[0])

    @staticmethod
    def _minus_logit(p: Tensor) -> Tensor:
        return torch.log1p(-p) - torch.log(p)

    def _cont_bern_log_norm(self) -> Tensor:
        """log C."""
        p = self._cut_probs()
        log_norm = torch.log(self._minus_logit(p).abs()) - torch.log((1 - 2 * p).abs())
        x = (self.probs - 0.5).pow(2)
        series = math.log(2) + (4 / 3 + 104 / 45 * x) * x
        return torch.where(self._outside_unstable_region(), log_norm, series)

    @property
    def mean(self) -> Tensor:
        p = self._cut_probs()
        mean = p / (2 * p - 1) + 1 / self._minus_logit(p)
        x = self.probs - 0.5
        series = 0.5 + (1 / 3 + 16 / 45 * x.pow(2)) * x
        return torch.where(self._outside_unstable_region(), mean, series)

    @property
    def variance(self) -> Tensor:
        p = self._cut_probs()
        variance = p * (p - 1) / (1 - 2 * p).pow(2) + 1 / self._minus_logit(p).pow(2)
        x = (self.probs - 0.5).pow(2)
        series = 1 / 12 - (1 / 15 - 128 / 945 * x) * x
        return torch.where(self._outside_unstable_region(), variance, series)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(torch.rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        cross_entropy = binary_cross_entropy_with_logits(logits, value, reduction="none")
        return self._cont_bern_log_norm() - cross_entropy

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        p = self._cut_probs()
        mass = (p.pow(value) * (1 - p).pow(1 - value) + p - 1) / (2 * p - 1)
        mass = torch.where(self._outside_unstable_region(), mass, value)
        return torch.where(value <= 0, 0.0, torch.where(value >= 1, 1.0, mass))

    def icdf(self, value: Tensor) -> Tensor:
        p = self._cut_probs()
        part = torch.log1p(-p + value * (2 * p - 1)) - torch.log1p(-p)
        quantile = part / -self._minus_logit(p)
        return torch.where(self._outside_unstable_region(), quantile, value)

    def entropy(self) -> Tensor:
        cross = self.mean * self._minus_logit(self.probs) - torch.log1p(-self.probs)
        return cross - self._cont_bern_log_norm()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        (x,) = natural_params
        low, high = (lim - 0.5 for lim in self._lims)
        outside = (x <= low) | (x > high)
        cut = torch.where(outside, x, low)
        log_norm = torch.log(torch.expm1(cut).abs()) - torch.log(cut.abs())
        series = 0.5 * x + x.pow(2) / 24 - x.pow(4) / 2880
        return torch.where(outside, log_norm, series)
