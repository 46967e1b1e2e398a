"""The one list of modules with public functions; attaches their methods and operators to Tensor."""

from collections.abc import Callable
from types import FunctionType, ModuleType

from tiny_torch import creation, dlpack, from_data, memory, ranges, storage
from tiny_torch.ops import (
    aliases,
    blocks,
    convolutions,
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
    normalisation,
    norms,
    numeric,
    pointwise,
    pooling,
    products,
    public,
    random,
    reduce,
    samples,
    scan,
    search,
    shape,
    softmaxes,
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
    convolutions,
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
    normalisation,
    norms,
    numeric,
    pointwise,
    pooling,
    products,
    public,
    random,
    ranges,
    reduce,
    samples,
    scan,
    search,
    shape,
    softmaxes,
    solve,
    sort,
    special,
    storage,
    unique,
    vectors,
)


def without_out(function: Callable) -> Callable:
    """The function as a method: PyTorch's have no `out`.

    The same code, in which that argument has a name that nobody passes: a method that calls the
    function would cost every small op a call.
    """

    def renamed(names):
        return tuple(["_out" if name == "out" else name for name in names])

    defaults = getattr(function, "__kwdefaults__", None) or {}
    if not isinstance(function, FunctionType) or "out" not in defaults:
        return function
    code = function.__code__
    code = code.replace(
        co_varnames=renamed(code.co_varnames), co_cellvars=renamed(code.co_cellvars)
    )
    method = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    method.__kwdefaults__ = dict(zip(renamed(defaults), defaults.values(), strict=True))
    for name in ("__doc__", "__module__", "__qualname__", "__annotations__"):
        setattr(method, name, getattr(function, name))
    return method


for module in MODULES:
    for name, method in module.METHODS.items():
        setattr(Tensor, name, without_out(method))
