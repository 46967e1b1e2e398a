"""The chi-squared distribution."""

from __future__ import annotations

from typing import Any

from tiny_torch.distributions import constraints
from tiny_torch.distributions.continuous.gamma import Gamma
from tiny_torch.tensor import Tensor


class Chi2(Gamma):
    """The sum of `df` squared standard normal draws: Gamma(df / 2, 1 / 2).

    https://pytorch.org/docs/stable/distributions.html#chi2

    >>> import tiny_torch as torch
    >>> torch.distributions.Chi2(torch.tensor([3.0])).variance
    tensor([6.])
    """

    arg_constraints = {"df": constraints.positive}
    _parameters = Gamma._parameters

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        return self.concentration * 2
