"""`Dropout`."""

from __future__ import annotations

from ...tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["Dropout"]


class _DropoutNd(Module):
    """What all kinds of dropout share: the probability and `inplace`."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        """The settings."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """In training sets each element to 0 with probability p and divides the others by 1 - p.

    Input and output have any one shape. Raises ValueError unless 0 <= p <= 1.
    Source: PyTorch, torch.nn.Dropout; Hinton et al. 2012.

    >>> import tiny_torch as torch
    >>> torch.nn.Dropout(0.2).eval()(torch.ones(3))
    tensor([1., 1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Drop elements in training; the input itself otherwise."""
        return F.dropout(input, self.p, self.training, self.inplace)
