"""`CosineSimilarity` and `PairwiseDistance`."""

from __future__ import annotations

from tiny_torch.nn import functional as F
from tiny_torch.nn.modules._parts.layer import Layer
from tiny_torch.nn.modules.module import Module
from tiny_torch.tensor import Tensor

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class CosineSimilarity(Layer, of=F.cosine_similarity):
    def extra_repr(self) -> str:
        """Nothing, as in PyTorch."""
        return ""


class PairwiseDistance(Module):
    """The p-norm of differences along the last dim: see `functional.pairwise_distance`.

    Inputs of shapes that broadcast; the output is without the last dim, or has it of size 1.
    Source: PyTorch, torch.nn.PairwiseDistance.

    >>> import tiny_torch as torch
    >>> torch.nn.PairwiseDistance()(torch.tensor([0.0, 3.0]), torch.tensor([4.0, 0.0]))
    tensor(5.)
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Two tensors -> distances."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
