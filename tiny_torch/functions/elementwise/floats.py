"""What floats are made of: tests for NaN and infinity, signs, fractions, exponents."""

from __future__ import annotations

from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply, apply_inplace
from tiny_torch.base.dtypes import NUMERIC, check_implemented, finfo
from tiny_torch.functions.common import (
    check_kind,
    check_operand,
    check_tensor,
    into,
    name_results,
    write_out,
)
from tiny_torch.functions.public import function_and_method, method
from tiny_torch.ops.elementwise.arithmetic import Pow
from tiny_torch.ops.elementwise.floats import Frexp, Ldexp, NanToNum
from tiny_torch.tensor import Tensor


@function_and_method
def frexp(input: Tensor, *, out: Any = None) -> Any:
    """(mantissa, exponent) with input = mantissa * 2**exponent and 1/2 <= |mantissa| < 1.

    The exponents are int32. RuntimeError unless the input is floating point.
    https://pytorch.org/docs/stable/generated/torch.frexp.html

    >>> import tiny_torch as torch
    >>> torch.frexp(torch.tensor([1.0, 6.0]))
    torch.return_types.frexp(
    mantissa=tensor([0.5000, 0.7500]),
    exponent=tensor([1, 3], dtype=torch.int32))
    """
    if not input.is_floating_point():
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    return name_results("frexp", apply(Frexp, input), out)


def check_powers(name: str, input: Any, other: Any) -> None:
    if input.is_floating_point():
        check_implemented("ldexp_cpu_exp", other.dtype, NUMERIC)


@function_and_method
def ldexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input * 2**other. https://pytorch.org/docs/stable/generated/torch.ldexp.html"""
    check_powers("ldexp", input, other)
    if out is None:
        return apply(Ldexp, input, other)
    return write_out(Ldexp, "ldexp", out, input, other)


@method
def ldexp_(self: Tensor, other: Tensor) -> Tensor:
    check_powers("ldexp_", self, other)
    return apply_inplace(Ldexp, self, other)


def in_float64(name: str, input: Any, exponent: Any) -> tuple:
    """Both operands of a power, as float64. Of a number's, PyTorch's answer is contiguous."""
    if not isinstance(input, Tensor):
        check_tensor(name, "exponent", 2, exponent)
        exponent = exponent.contiguous()
    operands = []
    for argument, position, value in (("input", 1, input), ("exponent", 2, exponent)):
        check_operand(name, argument, position, value)
        operands.append(value.double() if isinstance(value, Tensor) else float(value))
    return tuple(operands)


@function_and_method
def float_power(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:
    """input to the power of exponent, in float64; either may be a number.

    https://pytorch.org/docs/stable/generated/torch.float_power.html
    """
    operands = in_float64("float_power", input, exponent)
    if out is None:
        return apply(Pow, *operands)
    if out.dtype is not _core.float64:
        raise RuntimeError(
            f"the output given to float_power has dtype {out.dtype} but the operation's result "
            "requires dtype torch.float64"
        )
    if not isinstance(input, Tensor):
        return into(out, apply(Pow, *operands))
    return write_out(Pow, "float_power", out, *operands)


@method
def float_power_(self: Tensor, exponent: Any) -> Tensor:
    if self.dtype is not _core.float64:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {self.dtype} but the operation's result "
            "requires dtype torch.float64"
        )
    return apply_inplace(Pow, *in_float64("float_power_", self, exponent))


def replacements(name: str, input: Any, nan: Any, posinf: Any, neginf: Any) -> tuple:
    """The three numbers, by default 0 and the format's largest and smallest."""
    largest = finfo(input.dtype).max if input.is_floating_point() else 0.0
    values = []
    for position, (argument, value, default) in enumerate(
        (("nan", nan, 0.0), ("posinf", posinf, largest), ("neginf", neginf, -largest)), 2
    ):
        if value is None:
            value = default
        check_kind(name, argument, position, value, "float", int | float)
        values.append(float(value))
    return tuple(values)


@function_and_method
def nan_to_num(
    input: Tensor,
    nan: float | None = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """NaN and the infinities replaced; by default with 0, the largest and the smallest number.

    https://pytorch.org/docs/stable/generated/torch.nan_to_num.html

    >>> import tiny_torch as torch
    >>> torch.nan_to_num(torch.tensor([1.0, torch.nan, -torch.inf]), neginf=-9)
    tensor([ 1.,  0., -9.])
    """
    values = replacements("nan_to_num", input, nan, posinf, neginf)
    if out is not None:
        return write_out(NanToNum, "nan_to_num", out, input, *values)
    return apply(NanToNum, input, *values)


@method
def nan_to_num_(
    self: Tensor,
    nan: float | None = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Tensor:
    values = replacements("nan_to_num_", self, nan, posinf, neginf)
    if not self.is_floating_point():  # nothing to replace: even in what is expanded
        self.array.mark_written()
        return self
    return apply_inplace(NanToNum, self, *values)


@method("__pos__")
@function_and_method
def positive(input: Tensor) -> Tensor:
    """The input itself; RuntimeError of bool."""
    if input.dtype is _core.bool:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input
