"""Arithmetic, element by element: forward and gradient of each op.

``out`` in a forward is an array that the result is written into.
"""

from __future__ import annotations

import math
import operator
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.graph import TensorBase, run
from tiny_torch.base.devices import array_module
from tiny_torch.ops.common import (
    Binary,
    Elementwise,
    Method,
    Ternary,
    by_number,
    over,
    public,
    zero_gradient,
)
from tiny_torch.tensor import Tensor, wrap


class Add(Binary):
    cost = "sum"
    batching = "inplace arithmetic"
    forward = Method("add", (), operator.add)

    @staticmethod
    def backward(saved, grad, needs):
        return grad, grad


class Sub(Binary):
    cost = "difference"
    batching = "inplace arithmetic"
    forward = Method("sub", (), operator.sub)

    @staticmethod
    def backward(saved, grad, needs):
        return grad, -grad if needs[1] else None


@public("mul", "input * other.", left=True)
class Mul(Binary):
    saves = (0, 1)
    used_by = ((1,), (0,))
    overwrites = True
    once = True
    cost = "multiplication"
    batching = "inplace arithmetic"
    forward = Method("mul", saves, operator.mul)

    @staticmethod
    def backward(saved, grad, needs, overwrite=False):
        x, y = saved
        if overwrite and x is None:
            return grad.mul(y, over(y, grad)), None
        to_x = grad * y if needs[0] else None
        if not needs[1]:
            return to_x, None
        return to_x, grad.mul(x, over(x, grad)) if overwrite else grad * x

    @staticmethod
    def show_saved(values, k):
        """PyTorch takes a number second."""
        return saved_number(values[1 - k if type(values[0]) in NUMBERS else k])


class Div(Binary):
    saves = (0, 1)
    used_by = ((1,), (0, 1))
    once = True
    batching = "inplace arithmetic"
    forward = Method("div", saves, operator.truediv)

    @staticmethod
    def backward(saved, grad, needs):
        x, y = saved
        return grad / y if needs[0] else None, -grad * ((x / y) / y) if needs[1] else None

    @staticmethod
    def show_saved(values, k):
        return saved_number(values[k])


class Quotient(Div):
    """A number over a tensor. Both that and the result may be written: PyTorch has a reciprocal."""

    @staticmethod
    def forward(x, y):
        return x / y, (x, y.kept())


Quotient.__name__ = "Div"


class Cast(Elementwise):
    """Another dtype; the gradient is cast back."""

    node_name = "ToCopyBackward0"
    aten = "to"
    cost = "cast"

    @staticmethod
    def forward(x, dtype):
        return x.astype(dtype), (x.dtype,)

    @staticmethod
    def backward(saved, grad, needs):
        return run(Cast, grad, saved[0])


class Pow(Binary):
    """d(x^y) = y x^(y-1) dx + x^y ln x dy, where 0 ^ 0 counts as the constant 1."""

    saves = (0, 1, ~0)
    used_by = ((0, 1), (0, 1), (1,))
    words = "y:exponent"
    autocast = "float32 on cuda"

    @staticmethod
    def forward(x, y, out=None):
        if (y is True or y is False) and x.dtype is _core.bool:
            result = x.logical_or(not y, out)  # x and True
        else:
            result = x**y if out is None else x.pow(y, out)
        return result, (x, y, result)

    @staticmethod
    def backward(saved, grad, needs):
        x, y, result = saved
        to_base = to_exponent = None
        if needs[0]:
            if isinstance(y, int | float):
                # Recorded, it is x ** 1 for y = 2, as in PyTorch: its gradient is 0, not absent.
                power = x if y == 2 and not isinstance(x, TensorBase) else x ** (y - 1)
                to_base = zero_gradient(grad) if y == 0 else grad * (power * y)
            else:
                to_base = run(Where, y == 0, 0.0, grad * (y * x ** (y - 1)))
        if needs[1]:
            if isinstance(x, int | float):
                log = math.log(x) if x > 0 else float("-inf" if x == 0 else "nan")
                moves = grad * (result * log)
                to_exponent = run(Where, y >= 0, 0.0, moves) if x == 0 else moves
            else:
                still = (x == 0) & (y >= 0)  # 0 ^ y does not move with y, though ln 0 is -inf
                base = x if x.dtype is result.dtype else run(Cast, x, result.dtype)
                to_exponent = run(Where, still, 0.0, grad * (result * base.log()))
        return to_base, to_exponent

    @staticmethod
    def node_name(saved, node):
        base, exponent = saved[:2] if len(saved) > 1 else (None, None)
        if isinstance(base, int | float):
            return "PowBackward2"
        return f"PowBackward{int(hasattr(exponent, 'shape'))}"


@public("floor_divide", "The floor of input / other.", left=True)
class FloorDivide(Binary):
    forward = Method("floor_divide", (), operator.floordiv)

    @staticmethod
    def backward(saved, grad, needs):
        raise RuntimeError("derivative for aten::floor_divide is not implemented")


class DivFloor(FloorDivide):
    """div(rounding_mode="floor"): the same, but differentiable, as a step is.

    It saves what Div does, as in PyTorch, though it looks at none of it.
    """

    saves = Div.saves
    used_by = Div.used_by
    once = Div.once
    aten = "div"
    forward = Method("floor_divide", saves, operator.floordiv)

    @staticmethod
    def backward(saved, grad, needs):
        return zero_gradient(grad), zero_gradient(grad) if needs[1] else None


