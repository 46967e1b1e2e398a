"""The operators of Tensor that are no arithmetic, and those that are a function's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tiny_torch.autograd.apply import apply
from tiny_torch.functions.elementwise import declared
from tiny_torch.functions.elementwise.arithmetic import rpow
from tiny_torch.functions.operators import (
    ARITHMETIC,
    all_forms,
    inplace_operator,
    is_ours_to_refuse,
    operator,
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
from tiny_torch.tensor import Tensor


def reflected_power(self: Tensor, base: Any = NotImplemented) -> Tensor:
    try:
        return rpow(self, base)
    except TypeError:
        if is_ours_to_refuse(base):
            raise
    return NotImplemented


def invert(self: Tensor) -> Tensor:
    if self.is_floating_point():
        raise TypeError(
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
        )
    return apply(BitwiseNot, self)


BITS = {
    "and": BitwiseAnd, "or": BitwiseOr, "xor": BitwiseXor, "lshift": LeftShift,
    "rshift": RightShift,
}  # fmt: skip
FUNCTIONS: dict[str, Callable] = {}
METHODS: dict[str, Callable] = {
    "__idiv__": inplace_operator(ARITHMETIC["truediv"]),  # of Python 2, which PyTorch still has
    **all_forms(BITS),
    **{f"__{op.aten}__": operator(op) for op in (Lt, Le, Gt, Ge)},
    **{f"__{op.aten}__": operator(op, takes_numpy=True) for op in (Eq, Ne)},
    "__rpow__": reflected_power,
    "__neg__": declared.FUNCTIONS["neg"],
    "__abs__": declared.FUNCTIONS["abs"],
    "__invert__": invert,
}
