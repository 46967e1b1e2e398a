"""The half-Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any

import tiny_torch as torch
from tiny_torch.distributions.continuous._folded import Folded
from tiny_torch.distributions.continuous.cauchy import Cauchy
from tiny_torch.distributions.utils import same_as
from tiny_torch.tensor import Tensor


class HalfCauchy(Folded):
    """The absolute value of a Cauchy draw around 0, of `scale`, a tensor or a number.

    https://pytorch.org/docs/stable/distributions.html#halfcauchy

    >>> import tiny_torch as torch
    >>> torch.distributions.HalfCauchy(2.0).cdf(torch.tensor(2.0))
    tensor(0.5000)
    """

    _parameters = ()

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), validate_args)

    @property
    def mean(self) -> Tensor:
        return self._full_like(self.scale, math.inf)

    variance = same_as("base_dist.variance")

    def _log_density(self, value: Any) -> Tensor:
        value = torch.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        return super()._log_density(value)
