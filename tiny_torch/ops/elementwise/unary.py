"""Unary elementwise ops: elementary functions and their gradients, most of them one line each.

``out`` in a forward is an array that the result is written into.
"""

from __future__ import annotations

import math
from typing import Any

from tiny_torch.autograd.graph import Op, run
from tiny_torch.dtypes import not_implemented
from tiny_torch.ops.common import over, public, with_name, zero_gradient
from tiny_torch.ops.elementwise.cast import narrowed, widened


@public("neg", "Each element with its sign turned.")
class Neg(Op):
    @staticmethod
    def forward(x, out=None):
        return x.neg(out), ()

    @staticmethod
    def backward(saved, grad, needs):
        return -grad


def of_nothing(name: str, formula) -> type[Op]:
    """A unary op whose gradient is a formula of the incoming one alone."""

    class OfNothing(Op):
        @staticmethod
        def forward(x, out=None):
            return getattr(x, name)(out), ()

        @staticmethod
        def backward(saved, grad, needs):
            return formula(grad)

    return with_name(OfNothing, name)


def of_input(name: str, formula, named_as: str = "") -> type[Op]:
    """A unary op whose gradient is a formula of the incoming one and of x."""

    class OfInput(Op):
        saves = (0,)

        @staticmethod
        def forward(x, out=None):
            return getattr(x, name)(out), (x,)

        @staticmethod
        def backward(saved, grad, needs):
            return formula(grad, saved[0])

    return with_name(OfInput, named_as or name)


def of_output(name: str, formula) -> type[Op]:
    """A unary op whose gradient is a formula of the incoming one and of the result."""

    class OfOutput(Op):
        saves = (~0,)

        @staticmethod
        def forward(x, out=None):
            y = getattr(x, name)(out)
            return y, (y,)

        @staticmethod
        def backward(saved, grad, needs):
            return formula(grad, saved[0])

    return with_name(OfOutput, name)


Abs: Any = public("abs", "The absolute value of each element.")(
    of_input("abs", lambda grad, x: grad * x.sign())
)
Square: Any = public("square", "Each element times itself.")(
    of_input("square", lambda grad, x: grad * (x * 2))
)
Log: Any = public("log", "The natural logarithm.")(of_input("log", lambda grad, x: grad / x))
Log2: Any = public("log2", "The logarithm to base 2.")(
    of_input("log2", lambda grad, x: grad / (x * math.log(2)))
)
Log10: Any = public("log10", "The logarithm to base 10.")(
    of_input("log10", lambda grad, x: grad / (x * math.log(10)))
)
Log1p: Any = public("log1p", "log(1 + x), accurate near 0.")(
    of_input("log1p", lambda grad, x: grad / (x + 1))
)
Sin: Any = public("sin", "The sine.")(of_input("sin", lambda grad, x: grad * x.cos()))
Cos: Any = public("cos", "The cosine.")(of_input("cos", lambda grad, x: grad * -x.sin()))
Atan: Any = public("atan", "The angle whose tangent is x.")(
    of_input("atan", lambda grad, x: grad / (x * x + 1))
)
Erf: Any = public("erf", "The error function.")(
    of_input("erf", lambda grad, x: grad * ((x * x).neg().exp() * (2 / math.sqrt(math.pi))))
)

Asin: Any = public("asin", "The angle whose sine is x.")(
    of_input("asin", lambda grad, x: grad * (1 - x * x).rsqrt())
)
Acos: Any = public("acos", "The angle whose cosine is x.")(
    of_input("acos", lambda grad, x: grad * -(1 - x * x).rsqrt())
)
Sinh: Any = public("sinh", "The hyperbolic sine.")(
    of_input("sinh", lambda grad, x: grad * x.cosh())
)
Cosh: Any = public("cosh", "The hyperbolic cosine.")(
    of_input("cosh", lambda grad, x: grad * x.sinh())
)
Asinh: Any = public("asinh", "The inverse of sinh.")(
    of_input("asinh", lambda grad, x: grad * (x * x + 1).rsqrt())
)
Acosh: Any = public("acosh", "The inverse of cosh; NaN below 1.")(
    of_input("acosh", lambda grad, x: grad * (x * x - 1).rsqrt())
)
Atanh: Any = public("atanh", "The inverse of tanh; NaN beyond 1.")(
    of_input("atanh", lambda grad, x: grad / (1 - x * x))
)
Deg2Rad: Any = public("deg2rad", "Degrees as radians.")(
    of_nothing("deg2rad", lambda grad: grad * (math.pi / 180))
)
Rad2Deg: Any = public("rad2deg", "Radians as degrees.")(
    of_nothing("rad2deg", lambda grad: grad * (180 / math.pi))
)

