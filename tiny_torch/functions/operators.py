"""The operators of Tensor, which answer NotImplemented to what only the other side may know.

Here are those of arithmetic but for `@` (linalg/matmul.py); comparisons.py has the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tiny_torch import _core
from tiny_torch.autograd.apply import apply, apply_inplace, quick
from tiny_torch.autograd.graph import Op
from tiny_torch.ops.common import forgetful, is_operand
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
from tiny_torch.tensor import Tensor, wrap


def is_ours_to_refuse(other: Any) -> bool:
    """Whether an error is not about its kind, or names PyTorch's tensors, which look like ours."""
    return is_operand(other) or any(
        base.__module__ == "torch._C" and base.__name__ == "TensorBase"
        for base in type(other).__mro__
    )


def operator(
    op: type[Op], swapped: bool = False, takes_numpy: bool = False
) -> Callable[[Any, Any], Any]:
    """A number operator of Tensor; with a NumPy array on its right if `takes_numpy`."""

    @quick(op, 2, numbers=True, swapped=swapped)
    def method(self: Tensor, other: Any = NotImplemented) -> Tensor:
        try:
            return apply(op, other, self) if swapped else apply(op, self, other)
        except TypeError:
            if is_ours_to_refuse(other):
                raise
        if isinstance(other, np.ndarray):
            if takes_numpy:
                return apply(op, self, wrap(_core.from_numpy(other)))
            if op is Quotient:
                return self.reciprocal() * other
        return NotImplemented

    return method


def inplace_operator(op: type[Op]) -> Callable[[Any, Any], Any]:
    """The operator that writes; Python goes on to the one that does not, of the right side."""
    written = forgetful(op)

    @quick(written, 2, numbers=True, in_place=True)
    def method(self: Tensor, other: Any = NotImplemented) -> Tensor:
        try:
            return apply_inplace(written, self, other)
        except TypeError:
            if is_ours_to_refuse(other):
                raise
        return NotImplemented

    return method


def all_forms(operators: Mapping[str, type[Op]]) -> dict[str, Callable]:
    """``+``, its form with the operands swapped, and ``+=``, of each."""
    return {
        **{f"__{name}__": operator(op) for name, op in operators.items()},
        **{f"__r{name}__": operator(op, swapped=True) for name, op in operators.items()},
        **{f"__i{name}__": inplace_operator(op) for name, op in operators.items()},
    }


ARITHMETIC = {
    "add": Add, "sub": Sub, "mul": Mul, "truediv": Div, "floordiv": FloorDivide,
    "mod": Remainder, "pow": Pow,
}  # fmt: skip
FUNCTIONS: dict[str, Callable] = {}
METHODS: dict[str, Callable] = {
    **all_forms(ARITHMETIC),
    "__rtruediv__": operator(Quotient, swapped=True),
}