class DivTrunc(DivFloor):
    """div(rounding_mode="trunc"): the quotient rounded towards 0."""

    forward = Method("trunc_divide", (0, 1))


@public("remainder", "Python's input % other: other's sign.", left=True)
class Remainder(Binary):
    saves = (0, 1)
    used_by = ((1,), (1,))
    node_name = by_number("Remainder", 0, 1)
    forward = Method("remainder", saves, operator.mod)

    @staticmethod
    def backward(saved, grad, needs):
        x, y = saved
        return grad, -grad * run(DivFloor, x, y) if needs[1] else None


@public("fmod", "C's fmod(input, other): input's sign.")
class Fmod(Binary):
    saves = (0, 1)
    used_by = ((1,), (1,))
    node_name = by_number("Fmod", 0, 1)
    forward = Method("fmod", saves)

    @staticmethod
    def backward(saved, grad, needs):
        x, y = saved
        return grad, -grad * (x / y).trunc() if needs[1] else None


@public("hypot", "The length of the vector (input, other).", numbers=False)
class Hypot(Binary):
    saves = (0, 1, ~0)
    used_by = ((0,), (1,), (0, 1))
    forward = Method("hypot", saves)

    @staticmethod
    def backward(saved, grad, needs):
        x, y, result = saved
        return (
            grad * (x / result) if needs[0] else None,
            grad * (y / result) if needs[1] else None,
        )


@public("atan2", "The angle of the point (other, input).", numbers=False)
class Atan2(Binary):
    saves = (0, 1)
    autocast = "widest on cuda"
    forward = Method("atan2", saves)

    @staticmethod
    def backward(saved, grad, needs):
        x, y = saved
        at_origin = (x == 0) & (y == 0)  # where the gradient counts as 0
        length = run(Hypot, run(Where, at_origin, 1.0, x), y)  # its square may be beyond any float
        to_x, to_y = y / length, -x / length
        grad = grad / length
        return grad * to_x if needs[0] else None, grad * to_y if needs[1] else None


class Lerp(Ternary):
    saves = (0, 1, 2)
    used_by = ((2,), (2,), (0, 1))
    node_name = by_number("Lerp", 0, 2)
    words = "y:end z:weight"
    forward = Method("lerp", saves)

    @staticmethod
    def backward(saved, grad, needs):
        x, y, weight = saved
        return (
            grad * (1 - weight) if needs[0] else None,
            grad * weight if needs[1] else None,
            grad * (y - x) if needs[2] else None,
        )


class Addcmul(Ternary):
    """x + y z"""

    saves = (1, 2)
    used_by = ((2,), (1,))
    words = "y:tensor1 z:tensor2"
    autocast = "widest on cuda"
    forward = Method("addcmul", saves)

    @staticmethod
    def backward(saved, grad, needs):
        y, z = saved
        return grad, grad * z if needs[1] else None, grad * y if needs[2] else None


class Addcdiv(Ternary):
    """x + y / z"""

    saves = (1, 2)
    used_by = ((2,), (1, 2))
    words = "y:tensor1 z:tensor2"
    autocast = "widest on cuda"
    forward = Method("addcdiv", saves)

    @staticmethod
    def backward(saved, grad, needs):
        y, z = saved
        return (
            grad,
            grad / z if needs[1] else None,
            -(grad / z) * y / z if needs[2] else None,  # never in a lower dtype than grad's
        )


class Where(Ternary):
    saves = (0,)
    words = "x:condition"
    forward = Method("where", saves)

    @staticmethod
    def backward(saved, grad, needs):
        (condition,) = saved
        return (
            None,
            run(Where, condition, grad, 0.0) if needs[1] else None,
            run(Where, condition, 0.0, grad) if needs[2] else None,
        )


class Clamp(Ternary):
    """A NaN bound makes NaN. The gradient passes where x is within the bounds."""

    saves = (0, 1, 2)
    node_name = by_number("Clamp", 1, 1, 2)

    @staticmethod
    def forward(x, low, high, out=None):
        if low is None:
            return x.minimum(high, out), (x, low, high)
        if high is None:
            return x.maximum(low, out), (x, low, high)
        return x.clamp(low, high, out), (x, low, high)

    @staticmethod
    def backward(saved, grad, needs):
        x, low, high = saved
        inside = True if low is None else x >= low
        if high is not None:
            inside = (x <= high) if inside is True else inside & (x <= high)
        to_x = run(Where, inside, grad, 0.0) if needs[0] else None
        to_low = to_high = None
        if needs[1]:
            below = x < low if high is None else (x < low) & (low < high)
            to_low = run(Where, below, grad, 0.0)
        if needs[2]:
            above = x > high if low is None else (x > high) | (low > high)
            to_high = run(Where, above, grad, 0.0)
        return to_x, to_low, to_high


Number = bool | int | float
NUMBERS = {bool: _core.bool, int: _core.int64, float: _core.float64}


def saved_number(value: Any) -> Any:
    """A number as PyTorch saves it: in a tensor."""
    return wrap(_core.full((), value, NUMBERS[type(value)])) if type(value) in NUMBERS else value


def result_type(*operands: Any) -> Any:
    """The dtype that tensors (the first is one) and numbers promote to."""
    arrays = [o.array if isinstance(o, Tensor) else o for o in operands]
    return array_module(arrays[0].device).result_type(*arrays)


def everywhere(input: Tensor, value: bool) -> Tensor:
    array = input.array.empty_like(_core.bool)
    array.copy_(value)
    return wrap(array)
