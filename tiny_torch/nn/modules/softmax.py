"""softmax, its logarithm and its relatives as modules."""

from __future__ import annotations

from tiny_torch.nn import functional as F
from tiny_torch.nn.modules._layer import Layer
from tiny_torch.nn.modules.module import Module
from tiny_torch.tensor import Tensor

__all__ = ["LogSoftmax", "Softmax", "Softmax2d", "Softmin"]


class _AlongDim(Layer):
    _stacklevel = 5  # a guess of `dim` warns whoever calls the layer


class Softmax(_AlongDim, of=F.softmax): ...


class LogSoftmax(_AlongDim, of=F.log_softmax): ...


class Softmin(_AlongDim, of=F.softmin): ...


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
