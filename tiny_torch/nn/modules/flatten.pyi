"""Layers of flatten.py. Written by docs/make_stubs.py."""

from builtins import int as _int
from tiny_torch.nn.modules._parts.layer import Layer as _Layer
from tiny_torch.nn.modules.module import Module as _Module
from tiny_torch.tensor import Tensor as _Tensor
from typing import Any

__all__ = ['Flatten', 'Unflatten']

class Flatten(_Layer):
    def __init__(self, start_dim: _int = 1, end_dim: _int = -1) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class Unflatten(_Module):
    def __init__(self, dim: _int, unflattened_size: Any) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
