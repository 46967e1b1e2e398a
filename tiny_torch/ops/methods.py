"""The one list of modules with public functions; attaches their methods and operators to Tensor."""

from types import ModuleType

from tiny_torch import creation, dlpack, from_data, memory, ranges, storage
from tiny_torch.ops import (
    aliases,
    blocks,
    distances,
    einsum,
    factor,
    floats,
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
    public,
    random,
    reduce,
    samples,
    scan,
    search,
    shape,
    solve,
    sort,
    special,
    unique,
    vectors,
)
from tiny_torch.tensor import Tensor

MODULES: tuple[ModuleType, ...] = (
    aliases,
    blocks,
    creation,
    distances,
    dlpack,
    einsum,
    factor,
    floats,
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
    public,
    random,
    ranges,
    reduce,
    samples,
    scan,
    search,
    shape,
    solve,
    sort,
    special,
    storage,
    unique,
    vectors,
)

for module in MODULES:
    for name, method in module.METHODS.items():
        setattr(Tensor, name, method)
