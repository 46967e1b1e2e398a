"""Special functions: erf's kin, the logarithm of gamma and its derivatives, logistic ones."""

from __future__ import annotations

import math

from tiny_torch.autograd.graph import run
from tiny_torch.ops.common import Binary, Elementwise, Method, public
from tiny_torch.ops.elementwise.arithmetic import Where
from tiny_torch.ops.elementwise.cast import narrow, widen
from tiny_torch.ops.elementwise.unary import of_input

TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)

of_input(
    "erfc",
    "1 - erf(x), accurate where that is small.",
    lambda grad, x: grad * ((x * x).neg().exp() * -TWO_OVER_ROOT_PI),
)
Erfinv = of_input(
    "erfinv",
    "The inverse of erf; NaN beyond 1.",
    lambda grad, x: grad * (x.erfinv().square().exp() / TWO_OVER_ROOT_PI),
)
Erfinv.autocast = "float32 on cuda"
of_input("lgamma", "The logarithm of gamma's absolute value.", lambda grad, x: grad * x.digamma())
of_input(
    "digamma", "The derivative of gamma's logarithm.", lambda grad, x: grad * run(Polygamma, x, 1)
)
I1 = of_input("i1", "", lambda grad, x: grad * i1_slope(x))
I1.node_name, I1.aten = "SpecialI1Backward0", "special_i1"
of_input(
    "i0",
    "The modified Bessel function of the first kind, of order 0.",
    lambda grad, x: grad * run(I1, x),
)


def i1_slope(x):
    """I0(x) - I1(x) / x; 1/2 at 0."""
    wide, zero = widen(x), x == 0
    slope = wide.i0() - run(I1, wide) / run(Where, zero, 1.0, wide)
    return narrow(run(Where, zero, 0.5, slope), x.dtype)


class Polygamma(Elementwise):
    """The n-th derivative of digamma."""

    saves = (0,)

    @staticmethod
    def forward(x, n, out=None):
        if n < 2:
            return (x.trigamma(out) if n else x.digamma(out)), (x, n)
        return x.polygamma(n, out), (x, n)

    @staticmethod
    def backward(saved, grad, needs):
        x, n = saved
        return grad * run(Polygamma, x, n + 1)


# Taylor's factors of the slope of sin(a) / a, over a: exact to a double's last bit up to a = 0.5.
SINC_SLOPE = [(-1) ** k * 2 * k / math.factorial(2 * k + 1) for k in range(1, 9)]


@public("sinc", "sin(pi x) / (pi x); 1 at 0.")
class Sinc(Elementwise):
    saves = (0,)
    forward = Method("sinc", saves)

    @staticmethod
    def backward(saved, grad, needs):
        angle = saved[0] * math.pi
        near = angle.abs() < 0.5  # where the difference of two numbers so close would be lost
        far = run(Where, near, 1.0, angle)
        small = run(Where, near, angle, 0.0)
        slope = (far * far.cos() - far.sin()) / (far * far)
        square, series = small * small, SINC_SLOPE[-1]
        for factor in SINC_SLOPE[-2::-1]:
            series = square * series + factor
        return grad * (run(Where, near, small * series, slope) * math.pi)


class Logit(Elementwise):
    """ln(x / (1 - x)), x being kept within [eps, 1 - eps] if eps is not negative."""

    saves = (0,)

    @staticmethod
    def forward(x, eps, out=None):
        return x.logit(eps, out), (x, eps)

    @staticmethod
    def backward(saved, grad, needs):
        x, eps = saved
        outside = (x < max(eps, 0.0)) | (x > 1 - max(eps, 0.0))
        inside = run(Where, outside, 0.5, x) + 0.0  # of -0, too, the slope is inf
        beyond = math.nan if eps < 0 else 0.0
        return run(Where, outside, beyond, grad / (inside * (1 - inside)))


@public("logaddexp", "ln(e**input + e**other).", numbers=False, in_place=False)
class Logaddexp(Binary):
    """The gradient is shared by the two terms' parts in the sum."""

    saves = (0, 1)
    power = "exp"
    forward = Method("logaddexp", saves)

    @classmethod
    def backward(cls, saved, grad, needs):
        x, y = saved
        return (
            grad / (getattr(y - x, cls.power)() + 1) if needs[0] else None,
            grad / (getattr(x - y, cls.power)() + 1) if needs[1] else None,
        )


@public("logaddexp2", "log2(2**input + 2**other).", numbers=False, in_place=False)
class Logaddexp2(Logaddexp):
    power = "exp2"
    forward = Method("logaddexp2", (0, 1))


@public("xlogy", "input * ln(other); 0 where input is 0.", left=True)
class Xlogy(Binary):
    saves = (0, 1)

    @staticmethod
    def forward(x, y, out=None):
        number = isinstance(x, int | float)
        return (y.rxlogy(x, out) if number else x.xlogy(y, out)), (x, y)

    @staticmethod
    def backward(saved, grad, needs):
        x, y = saved
        to_x = None
        if needs[0]:
            to_x = run(Where, (x == 0) & (y <= 0), 0.0, run(Xlogy, grad, y))
        return to_x, grad * x / y if needs[1] else None


class Heaviside(Elementwise):
    arity = 2

    @staticmethod
    def forward(x, values, out=None):
        return x.heaviside(values, out), ()

    @staticmethod
    def backward(saved, grad, needs):
        raise RuntimeError("derivative for aten::heaviside is not implemented")