Exp: Any = public("exp", "e to the power of each element.")(
    of_output("exp", lambda grad, y: grad * y)
)
Exp2: Any = public("exp2", "2 to the power of each element.")(
    of_output("exp2", lambda grad, y: grad * (y * math.log(2)))
)
Expm1: Any = public("expm1", "exp(x) - 1, accurate near 0.")(
    of_output("expm1", lambda grad, y: grad * (y + 1))
)
Sqrt: Any = public("sqrt", "The square root; NaN below 0.")(
    of_output("sqrt", lambda grad, y: grad / (y * 2))
)
Rsqrt: Any = public("rsqrt", "1 / sqrt(x).")(
    of_output("rsqrt", lambda grad, y: grad * (y * y * y * -0.5))
)
Reciprocal: Any = public("reciprocal", "1 / x.")(
    of_output("reciprocal", lambda grad, y: grad * -(y * y))
)
Tan: Any = public("tan", "The tangent.")(of_output("tan", lambda grad, y: grad * (y * y + 1)))

Sign: Any = public("sign", "-1, 0 or 1 as each element's sign.")(of_nothing("sign", zero_gradient))
Floor: Any = public("floor", "The largest integer not above each element.")(
    of_nothing("floor", zero_gradient)
)
Ceil: Any = public("ceil", "The smallest integer not below each element.")(
    of_nothing("ceil", zero_gradient)
)
Trunc: Any = public("trunc", "Each element without its fraction.")(
    of_nothing("trunc", zero_gradient)
)
Round = of_nothing("round", zero_gradient)


class RoundTo(Op):
    """To so many decimals; a half dtype is rounded in float32, and once more at the end."""

    @staticmethod
    def forward(x, decimals, out=None):
        if not x.dtype.is_floating_point:
            raise not_implemented("round_cpu", x.dtype)
        scale = 10.0 ** abs(decimals) if abs(decimals) < 309 else math.inf
        wide = widened(x)
        if decimals > 0:
            result = (wide * scale).round(None) / scale
        else:
            result = (wide / scale).round(None) * scale
        if out is None:
            return narrowed(result, x.dtype), ()
        out.copy_(result)
        return out, ()

    @staticmethod
    def backward(saved, grad, needs):
        return zero_gradient(grad)


class ReluBackward(Op):
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


class Relu(Op):
    saves = (~0,)
    overwrites = True

    @staticmethod
    def forward(x, out=None):
        y = x.relu(out)
        return y, (y,)

    @staticmethod
    def backward(saved, grad, needs, overwrite=False):
        (y,) = saved
        if overwrite:
            return grad.relu_backward(y, over(y, grad))
        return run(ReluBackward, grad, y)


class TanhBackward(Op):
    """grad (1 - y^2)"""

    arity = 2
    saves = (0, 1)
    used_by = ((1,), (0, 1))

    @staticmethod
    def forward(grad, y):
        return grad.tanh_backward(y), (grad, y)

    @staticmethod
    def backward(saved, grad_grad, needs):
        grad, y = saved
        return run(TanhBackward, grad_grad, y), grad_grad * (grad * y * -2)


@public("tanh", "The hyperbolic tangent.")
class Tanh(Op):
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


class SigmoidBackward(Op):
    """grad (1 - y) y"""

    arity = 2
    saves = (0, 1)
    used_by = ((1,), (0, 1))

    @staticmethod
    def forward(grad, y):
        return grad.sigmoid_backward(y), (grad, y)

    @staticmethod
    def backward(saved, grad_grad, needs):
        grad, y = saved
        return run(SigmoidBackward, grad_grad, y), grad_grad * (grad * (1 - y * 2))


@public("sigmoid", "1 / (1 + exp(-x)).")
class Sigmoid(Op):
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
