"""Variable: what a tensor with gradients was called before tensors had them."""

from __future__ import annotations

from typing import Any

from tiny_torch import _core
from tiny_torch.base.devices import array_module
from tiny_torch.tensor import Tensor, wrap


class VariableMeta(type):
    """``isinstance(x, Variable)`` asks for a Tensor."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=VariableMeta):
    """Answers a Tensor on the memory of `data`, without its history; `volatile` is ignored.

    https://pytorch.org/docs/stable/autograd.html#variable-deprecated
    """

    def __new__(cls, data: Any = None, requires_grad: Any = False, volatile: Any = False) -> Any:
        if data is None:
            data = wrap(array_module().empty((0,), _core.get_default_dtype()))
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        if not hasattr(requires_grad, "__index__"):
            kind = type(requires_grad).__name__
            raise TypeError(f"'{kind}' object cannot be interpreted as an integer")
        if requires_grad and not data.is_floating_point():
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients"
            )
        return wrap(data.array).requires_grad_(bool(requires_grad))


__all__ = ["Variable", "VariableMeta"]
