"""softmax, its logarithm and its relatives as modules."""

from __future__ import annotations

from typing import Any

from tiny_torch.nn import functional as F
from tiny_torch.nn.modules.module import Module
from tiny_torch.tensor import Tensor

__all__ = ["LogSoftmax", "Softmax", "Softmax2d", "Softmin"]


class _AlongDim(Module):
    _function: Any
    _shown = ("dim",)

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Along `dim`."""
        return self._function(input, self.dim, _stacklevel=5)


class Softmax(_AlongDim):
    """exp(x) / sum(exp(x)) along `dim`; without `dim` it warns and guesses.

    Source: PyTorch, torch.nn.Softmax.

    >>> import tiny_torch as torch
    >>> torch.nn.Softmax(dim=0)(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """

    _function = staticmethod(F.softmax)


class LogSoftmax(_AlongDim):
    """log(softmax(x)) along `dim`; without `dim` it warns and guesses.

    Source: PyTorch, torch.nn.LogSoftmax.

    >>> import tiny_torch as torch
    >>> torch.nn.LogSoftmax(dim=0)(torch.zeros(2))
    tensor([-0.6931, -0.6931])
    """

    _function = staticmethod(F.log_softmax)


class Softmin(_AlongDim):
    """softmax(-x) along `dim`; without `dim` it warns and guesses.

    Source: PyTorch, torch.nn.Softmin.

    >>> import tiny_torch as torch
    >>> torch.nn.Softmin(dim=0)(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """

    _function = staticmethod(F.softmin)


class Softmax2d(Module):
    """softmax over the channels of (N, C, H, W) or (C, H, W), position by position.

    Raises ValueError for another number of dims.
    Source: PyTorch, torch.nn.Softmax2d.

    >>> import tiny_torch as torch
    >>> torch.nn.Softmax2d()(torch.zeros(4, 1, 1)).flatten()
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Along the channels."""
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return F.softmax(input, -3, _stacklevel=5)
