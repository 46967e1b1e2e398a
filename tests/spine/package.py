"""The `__init__` of a package that has the spine alone: which names it takes from where."""

from typing import Any

from tiny_torch import _core
from tiny_torch.autograd import history
from tiny_torch.autograd.apply import apply
from tiny_torch.functions import operators
from tiny_torch.tensor import Tensor, wrap

for _name, _method in {**history.METHODS, **operators.METHODS}.items():
    setattr(Tensor, _name, _method)


def empty(size: Any, device: Any = None, dtype: Any = None) -> Tensor:
    shape = size if isinstance(size, tuple) else (size,)
    return wrap(_core.empty(shape, dtype or _core.get_default_dtype()))


def uniform_(self: Tensor, low: float, high: float) -> None:
    _core.uniform_(self.array, None, low, high)


def from_numpy(array: Any) -> Tensor:
    return wrap(_core.from_numpy(array))


Tensor.uniform_ = uniform_
__all__ = ["Tensor", "apply", "empty", "from_numpy"]
