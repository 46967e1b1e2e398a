"""The half-normal distribution."""

from __future__ import annotations

import math
from typing import Any

from tiny_torch.distributions.continuous._folded import Folded
from tiny_torch.distributions.continuous.normal import Normal
from tiny_torch.tensor import Tensor


class HalfNormal(Folded):
    """The absolute value of a normal draw of mean 0 and deviation `scale`, a tensor or a number.

    https://pytorch.org/docs/stable/distributions.html#halfnormal

    >>> import tiny_torch as torch
    >>> torch.distributions.HalfNormal(1.0).mean
    tensor(0.7979)
    """

    _parameters = ()

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), validate_args)

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)
