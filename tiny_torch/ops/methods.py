"""The one list of modules with public functions; attaches their methods and operators to Tensor."""

from types import ModuleType

from tiny_torch import creation, dlpack, from_data, memory, ranges, storage
from tiny_torch.ops import (
    blocks,
    distances,
    einsum,
    factor,
    fused,
    histogram,
    index,
    join,
    matmul,
    matrices,
    moments,
    norms,
    numeric,
    pointwise,
    products,
    random,
    reduce,
    samples,
    scan,
    search,
    shape,
    solve,
    sort,
    unique,
    vectors,
)
from tiny_torch.tensor import Tensor

MODULES: tuple[ModuleType, ...] = (
    blocks,
    creation,
    distances,
    dlpack,
    einsum,
    factor,
    from_data,
    fused,
    histogram,
    index,
    join,
    matmul,
    matrices,
    memory,
    moments,
    norms,
    numeric,
    pointwise,
    products,
    random,
    ranges,
    reduce,
    samples,
    scan,
    search,
    shape,
    solve,
    sort,
    storage,
    unique,
    vectors,
)

for module in MODULES:
    for name, method in module.METHODS.items():
        setattr(Tensor, name, method)
