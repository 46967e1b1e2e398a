"""What floats are made of: tests for NaN and infinity, signs, fractions, exponents."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.graph import run
from tiny_torch.base.dtypes import FLOATS
from tiny_torch.ops.common import (
    Binary,
    Elementwise,
    Method,
    public,
    without_gradient,
    zero_gradient,
)
from tiny_torch.ops.elementwise.arithmetic import Where, result_type
from tiny_torch.ops.elementwise.cast import Cast
from tiny_torch.ops.elementwise.unary import of_input

TESTS = {
    "isnan": "Whether each element is NaN.",
    "isinf": "Whether each element is infinite.",
    "isfinite": "Whether each element is neither infinite nor NaN.",
    "isposinf": "Whether each element is inf.",
    "isneginf": "Whether each element is -inf.",
    "signbit": "Whether each element's sign is minus, as that of -0 is, too.",
}
Isnan, Isinf, Isfinite, *_ = [
    without_gradient(name, what, 1, in_place=False) for name, what in TESTS.items()
]

of_input(
    "sgn", "-1, 0 or 1 as each element's sign.", lambda grad, x: zero_gradient(grad), record="sign"
)


@public("angle", "Each element's angle: pi below 0, else 0; NaN of NaN.", in_place=False)
class Angle(Elementwise):
    saves = (0,)

    @staticmethod
    def forward(x, out=None):
        return x.new_full((), 0).atan2(x + 0, out), (x,)  # -0 + 0 is 0, whose angle is 0

    @staticmethod
    def backward(saved, grad, needs):
        return zero_gradient(grad)


@public("frac", "Each element without its integer part.")
class Frac(Elementwise):
    forward = Method("frac")

    @staticmethod
    def backward(saved, grad, needs):
        return grad


@public("copysign", "input's magnitude with other's sign.")
class Copysign(Binary):
    """The gradient is that of the magnitude, turned where the sign was; 0 at 0."""

    saves = (0, ~0)
    used_by = ((0,), (0,))
    forward = Method("copysign", saves)

    @staticmethod
    def backward(saved, grad, needs):
        x, result = saved
        to_x = grad * run(Where, x == 0, 0.0, result / x) if needs[0] else None
        return to_x, zero_gradient(grad) if needs[1] else None


class ExtremeNumber(Binary):
    """fmax and fmin: a NaN loses. The gradient goes to the one that was taken; of equals, input."""

    saves = (0, 1)
    wins: Callable  # (x, y): where x is taken of two numbers

    @classmethod
    def backward(cls, saved, grad, needs):
        x, y = saved
        first = cls.wins(x, y) | (y != y)
        return (
            run(Where, first, grad, 0.0) if needs[0] else None,
            run(Where, first, 0.0, grad) if needs[1] else None,
        )


@public(
    "fmax", "The larger of two elements; a number rather than NaN.", numbers=False, in_place=False
)
class Fmax(ExtremeNumber):
    wins = operator.ge
    forward = Method("fmax", (0, 1))


@public(
    "fmin", "The smaller of two elements; a number rather than NaN.", numbers=False, in_place=False
)
class Fmin(ExtremeNumber):
    wins = operator.le
    forward = Method("fmin", (0, 1))


# --------------------------------------------------------------------------- mantissa and exponent


class Frexp(Elementwise):
    @staticmethod
    def forward(x):
        exponent = x.frexp_exponent().astype(_core.int32)
        return (x.frexp_mantissa(), exponent), (exponent,)

    @staticmethod
    def backward(saved, grad, needs):
        return grad / run(Cast, saved[0], grad.dtype).exp2()


class Ldexp(Binary):
    """x * 2**y. Of floats and whole powers it is exact, as long as x's dtype can hold it."""

    saves = (1, ~0)
    used_by = ((0,), (1,))

    @staticmethod
    def forward(x, y, out=None):
        if x.dtype.is_floating_point and not y.dtype.is_floating_point:
            x = x if x.is_dense() else x.clone()  # PyTorch makes the result like it first
            result = x.scalbn(y, out)
        else:
            result = x.mul(2.0 ** exponents(x, y), out)
        return result, (y, result)

    @staticmethod
    def backward(saved, grad, needs):
        y, result = saved
        return (
            run(Ldexp, grad, y) if needs[0] else None,
            grad * (result * math.log(2)) if needs[1] else None,
        )


def exponents(x: Any, y: Any) -> Any:
    """As floats, and where PyTorch's powers of two do not lie as y does, contiguous."""
    default = _core.get_default_dtype()
    if x.dtype is y.dtype is not default and y.dtype.is_floating_point:
        return y
    return (y if y.dtype.is_floating_point else y.astype(default)).contiguous()


@public("nextafter", "The next number after input towards other, in their dtype.", numbers=False)
class Nextafter(Binary):
    saves = (0, 1)

    @staticmethod
    def forward(x, y, out=None):
        dtype = result_type(x, y)
        largest = smallest = False  # of integers, which C++ refuses
        if dtype in FLOATS:
            eps, largest, normal, _ = FLOATS[dtype]
            smallest = eps * normal
        return x.nextafter(y, largest, smallest, out), (x, y)

    @staticmethod
    def backward(saved, grad, needs):
        x, y = saved
        return run(Where, x == y, 0.0, grad) if needs[0] else None, zero_gradient(grad)


# ------------------------------------------------------------------------------------ nan_to_num


class NanToNum(Elementwise):
    saves = (0,)

    @staticmethod
    def forward(x, nan, posinf, neginf, out=None):
        return x.nan_to_num(nan, posinf, neginf, out), (x,)

    @staticmethod
    def backward(saved, grad, needs):
        return grad * saved[0].isfinite()
