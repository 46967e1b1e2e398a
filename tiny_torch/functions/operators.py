"""The operators of Tensor, which answer NotImplemented to what only the other side may know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tiny_torch import _core
from tiny_torch.autograd.apply import apply, apply_inplace
from tiny_torch.autograd.graph import Op
from tiny_torch.functions.common import is_operand
from tiny_torch.functions.elementwise import declared
from tiny_torch.functions.elementwise.arithmetic import rpow
from tiny_torch.functions.elementwise.declared import forgetful
from tiny_torch.ops.elementwise.arithmetic import (
    Add,
    Div,
    FloorDivide,
    Mul,
    Pow,
    Quotient,
    Remainder,
    Sub,
)
from tiny_torch.ops.elementwise.comparison import (
    BitwiseAnd,
    BitwiseNot,
    BitwiseOr,
    BitwiseXor,
    Eq,
    Ge,
    Gt,
    Le,
    LeftShift,
    Lt,
    Ne,
    RightShift,
)
from tiny_torch.tensor import Tensor, wrap


def is_ours_to_refuse(other: Any) -> bool:
    """Whether an error is not about its kind, or names PyTorch's tensors, which look like ours."""
    return is_operand(other) or any(
        base.__module__ == "torch._C" and base.__name__ == "TensorBase"
        for base in type(other).__mro__
    )


def operator(op: type[Op], swapped: bool = False) -> Callable[[Any, Any], Any]:
    """A number operator of Tensor. A NumPy array on its right computes, as it does in PyTorch."""

    def method(self: Tensor, other: Any = NotImplemented) -> Tensor:
        try:
            return apply(op, other, self) if swapped else apply(op, self, other)
        except TypeError:
            if is_ours_to_refuse(other):
                raise
        if isinstance(other, np.ndarray):
            if op is Eq or op is Ne:
                return apply(op, self, wrap(_core.from_numpy(other)))
            if op is Quotient:
                return self.reciprocal() * other
        return NotImplemented

    return method


def reflected_power(self: Tensor, base: Any = NotImplemented) -> Tensor:
    try:
        return rpow(self, base)
    except TypeError:
        if is_ours_to_refuse(base):
            raise
    return NotImplemented


def inplace_operator(op: type[Op]) -> Callable[[Any, Any], Any]:
    """The operator that writes; Python goes on to the one that does not, of a stranger."""
    written = forgetful(op)

    def method(self: Tensor, other: Any = NotImplemented) -> Tensor:
        try:
            return apply_inplace(written, self, other)
        except TypeError:
            if is_ours_to_refuse(other):
                raise
        return NotImplemented

    return method


def invert(self: Tensor) -> Tensor:
    if self.is_floating_point():
        raise TypeError(
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
        )
    return apply(BitwiseNot, self)


OPERATORS = {
    "add": Add, "sub": Sub, "mul": Mul, "truediv": Div, "floordiv": FloorDivide,
    "mod": Remainder, "pow": Pow, "and": BitwiseAnd, "or": BitwiseOr, "xor": BitwiseXor,
    "lshift": LeftShift, "rshift": RightShift,
}  # fmt: skip
COMPARISONS = {"eq": Eq, "ne": Ne, "lt": Lt, "le": Le, "gt": Gt, "ge": Ge}

FUNCTIONS: dict[str, Callable] = {}
METHODS: dict[str, Callable] = {
    **{f"__{name}__": operator(op) for name, op in {**OPERATORS, **COMPARISONS}.items()},
    **{f"__r{name}__": operator(op, swapped=True) for name, op in OPERATORS.items()},
    "__rpow__": reflected_power,
    "__rtruediv__": operator(Quotient, swapped=True),
    **{f"__i{name}__": inplace_operator(op) for name, op in OPERATORS.items()},
    "__neg__": declared.FUNCTIONS["neg"],
    "__abs__": declared.FUNCTIONS["abs"],
    "__invert__": invert,
}
