"""Unary elementwise ops: elementary functions and their gradients, most of them one line each.

``out`` in a forward is an array that the result is written into.
"""

from __future__ import annotations

import math
from typing import Any

from tiny_torch.autograd.graph import run
from tiny_torch.base.dtypes import not_implemented
from tiny_torch.ops.common import Elementwise, Method, over, public, with_name, zero_gradient
from tiny_torch.ops.elementwise.cast import narrow, widen


@public("neg", "Each element with its sign turned.")
class Neg(Elementwise):
    forward = Method("neg")

    @staticmethod
    def backward(saved, grad, needs):
        return -grad


def of_nothing(name: str, what: str, formula) -> Any:
    """A unary op whose gradient is a formula of the incoming one alone."""

    class OfNothing(Elementwise):
        forward = Method(name)

        @staticmethod
        def backward(saved, grad, needs):
            return formula(grad)

    return with_name(OfNothing, name, what)


def of_input(name: str, what: str, formula, record: str = "") -> Any:
    """A unary op whose gradient is a formula of the incoming one and of x."""

    class OfInput(Elementwise):
        saves = (0,)
        forward = Method(record or name, saves)

        @staticmethod
        def backward(saved, grad, needs):
            return formula(grad, saved[0])

    return with_name(OfInput, name, what)


def of_output(name: str, what: str, formula) -> Any:
    """A unary op whose gradient is a formula of the incoming one and of the result."""

    class OfOutput(Elementwise):
        saves = (~0,)
        forward = Method(name, saves)

        @staticmethod
        def backward(saved, grad, needs):
            return formula(grad, saved[0])

    return with_name(OfOutput, name, what)


Abs = of_input("abs", "The absolute value of each element.", lambda grad, x: grad * x.sign())
# Recorded, it is of x ** 1, as in PyTorch: its third derivative is 0, not absent.
Square = of_input(
    "square",
    "Each element times itself.",
    lambda grad, x: grad * ((x**1 if hasattr(x, "array") else x) * 2),
)
Square.node_name = "PowBackward0"
Log = of_input("log", "The natural logarithm.", lambda grad, x: grad / x)
Log2 = of_input("log2", "The logarithm to base 2.", lambda grad, x: grad / (x * math.log(2)))
Log10 = of_input("log10", "The logarithm to base 10.", lambda grad, x: grad / (x * math.log(10)))
Log1p = of_input("log1p", "log(1 + x), accurate near 0.", lambda grad, x: grad / (x + 1))
Sin = of_input("sin", "The sine.", lambda grad, x: grad * x.cos())
Cos = of_input("cos", "The cosine.", lambda grad, x: grad * -x.sin())
Atan = of_input("atan", "The angle whose tangent is x.", lambda grad, x: grad / (x * x + 1))
Erf = of_input(
    "erf",
    "The error function.",
    lambda grad, x: grad * ((x * x).neg().exp() * (2 / math.sqrt(math.pi))),
)

Asin = of_input("asin", "The angle whose sine is x.", lambda grad, x: grad * (1 - x * x).rsqrt())
Acos = of_input("acos", "The angle whose cosine is x.", lambda grad, x: grad * -(1 - x * x).rsqrt())
Sinh = of_input("sinh", "The hyperbolic sine.", lambda grad, x: grad * x.cosh())
Cosh = of_input("cosh", "The hyperbolic cosine.", lambda grad, x: grad * x.sinh())
Asinh = of_input("asinh", "The inverse of sinh.", lambda grad, x: grad * (x * x + 1).rsqrt())
Acosh = of_input(
    "acosh", "The inverse of cosh; NaN below 1.", lambda grad, x: grad * (x * x - 1).rsqrt()
)
Atanh = of_input("atanh", "The inverse of tanh; NaN beyond 1.", lambda grad, x: grad / (1 - x * x))
Deg2Rad = of_nothing("deg2rad", "Degrees as radians.", lambda grad: grad * (math.pi / 180))
Rad2Deg = of_nothing("rad2deg", "Radians as degrees.", lambda grad: grad * (180 / math.pi))

Exp = of_output("exp", "e to the power of each element.", lambda grad, y: grad * y)
Exp2 = of_output(
    "exp2", "2 to the power of each element.", lambda grad, y: grad * (y * math.log(2))
)
Expm1 = of_output("expm1", "exp(x) - 1, accurate near 0.", lambda grad, y: grad * (y + 1))
Sqrt = of_output("sqrt", "The square root; NaN below 0.", lambda grad, y: grad / (y * 2))
Rsqrt = of_output("rsqrt", "1 / sqrt(x).", lambda grad, y: grad * (y * y * y * -0.5))
Reciprocal = of_output("reciprocal", "1 / x.", lambda grad, y: grad * -(y * y))
Tan = of_output("tan", "The tangent.", lambda grad, y: grad * (y * y + 1))

