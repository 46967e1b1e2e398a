"""Attaches the public functions to Tensor, as methods and operators."""

from tiny_torch import creation, random
from tiny_torch.ops import fused, index, join, matmul, pointwise, reduce, shape
from tiny_torch.tensor import Tensor

for module in (pointwise, reduce, matmul, fused, shape, join, index, creation, random):
    for name, method in module.METHODS.items():
        setattr(Tensor, name, method)
