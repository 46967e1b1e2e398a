"""The LKJ distribution of factors of correlation matrices."""

from __future__ import annotations

import math
from typing import Any

import tiny_torch as torch
from tiny_torch.base.size import Size
from tiny_torch.distributions import constraints
from tiny_torch.distributions.continuous.beta import Beta
from tiny_torch.distributions.distribution import Distribution
from tiny_torch.distributions.utils import broadcast_all
from tiny_torch.tensor import Tensor


class LKJCholesky(Distribution):
    """Lower triangular factors L of correlation matrices of `dim` rows.

    The density of L L' is proportional to |L L'|^(concentration - 1). D. Lewandowski, D. Kurowicka
    and H. Joe, Generating random correlation matrices based on vines and extended onion method,
    2009; https://pytorch.org/docs/stable/distributions.html#lkjcholesky

    >>> import tiny_torch as torch
    >>> factor = torch.distributions.LKJCholesky(3, 0.5).sample()
    >>> torch.allclose((factor @ factor.T).diagonal(), torch.ones(3))
    True
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _parameters = ("concentration",)

    def __init__(
        self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise ValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        # Of the squared length of row i below the diagonal; that of row 0 is not used.
        rows = torch.arange(-1, dim - 1).clamp(min=0).to(self.concentration)
        marginal = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(rows + 0.5, marginal.unsqueeze(-1) - 0.5 * rows)
        super().__init__(self.concentration.shape, Size((dim, dim)), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new.dim = self.dim
        new._beta = self._beta.expand((*new.batch_shape, self.dim))
        return new

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """The onion method: each row has a random length and direction."""
        with torch.no_grad():
            lengths = self._beta.sample(sample_shape).unsqueeze(-1).sqrt()
            shape = self._extended_shape(sample_shape)
            normal = torch.randn(shape, dtype=lengths.dtype, device=lengths.device).tril(-1)
            directions = normal / normal.norm(dim=-1, keepdim=True)
            directions[..., 0, :] = 0.0  # 0 / 0 until here
            factor = lengths * directions
            rest = 1 - factor.pow(2).sum(-1)
            diagonal = rest.clamp(min=torch.finfo(rest.dtype).tiny).sqrt()
            return factor + torch.diag_embed(diagonal)

    def log_prob(self, value: Tensor) -> Tensor:
        """The Jacobian of L L' adds dim - i to the power of the i-th entry of the diagonal."""
        if self._validate_args:
            self._validate_sample(value)
        rows = torch.arange(2, self.dim + 1, device=self.concentration.device)
        powers = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - rows
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        return (powers * diagonal.log()).sum(-1) - self._log_normalizer()

    def _log_normalizer(self) -> Tensor:
        """Page 1999 of the paper; mvlgamma has the rest of the power of pi."""
        n = self.dim - 1
        alpha = self.concentration + 0.5 * n
        constant = 0.5 * n * math.log(math.pi)
        return constant + torch.mvlgamma(alpha - 0.5, n) - n * torch.lgamma(alpha)