for _op in (
    Acos, Asin, Cosh, Exp, Expm1, Log, Log10, Log1p, Log2, Reciprocal, Rsqrt, Sinh, Tan
):  # fmt: skip
    _op.autocast = "float32 on cuda"

Sign = of_nothing("sign", "-1, 0 or 1 as each element's sign.", zero_gradient)
Floor = of_nothing("floor", "The largest integer not above each element.", zero_gradient)
Ceil = of_nothing("ceil", "The smallest integer not below each element.", zero_gradient)
Trunc = of_nothing("trunc", "Each element without its fraction.", zero_gradient)
Round = of_nothing("round", "", zero_gradient)


class RoundTo(Elementwise):
    """To so many decimals; a half dtype is rounded in float32, and once more at the end."""

    node_name = "RoundBackward1"
    aten = "round"

    @staticmethod
    def forward(x, decimals, out=None):
        if not x.dtype.is_floating_point:
            raise not_implemented("round_cpu", x.dtype)
        scale = 10.0 ** abs(decimals) if abs(decimals) < 309 else math.inf
        wide = widen(x)
        if decimals > 0:
            result = (wide * scale).round(None) / scale
        else:
            result = (wide / scale).round(None) * scale
        if out is None:
            return narrow(result, x.dtype), ()
        out.copy_(result)
        return out, ()

    @staticmethod
    def backward(saved, grad, needs):
        return zero_gradient(grad)


class ReluBackward(Elementwise):
    """The gradient passes where the result y is positive."""

    arity = 2
    saves = (1,)

    @staticmethod
    def forward(grad, y):
        return grad.relu_backward(y), (y,)

    @staticmethod
    def backward(saved, grad, needs):
        # Zeros, not None, as in PyTorch: what lies behind x then has a gradient.
        return run(ReluBackward, grad, saved[0]), zero_gradient(grad) if needs[1] else None


class Relu(Elementwise):
    saves = (~0,)
    overwrites = True
    forward = Method("relu", saves)

    @staticmethod
    def backward(saved, grad, needs, overwrite=False):
        (y,) = saved
        if overwrite:
            return grad.relu_backward(y, over(y, grad))
        return run(ReluBackward, grad, y)


class TanhBackward(Elementwise):
    """grad (1 - y^2)"""

    arity = 2
    saves = (0, 1)
    used_by = ((1,), (0, 1))
    words = "grad:grad_output y:output"

    @staticmethod
    def forward(grad, y):
        return grad.tanh_backward(y), (grad, y)

    @staticmethod
    def backward(saved, grad_grad, needs):
        grad, y = saved
        to_y = grad_grad * (grad * y * -2) if needs[1] else None
        return run(TanhBackward, grad_grad, y), to_y


@public("tanh", "The hyperbolic tangent.")
class Tanh(Elementwise):
    saves = (~0,)
    overwrites = True

    @staticmethod
    def forward(x, out=None):
        y = x.tanh(out)
        return y, (y,)

    @staticmethod
    def backward(saved, grad, needs, overwrite=False):
        (y,) = saved
        if overwrite:
            return grad.tanh_backward(y, over(y, grad))
        return run(TanhBackward, grad, y)


class SigmoidBackward(Elementwise):
    """grad (1 - y) y"""

    arity = 2
    saves = (0, 1)
    used_by = ((1,), (0, 1))
    words = "grad:grad_output y:output"

    @staticmethod
    def forward(grad, y):
        return grad.sigmoid_backward(y), (grad, y)

    @staticmethod
    def backward(saved, grad_grad, needs):
        grad, y = saved
        to_y = grad_grad * (grad * (1 - y * 2)) if needs[1] else None
        return run(SigmoidBackward, grad_grad, y), to_y


@public("sigmoid", "1 / (1 + exp(-x)).")
class Sigmoid(Elementwise):
    saves = (~0,)
    overwrites = True

    @staticmethod
    def forward(x, out=None):
        y = x.sigmoid(out)
        return y, (y,)

    @staticmethod
    def backward(saved, grad, needs, overwrite=False):
        (y,) = saved
        if overwrite:
            return grad.sigmoid_backward(y, over(y, grad))
        return run(SigmoidBackward, grad, y)
