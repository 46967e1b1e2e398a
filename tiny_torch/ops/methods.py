"""The one list of modules with public functions; attaches their methods and operators to Tensor."""

from types import ModuleType

from tiny_torch import creation, from_data
from tiny_torch.ops import (
    einsum,
    fused,
    index,
    join,
    matmul,
    moments,
    pointwise,
    products,
    random,
    reduce,
    samples,
    scan,
    shape,
    vectors,
)
from tiny_torch.tensor import Tensor

MODULES: tuple[ModuleType, ...] = (
    creation,
    einsum,
    from_data,
    fused,
    index,
    join,
    matmul,
    moments,
    pointwise,
    products,
    random,
    reduce,
    samples,
    scan,
    shape,
    vectors,
)

for module in MODULES:
    for name, method in module.METHODS.items():
        setattr(Tensor, name, method)
