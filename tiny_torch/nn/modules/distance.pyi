"""Layers of distance.py. Written by docs/make_stubs.py."""

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from tiny_torch.nn.modules._parts.layer import Layer as _Layer
from tiny_torch.nn.modules.module import Module as _Module
from tiny_torch.tensor import Tensor as _Tensor

__all__ = ['CosineSimilarity', 'PairwiseDistance']

class CosineSimilarity(_Layer):
    def extra_repr(self) -> str: ...
    def __init__(self, dim: _int = 1, eps: _float = ...) -> None: ...
    def forward(self, x1: _Tensor, x2: _Tensor) -> _Tensor: ...

class PairwiseDistance(_Module):
    def __init__(self, p: _float = ..., eps: _float = ..., keepdim: _bool = False) -> None: ...
    def forward(self, x1: _Tensor, x2: _Tensor) -> _Tensor: ...
