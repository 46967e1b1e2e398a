"""Elementwise functions with arguments of their own.

The plain ones (torch.exp, torch.mul, ...) are declared where their op stands, in ops/elementwise,
and made in declared.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tiny_torch import _core
from tiny_torch.autograd.apply import apply, apply_inplace, quick
from tiny_torch.autograd.graph import Op
from tiny_torch.autograd.op_mode import as_one
from tiny_torch.base.arguments import as_int, as_number
from tiny_torch.base.dtypes import HALVES, NUMERIC, check_implemented, check_range, scalar_type
from tiny_torch.functions.common import (
    check_operand,
    check_tensor,
    into,
    into_same,
    write_out,
)
from tiny_torch.functions.elementwise.declared import inplace, scalar
from tiny_torch.functions.public import METHODS, function, function_and_method, method
from tiny_torch.ops.common import fits
from tiny_torch.ops.elementwise.arithmetic import (
    Add,
    Addcdiv,
    Addcmul,
    Clamp,
    Div,
    DivFloor,
    DivTrunc,
    Lerp,
    Mul,
    Number,
    Pow,
    Sub,
    result_type,
)
from tiny_torch.ops.elementwise.unary import Relu, Round, RoundTo
from tiny_torch.tensor import Tensor

NUMBERS = (int, float, np.number)


@function_and_method
@quick(Relu)
def relu(input: Tensor) -> Tensor:
    """max(x, 0). https://pytorch.org/docs/stable/generated/torch.relu.html

    >>> import tiny_torch as torch
    >>> torch.relu(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    if not isinstance(input, Tensor):  # from nn.functional, which is Python in PyTorch
        check_tensor("relu", "input", 1, input)
    return apply(Relu, input)


@function_and_method
def round(input: Tensor, *, decimals: int = 0, out: Tensor | None = None) -> Tensor:
    """The nearest integer, halves to even. https://pytorch.org/docs/stable/generated/torch.round.html"""
    if as_int("round", "decimals", 2, decimals) != 0:
        return into_same(out, apply(RoundTo, input, decimals))
    return apply(Round, input) if out is None else write_out(Round, "round", out, input)


def number_beside(other: Tensor, number: Number) -> Tensor:
    """A number as a tensor without dims, of the dtype that it has in arithmetic with `other`."""
    return other.new_full((), number, dtype=result_type(other, number))


def scaled_sum(input: Any, other: Any, alpha: Number) -> tuple[type[Op], tuple]:
    """The op that is input + alpha * other, and its operands: alpha does not count in promotion."""
    if not isinstance(input, Tensor):
        input = number_beside(other, input)
    if fits(alpha, input, other):
        return Addcmul, (input, other, alpha)
    alpha = as_number("add", "alpha", None, alpha)
    dtype = result_type(input, other)
    check_factor("alpha", alpha, dtype)
    if dtype is _core.bool:
        truth = bool(alpha)
        return Add, (
            input,
            apply(Mul, other, truth) if isinstance(other, Tensor) else other and truth,
        )
    check_range(alpha, dtype)
    return Addcmul, (input, other, alpha)


def check_factor(name: str, value: Number, dtype: Any) -> None:
    if isinstance(value, bool) and dtype is not _core.bool:
        raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
    if isinstance(value, float) and not dtype.is_floating_point:
        raise RuntimeError(
            f"For integral input tensors, argument {name} must not be a floating point number."
        )


def check_subtraction(*operands: Any) -> None:
    if all(getattr(operand, "dtype", None) is _core.bool for operand in operands[:2]):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
            "`logical_xor()` operator instead."
        )
    for operand in operands:
        if operand is True or operand is False or getattr(operand, "dtype", None) is _core.bool:
            raise RuntimeError(
                "Subtraction, the `-` operator, with a bool tensor is not supported. If you are "
                "trying to invert a mask, use the `~` or `logical_not()` operator instead."
            )


def with_tensor(name: str, input: Any, other: Any) -> Any:
    """The input, as a 0-d tensor where both are numbers; TypeError where one is neither."""
    check_operand(name, "input", 1, input)
    check_operand(name, "other", 2, other)
    return input if isinstance(input, Tensor) or isinstance(other, Tensor) else scalar(input)


