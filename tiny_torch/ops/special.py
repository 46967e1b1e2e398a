"""Special functions: erf's kin, the logarithm of gamma and its derivatives, logistic ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply, apply_inplace
from tiny_torch.autograd.graph import Op, run
from tiny_torch.dtypes import check_range
from tiny_torch.ops.elementwise import Where
from tiny_torch.ops.public import check_tensor, public, write_out
from tiny_torch.ops.unary import of_input
from tiny_torch.tensor import Tensor

TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)

public("erfc", "1 - erf(x), accurate where that is small.")(
    of_input("erfc", lambda grad, x: grad * ((x * x).neg().exp() * -TWO_OVER_ROOT_PI))
)
public("erfinv", "The inverse of erf; NaN beyond 1.")(
    of_input("erfinv", lambda grad, x: grad * (x.erfinv().square().exp() / TWO_OVER_ROOT_PI))
)
public("lgamma", "The logarithm of gamma's absolute value.")(
    of_input("lgamma", lambda grad, x: grad * x.digamma())
)
public("digamma", "The derivative of gamma's logarithm.")(
    of_input("digamma", lambda grad, x: grad * run(Polygamma, x, 1))
)


class Polygamma(Op):
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


def check_order(n: Any, input: Any) -> None:
    if not isinstance(n, int) or isinstance(n, bool):
        raise TypeError(
            f"polygamma(): argument 'n' (position 1) must be int, not {type(n).__name__}"
        )
    check_tensor("polygamma", "input", 2, input)
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")


def polygamma(n: int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The n-th derivative of digamma, n >= 0.

    https://pytorch.org/docs/stable/generated/torch.polygamma.html

    >>> import tiny_torch as torch
    >>> torch.polygamma(1, torch.tensor([1.0, 0.5]))
    tensor([1.6449, 4.9348])
    """
    check_order(n, input)
    if out is not None:
        return write_out(Polygamma, "polygamma", out, input, n)
    return apply(Polygamma, input, n)


def polygamma_(self: Tensor, n: int) -> Tensor:
    check_order(n, self)
    return apply_inplace(Polygamma, self, n)


@public("sinc", "sin(pi x) / (pi x); 1 at 0.")
class Sinc(Op):
    saves = (0,)

    @staticmethod
    def forward(x, out=None):
        return x.sinc(out), (x,)

    @staticmethod
    def backward(saved, grad, needs):
        (x,) = saved
        angle = x * math.pi
        slope = (angle * angle.cos() - angle.sin()) / (angle * x)
        return run(Where, x == 0, 0.0, grad * slope)


class Logit(Op):
    """ln(x / (1 - x)), x being kept within [eps, 1 - eps] if eps is not negative."""

    saves = (0,)

    @staticmethod
    def forward(x, eps, out=None):
        return x.logit(eps, out), (x, eps)

    @staticmethod
    def backward(saved, grad, needs):
        x, eps = saved
        slope = grad / (x * (1 - x))
        if eps < 0:
            return run(Where, (x < 0) | (x > 1), math.nan, slope)
        return run(Where, (x < eps) | (x > 1 - eps), 0.0, slope)


def epsilon(input: Any, eps: Any) -> float:
    """The bound as a number: -1 for none."""
    check_tensor("logit", "input", 1, input)
    if eps is None:
        return -1.0
    if not isinstance(eps, int | float):
        raise TypeError(
            f"logit(): argument 'eps' (position 2) must be float, not {type(eps).__name__}"
        )
    dtype = input.dtype if input.is_floating_point() else _core.get_default_dtype()
    check_range(eps, dtype)
    return float(eps)


def logit(input: Tensor, eps: float | None = None, *, out: Tensor | None = None) -> Tensor:
    """ln(x / (1 - x)), the inverse of sigmoid; x is first kept within [eps, 1 - eps], if given.

    https://pytorch.org/docs/stable/generated/torch.logit.html
    """
    eps = epsilon(input, eps)
    return apply(Logit, input, eps) if out is None else write_out(Logit, "logit", out, input, eps)


def logit_(self: Tensor, eps: float | None = None) -> Tensor:
    return apply_inplace(Logit, self, epsilon(self, eps))


@public("logaddexp", "ln(e**input + e**other).", numbers=False, in_place=False)
class Logaddexp(Op):
    """The gradient is shared by the two terms' parts in the sum."""

    arity = 2
    broadcasts = True
    saves = (0, 1)

    @staticmethod
    def forward(x, y, out=None):
        return x.logaddexp(y, out), (x, y)

    @staticmethod
    def backward(saved, grad, needs):
        x, y = saved
        return (
            grad / ((y - x).exp() + 1) if needs[0] else None,
            grad / ((x - y).exp() + 1) if needs[1] else None,
        )


@public("logaddexp2", "log2(2**input + 2**other).", numbers=False, in_place=False)
class Logaddexp2(Op):
    arity = 2
    broadcasts = True
    saves = (0, 1)

    @staticmethod
    def forward(x, y, out=None):
        return x.logaddexp2(y, out), (x, y)

    @staticmethod
    def backward(saved, grad, needs):
        x, y = saved
        return (
            grad / ((y - x).exp2() + 1) if needs[0] else None,
            grad / ((x - y).exp2() + 1) if needs[1] else None,
        )


@public("xlogy", "input * ln(other); 0 where input is 0.", left=True)
class Xlogy(Op):
    arity = 2
    broadcasts = True
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


class Heaviside(Op):
    arity = 2

    @staticmethod
    def forward(x, values, out=None):
        return x.heaviside(values, out), ()

    @staticmethod
    def backward(saved, grad, needs):
        raise RuntimeError("derivative for aten::heaviside is not implemented")


def check_values(input: Any, values: Any) -> None:
    check_tensor("heaviside", "input", 1, input)
    check_tensor("heaviside", "values", 2, values)
    if input.dtype is not values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")


def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = None) -> Tensor:
    """0, `values` or 1 as input is below, at or above 0; both of one dtype.

    https://pytorch.org/docs/stable/generated/torch.heaviside.html
    """
    check_values(input, values)
    if out is not None:
        return write_out(Heaviside, "heaviside", out, input, values)
    return apply(Heaviside, input, values)


def heaviside_(self: Tensor, values: Tensor) -> Tensor:
    check_values(self, values)
    return apply_inplace(Heaviside, self, values)


def polygamma_method(self: Tensor, n: int) -> Tensor:
    return polygamma(n, self)


FUNCTIONS: dict[str, Callable] = {
    function.__name__: function for function in (polygamma, logit, heaviside)
}
METHODS: dict[str, Callable] = {
    **FUNCTIONS,
    "polygamma": polygamma_method,
    "polygamma_": polygamma_,
    "logit_": logit_,
    "heaviside_": heaviside_,
}
