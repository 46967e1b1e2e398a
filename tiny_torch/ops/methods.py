"""Attaches the public functions to Tensor, as methods and operators."""

from tiny_torch import creation, from_data
from tiny_torch.ops import (
    fused,
    index,
    join,
    matmul,
    moments,
    pointwise,
    random,
    reduce,
    samples,
    shape,
)
from tiny_torch.tensor import Tensor

MODULES = (
    pointwise, reduce, moments, matmul, fused, shape, join, index, creation, from_data, random,
    samples,
)  # fmt: skip

for module in MODULES:
    for name, method in module.METHODS.items():
        setattr(Tensor, name, method)
