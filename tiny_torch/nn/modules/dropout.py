"""`Dropout` of elements and of channels, and `AlphaDropout`."""

from __future__ import annotations

from typing import Any

from tiny_torch.nn import functional as F
from tiny_torch.nn.modules.module import Module
from tiny_torch.tensor import Tensor

__all__ = [
    "AlphaDropout",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "FeatureAlphaDropout",
]


class _DropoutNd(Module):
    """What all kinds of dropout share: the probability and `inplace`."""

    _function: Any
    _shown = ("p", "inplace")

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Drop elements, or channels, in training; the input itself otherwise."""
        return self._function(input, self.p, self.training, self.inplace)


class Dropout(_DropoutNd):
    """In training sets each element to 0 with probability p and divides the others by 1 - p.

    Input and output have any one shape. Raises ValueError unless 0 <= p <= 1.
    Source: PyTorch, torch.nn.Dropout; Hinton et al. 2012.

    >>> import tiny_torch as torch
    >>> torch.nn.Dropout(0.2).eval()(torch.ones(3))
    tensor([1., 1., 1.])
    """

    _function = staticmethod(F.dropout)


class Dropout1d(_DropoutNd):
    """In training sets whole channels to 0 with probability p and divides the others by 1 - p.

    Input and output (N, C, L) or (C, L). Raises ValueError unless 0 <= p <= 1.
    Source: PyTorch, torch.nn.Dropout1d; Tompson et al. 2015.

    >>> import tiny_torch as torch
    >>> torch.nn.Dropout1d(0.2).eval()(torch.ones(2, 3)).shape
    torch.Size([2, 3])
    """

    _function = staticmethod(F.dropout1d)


class Dropout2d(_DropoutNd):
    """In training sets whole channels to 0 with probability p and divides the others by 1 - p.

    Input and output (N, C, H, W), with a warning (N, C, L). Raises ValueError unless 0 <= p <= 1.
    Source: PyTorch, torch.nn.Dropout2d; Tompson et al. 2015.

    >>> import tiny_torch as torch
    >>> torch.nn.Dropout2d(0.2).eval()(torch.ones(1, 2, 3, 3)).shape
    torch.Size([1, 2, 3, 3])
    """

    _function = staticmethod(F.dropout2d)


class Dropout3d(_DropoutNd):
    """In training sets whole channels to 0 with probability p and divides the others by 1 - p.

    Input and output (N, C, D, H, W) or (C, D, H, W). Raises ValueError unless 0 <= p <= 1.
    Source: PyTorch, torch.nn.Dropout3d; Tompson et al. 2015.

    >>> import tiny_torch as torch
    >>> torch.nn.Dropout3d(0.2).eval()(torch.ones(1, 2, 3, 3, 3)).shape
    torch.Size([1, 2, 3, 3, 3])
    """

    _function = staticmethod(F.dropout3d)


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean 0 and variance 1, for networks with selu.

    Input and output have any one shape. Raises ValueError unless 0 <= p <= 1.
    Source: PyTorch, torch.nn.AlphaDropout; Klambauer et al. 2017.

    >>> import tiny_torch as torch
    >>> torch.nn.AlphaDropout(0.2).eval()(torch.ones(3))
    tensor([1., 1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Drop elements in training; the input itself otherwise."""
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """AlphaDropout of whole channels of (N, C, *). Raises ValueError unless 0 <= p <= 1.

    Source: PyTorch, torch.nn.FeatureAlphaDropout.

    >>> import tiny_torch as torch
    >>> torch.nn.FeatureAlphaDropout(0.2).eval()(torch.ones(1, 3))
    tensor([[1., 1., 1.]])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Drop channels in training; the input itself otherwise."""
        return F.feature_alpha_dropout(input, self.p, self.training)