@function_and_method
@quick(Add, 2, numbers=True)
def add(input: Any, other: Any, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """input + alpha * other. https://pytorch.org/docs/stable/generated/torch.add.html

    >>> import tiny_torch as torch
    >>> torch.add(torch.tensor([1, 2]), 10, alpha=2)
    tensor([21, 22])
    """
    if not isinstance(input, Tensor) or not isinstance(other, Tensor):
        input = with_tensor("add", input, other)
    if type(alpha) is not int or alpha != 1:
        if out is None and fits(alpha, input, other):
            return apply(Addcmul, input, other, alpha)
        op, operands = scaled_sum(input, other, alpha)
        return apply(op, *operands) if out is None else write_out(op, "add", out, *operands)
    return apply(Add, input, other) if out is None else write_out(Add, "add", out, input, other)


@function_and_method
@quick(Sub, 2, numbers=True)
def sub(input: Any, other: Any, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """input - alpha * other. https://pytorch.org/docs/stable/generated/torch.sub.html"""
    if not isinstance(input, Tensor) or not isinstance(other, Tensor):
        input = with_tensor("sub", input, other)
    if type(alpha) is not int or alpha != 1:
        if not fits(alpha, input, other):
            alpha = as_number("sub", "alpha", None, alpha)
            check_subtraction(input, other, alpha)
        return add(input, other, alpha=-alpha, out=out)
    return apply(Sub, input, other) if out is None else write_out(Sub, "sub", out, input, other)


@function
def rsub(input: Tensor, other: Any, alpha: Number = 1) -> Tensor:
    """other - alpha * input. alpha beside a tensor comes by keyword, as in PyTorch.

    https://pytorch.org/docs/stable/generated/torch.rsub.html

    >>> import tiny_torch as torch
    >>> torch.rsub(torch.tensor([1, 2]), 10)
    tensor([9, 8])
    """
    check_operand("rsub", "other", 2, other)
    check_subtraction(input, other)
    if not isinstance(other, Tensor):
        other = number_beside(input, other)
    return sub(other, input, alpha=alpha)


@function_and_method
@quick(Div, 2, numbers=True)
def div(
    input: Any, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None
) -> Tensor:
    """input / other, then rounded by None, "trunc" or "floor".

    https://pytorch.org/docs/stable/generated/torch.div.html
    """
    if not isinstance(input, Tensor) or not isinstance(other, Tensor):
        input = with_tensor("div", input, other)
    op = Div if rounding_mode is None else division(rounding_mode)
    return apply(op, input, other) if out is None else write_out(op, "div", out, input, other)


def division(rounding_mode: str | None) -> type[Op]:
    if rounding_mode is None:
        return Div
    if rounding_mode == "floor":
        return DivFloor
    if rounding_mode == "trunc":
        return DivTrunc
    raise RuntimeError(
        "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
        f"'{rounding_mode}'"
    )


@function_and_method
@quick(Pow, 2, numbers=True)
def pow(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:
    """input to the power of exponent; either may be a number.

    https://pytorch.org/docs/stable/generated/torch.pow.html
    """
    if not isinstance(input, Tensor):
        check_operand("pow", "input", 1, input)
        check_tensor("pow", "exponent", 2, exponent)
        return into(out, rpow(exponent, input))
    if not isinstance(exponent, Tensor):
        check_operand("pow", "exponent", 2, exponent)
    return (
        apply(Pow, input, exponent) if out is None else write_out(Pow, "pow", out, input, exponent)
    )


def rpow(exponent: Tensor, base: Any) -> Tensor:
    if isinstance(base, Tensor):
        return apply(Pow, base, exponent)
    return apply(Pow, base, exponent.contiguous())  # PyTorch's answer is contiguous


@function_and_method
def clamp(input: Tensor, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
    """Each element, at least `min` and at most `max` (numbers or tensors; NaN stays).

    https://pytorch.org/docs/stable/generated/torch.clamp.html
    """
    min, max = checked_bounds(input, min, max)
    if out is not None:
        return write_out(Clamp, "clamp", out, input, min, max)
    return apply(Clamp, input, min, max)


def checked_bounds(input: Tensor, min: Any, max: Any) -> tuple:
    """Two tensors or two numbers; a 0-d tensor beside a number counts as one."""
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if (min is None or fits(min, input)) and (max is None or fits(max, input)):
        return min, max
    bounds = [bound for bound in (min, max) if bound is not None]
    if all(isinstance(bound, Tensor) for bound in bounds):
        return min, max
    if any(isinstance(bound, Tensor) and bound.ndim for bound in bounds):
        raise TypeError("clamp(): min and max must be two tensors or two numbers")
    min = None if min is None else as_number("clamp", "min", None, min)
    max = None if max is None else as_number("clamp", "max", None, max)
    dtype = result_type(input, *[bound for bound in (min, max) if bound is not None])
    check_implemented("clamp_scalar_cpu", dtype, NUMERIC)
    for bound in (min, max):
        if bound is not None:
            check_range(bound, dtype)
    return min, max


@function_and_method
def clamp_min(input: Tensor, min: Any, *, out: Tensor | None = None) -> Tensor:
    """Each element, at least `min`."""
    check_operand("clamp_min", "min", 2, min)
    return clamp(input, min, out=out)


@function_and_method
def clamp_max(input: Tensor, max: Any, *, out: Tensor | None = None) -> Tensor:
    """Each element, at most `max`."""
    check_operand("clamp_max", "max", 2, max)
    return clamp(input, None, max, out=out)


@function_and_method
def lerp(input: Tensor, end: Tensor, weight: Any, *, out: Tensor | None = None) -> Tensor:
    """input + weight * (end - input). https://pytorch.org/docs/stable/generated/torch.lerp.html"""
    weight = lerp_weight(input, end, weight)
    if out is not None:
        return write_out(Lerp, "lerp", out, input, end, weight)
    return apply(Lerp, input, end, weight)


def lerp_weight(input: Tensor, end: Tensor, weight: Any) -> Any:
    """The weight, after the operands were checked: lerp does not promote."""
    if fits(0 if isinstance(weight, Tensor) else weight, input, end) and (
        not isinstance(weight, Tensor) or weight.array.dtype is input.array.dtype
    ):
        return weight
    check_operand("lerp", "weight", 3, weight)
    for name, operand in (("end", end), ("weight", weight)):
        if not isinstance(operand, Tensor) or operand.dtype is input.dtype:
            continue
        if name == "end" or operand.ndim > 0:
            raise RuntimeError(
                f"expected dtype {input.dtype} for `{name}` but got dtype {operand.dtype}"
            )
    if not isinstance(weight, Tensor) and not input.is_floating_point():
        return True  # a float would promote; so the missing integer kernel is asked for
    if not isinstance(weight, Tensor):
        check_range(weight, _core.float64 if input.dtype is _core.float64 else _core.float32)
    return weight


def product_operands(
    name: str, input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Number
) -> tuple:
    """input, value * tensor1, tensor2: value does not count in promotion."""
    if fits(value, input, tensor1, tensor2):
        return input, tensor1 if value == 1 else apply(Mul, tensor1, value), tensor2
    value = as_number(name, "value", None, value)
    dtype = result_type(input, tensor1, tensor2)
    if name == "addcdiv" and not result_type(tensor1, tensor2).is_floating_point:
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported. addcdiv(input, tensor1, tensor2)"
            " is input + value * torch.trunc(tensor1 / tensor2) for integers."
        )
    if value == 1 or dtype is _core.bool:
        return input, tensor1, tensor2
    number = value
    check_range(value, _core.float32 if dtype in HALVES else dtype)
    if not dtype.is_floating_point:
        number = int(value)
    factor = tensor1 if tensor1.array.dtype is dtype else tensor1.to(dtype)
    return input, apply(Mul, factor, number), tensor2


@function_and_method
def addcmul(
    input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1, out: Tensor | None = None
) -> Tensor:
    """input + value * tensor1 * tensor2."""
    x, a, b = product_operands("addcmul", input, tensor1, tensor2, value)
    return apply(Addcmul, x, a, b) if out is None else write_out(Addcmul, "addcmul", out, x, a, b)


@function_and_method
def addcdiv(
    input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1, out: Tensor | None = None
) -> Tensor:
    """input + value * tensor1 / tensor2."""
    x, a, b = product_operands("addcdiv", input, tensor1, tensor2, value)
    return apply(Addcdiv, x, a, b) if out is None else write_out(Addcdiv, "addcdiv", out, x, a, b)


@function_and_method
def isclose(
    input: Tensor,
    other: Tensor,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> Tensor:
    """Whether |input - other| <= atol + rtol * |other|; equal infinities are close.

    https://pytorch.org/docs/stable/generated/torch.isclose.html
    """
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{scalar_type(input.dtype)} did not match {scalar_type(other.dtype)}")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value}")
    a, b = input.detach(), other.detach()
    equal = a == b
    if equal_nan:
        equal = equal | ((a != a) & (b != b))
    if not a.is_floating_point():
        a, b = a.double(), b.double()
    difference = (a - b).abs()
    return equal | (difference.isfinite() & (difference <= atol + (b * rtol).abs()))


@function_and_method
@as_one
def allclose(
    input: Tensor,
    other: Tensor,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> bool:
    """Whether all elements are close. https://pytorch.org/docs/stable/generated/torch.allclose.html"""
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


@function_and_method
@as_one
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have one shape and the same elements."""
    a, b = input.array, other.array
    return a.same_shape(b) and (a == b).all(None, False).item()


# ---------------------------------------------------------------------------------------- in place


@method
@quick(Add, 2, numbers=True, in_place=True)
def add_(self: Tensor, other: Any, *, alpha: Number = 1) -> Tensor:
    if type(alpha) is int and alpha == 1:
        return apply_inplace(Add, self, other)
    op, operands = scaled_sum(self, other, alpha)
    return apply_inplace(op, *operands)


@method
@quick(Sub, 2, numbers=True, in_place=True)
def sub_(self: Tensor, other: Any, *, alpha: Number = 1) -> Tensor:
    if type(alpha) is int and alpha == 1:
        return apply_inplace(Sub, self, other)
    alpha = as_number("sub_", "alpha", None, alpha)
    check_subtraction(self, other, alpha)
    return add_(self, other, alpha=-alpha)


@method
@quick(Div, 2, numbers=True, in_place=True)
def div_(self: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    return apply_inplace(division(rounding_mode), self, other)


@method
@quick(Pow, 2, numbers=True, in_place=True)
def pow_(self: Tensor, exponent: Any) -> Tensor:
    return apply_inplace(Pow, self, exponent)


@method
def lerp_(self: Tensor, end: Tensor, weight: Any) -> Tensor:
    return apply_inplace(Lerp, self, end, lerp_weight(self, end, weight))


@method
def round_(self: Tensor, *, decimals: int = 0) -> Tensor:
    if as_int("round_", "decimals", 1, decimals) == 0:
        return apply_inplace(Round, self)
    return apply_inplace(RoundTo, self, decimals)


@method
def clamp_(self: Tensor, min: Any = None, max: Any = None) -> Tensor:
    min, max = checked_bounds(self, min, max)
    return apply_inplace(Clamp, self, min, max)


@method
def clamp_min_(self: Tensor, min: Any) -> Tensor:
    return clamp_(self, min)


@method
def clamp_max_(self: Tensor, max: Any) -> Tensor:
    return clamp_(self, None, max)


@method
def addcmul_(self: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1) -> Tensor:
    x, a, b = product_operands("addcmul", self, tensor1, tensor2, value)
    return apply_inplace(Addcmul, x, a, b)


@method
def addcdiv_(self: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1) -> Tensor:
    x, a, b = product_operands("addcdiv", self, tensor1, tensor2, value)
    return apply_inplace(Addcdiv, x, a, b)


METHODS["relu_"] = inplace(Relu)
