"""Special functions with arguments of their own: polygamma, mvlgamma, logit, heaviside; i1."""

from __future__ import annotations

import math
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply, apply_inplace
from tiny_torch.autograd.op_mode import as_one
from tiny_torch.base.arguments import as_int
from tiny_torch.base.dtypes import check_range, scalar_type
from tiny_torch.functions.common import check_kind, into, write_out
from tiny_torch.functions.creation.ranges import arange
from tiny_torch.functions.public import function, function_and_method, method
from tiny_torch.ops.elementwise.special import I1, Heaviside, Logit, Polygamma
from tiny_torch.tensor import Tensor


def check_order(n: Any, input: Any) -> None:
    if as_int("polygamma", "n", 1, n) < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")


@function
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


@method
def polygamma_(self: Tensor, n: int) -> Tensor:
    check_order(n, self)
    return apply_inplace(Polygamma, self, n)


@function_and_method
@as_one
def mvlgamma(input: Tensor, p: int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function of p dimensions, elementwise.

    That is log(pi) p (p - 1) / 4 and the sum of lgamma(x - j / 2), j < p. Floating dtypes, and
    integers as the default one; RuntimeError for bools, and for p below 1.
    https://pytorch.org/docs/stable/generated/torch.mvlgamma.html

    >>> import tiny_torch as torch
    >>> torch.mvlgamma(torch.tensor([3.0, 4.0]), 2)
    tensor([1.5502, 3.5651])
    """
    p = as_int("mvlgamma", "p", 2, p)
    if input.dtype is _core.bool:
        raise RuntimeError("The input tensor may not be a boolean tensor.")
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    x = input if input.is_floating_point() else input.to(_core.get_default_dtype())
    shifts = arange((1 - p) / 2, 0.5, 0.5, dtype=x.dtype, device=x.device)  # (p,)
    terms = x.unsqueeze(-1).add(shifts).lgamma()  # (..., p)
    return into(out, terms.sum(-1).add(p * (p - 1) * math.log(math.pi) / 4))


@method
def mvlgamma_(self: Tensor, p: int) -> Tensor:
    if not self.is_floating_point() and p >= 1:
        kinds = scalar_type(self.dtype), scalar_type(_core.get_default_dtype())
        raise RuntimeError(
            "mvlgamma: result type {} can't be cast to the desired output type {}".format(*kinds)
        )
    return self.copy_(mvlgamma(self.clone(), p))


def i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind, of order 1: the derivative of i0.

    Floating dtypes, and integers as the default one.
    https://pytorch.org/docs/stable/special.html#torch.special.i1

    >>> import tiny_torch as torch
    >>> torch.special.i1(torch.tensor([0.0, 1.0, -2.0]))
    tensor([ 0.0000,  0.5652, -1.5906])
    """
    return apply(I1, input) if out is None else write_out(I1, "special_i1", out, input)


def epsilon(input: Any, eps: Any) -> float:
    """The bound as a number: -1 for none."""
    if eps is None:
        return -1.0
    check_kind("logit", "eps", 2, eps, "float", int | float)
    dtype = input.dtype if input.is_floating_point() else _core.get_default_dtype()
    check_range(eps, dtype)
    return float(eps)


@function_and_method
def logit(input: Tensor, eps: float | None = None, *, out: Tensor | None = None) -> Tensor:
    """ln(x / (1 - x)), the inverse of sigmoid; x is first kept within [eps, 1 - eps], if given.

    https://pytorch.org/docs/stable/generated/torch.logit.html
    """
    eps = epsilon(input, eps)
    return apply(Logit, input, eps) if out is None else write_out(Logit, "logit", out, input, eps)


@method
def logit_(self: Tensor, eps: float | None = None) -> Tensor:
    return apply_inplace(Logit, self, epsilon(self, eps))


def check_values(input: Any, values: Any) -> None:
    if input.dtype is not values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")


@function_and_method
def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = None) -> Tensor:
    """0, `values` or 1 as input is below, at or above 0; both of one dtype.

    https://pytorch.org/docs/stable/generated/torch.heaviside.html
    """
    check_values(input, values)
    if out is not None:
        return write_out(Heaviside, "heaviside", out, input, values)
    return apply(Heaviside, input, values)


@method
def heaviside_(self: Tensor, values: Tensor) -> Tensor:
    check_values(self, values)
    return apply_inplace(Heaviside, self, values)


@method("polygamma")
def polygamma_method(self: Tensor, n: int) -> Tensor:
    return polygamma(n, self)
