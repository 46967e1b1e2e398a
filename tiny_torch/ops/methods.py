"""The one list of modules with public functions; attaches their methods and operators to Tensor."""

from types import ModuleType

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
    scan,
    shape,
)
from tiny_torch.tensor import Tensor

MODULES: tuple[ModuleType, ...] = (
    creation,
    from_data,
    fused,
    index,
    join,
    matmul,
    moments,
    pointwise,
    random,
    reduce,
    samples,
    scan,
    shape,
)

for module in MODULES:
    for name, method in module.METHODS.items():
        setattr(Tensor, name, method)
