"""The geometric distribution."""

from __future__ import annotations

from typing import Any

import tiny_torch as torch
from tiny_torch.distributions import constraints
from tiny_torch.distributions.distribution import Distribution
from tiny_torch.distributions.utils import BinaryParameters, broadcast_all
from tiny_torch.nn.functional import binary_cross_entropy_with_logits
from tiny_torch.tensor import Tensor


class Geometric(BinaryParameters, Distribution):
    """How many trials fail before one of probability `probs`, or log-odds `logits`, succeeds.

    https://pytorch.org/docs/stable/distributions.html#geometric
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer
    _parameters = ("probs", "logits")

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        shape = self._take(probs, logits).shape
        super().__init__(shape, validate_args=validate_args)
        if self._validate_args and probs is not None:
            self._refuse_zeros()

    def _refuse_zeros(self) -> None:
        value = self.probs
        valid = value > 0
        if not constraints.all_true(valid):
            raise ValueError(
                f"Expected parameter probs ({type(value).__name__} of shape {tuple(value.shape)}) "
                f"of distribution {self!r} to be positive but found invalid values:\n"
                f"{value.data[~valid]}"
            )

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return torch.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        tiny = torch.finfo(self.probs.dtype).tiny
        with torch.no_grad():
            u = self.probs.new_empty(shape).uniform_(tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        probs = torch.where((probs == 1) & (value == 0), 0.0, probs)  # 0 * log(1 - 1) is 0
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        both = binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
        return both / self.probs
