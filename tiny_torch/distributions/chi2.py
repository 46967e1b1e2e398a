"""The chi-squared distribution."""

from __future__ import annotations

from typing import Any

from tiny_torch.distributions import constraints
from tiny_torch.distributions.gamma import Gamma
from tiny_torch.tensor import Tensor


class Chi2(Gamma):
    """The sum of `df` squared standard normal draws: Gamma(df / 2, 1 / 2).

    https://pytorch.org/docs/stable/distributions.html#chi2

    >>> import tiny_torch as torch
    >>> torch.distributions.Chi2(torch.tensor([3.0])).variance
    tensor([6.])
    """

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Chi2, _instance)
        return super().expand(batch_shape, new)

    @property
    def df(self) -> Tensor:
        return self.concentration * 2
