"""Reductions made of several: variance, logsumexp; `dim` and `keepdim` as in reduce.py."""

from __future__ import annotations

import math
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply1, applyn
from tiny_torch.autograd.graph import Op, run
from tiny_torch.ops.elementwise import Cast, Where
from tiny_torch.ops.public import check_tensor, into
from tiny_torch.ops.reduce import amax, as_dims, count, spread, sum
from tiny_torch.tensor import Tensor


class Var(Op):
    """The sum of squared deviations from the mean, divided by n - correction."""

    saves = (0,)

    @staticmethod
    def forward(x, dims, keepdim, correction):
        squares = (x - x.mean(dims, True)).square()
        freedom = count(x.shape, dims) - correction
        result = squares.sum(dims, keepdim) / (freedom if freedom > 0 else 0.0)
        return result, (x, dims, keepdim, correction)

    @staticmethod
    def backward(saved, grad, needs):
        x, dims, keepdim, correction = saved
        freedom = count(x.shape, dims) - correction
        slope = grad * (2.0 / freedom if freedom else math.inf)
        return (x - x.mean(dims, True)) * spread(slope, tuple(x.shape), dims, keepdim)


class Std(Op):
    """The square root of Var; its gradient at 0 is 0."""

    saves = (0, ~0)

    @staticmethod
    def forward(x, dims, keepdim, correction):
        result = Var.forward(x, dims, keepdim, correction)[0].sqrt()
        return result, (x, result, dims, keepdim, correction)

    @staticmethod
    def backward(saved, grad, needs):
        x, result, *rest = saved
        to_variance = run(Where, result == 0, 0.0, grad / (result * 2))
        return Var.backward((x, *rest), to_variance, needs)


def var(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
    out: Any = None,
) -> Tensor:
    """The variance over `dim`, divided by n - correction (1 unless told).

    https://pytorch.org/docs/stable/generated/torch.var.html
    """
    return into(out, spread_of(Var, "var", input, dim, unbiased, keepdim, correction))


def spread_of(op, name, input, dim, unbiased, keepdim, correction):
    check_tensor(name, "input", 1, input)
    if isinstance(dim, bool):  # var(unbiased)
        dim, unbiased = None, dim
    if unbiased is not None:
        correction = float(unbiased)
    if not input.is_floating_point():
        raise RuntimeError("std and var only support floating point and complex dtypes")
    return apply1(op, input, as_dims(dim) or None, keepdim, 1 if correction is None else correction)


def std(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
    out: Any = None,
) -> Tensor:
    """The square root of the variance."""
    return into(out, spread_of(Std, "std", input, dim, unbiased, keepdim, correction))


def logsumexp(input: Tensor, dim: Any, keepdim: bool = False, *, out: Any = None) -> Tensor:
    """log(sum(exp(x))) over `dim`, without overflow."""
    check_tensor("logsumexp", "input", 1, input)
    if out is not None and not out.is_floating_point():
        raise RuntimeError(f"logsumexp(): Expected floating point result tensor, got {out.dtype}")
    if not input.is_floating_point():
        input = apply1(Cast, input, _core.get_default_dtype())
    dims = as_dims(dim)
    if input.numel() == 0:  # there may be no largest element to subtract
        return into(out, sum(input.exp(), dims, keepdim).log())
    top = amax(input.detach(), dims, True)
    top = applyn(Where, (top.abs() == math.inf, 0.0, top))
    total = sum((input - top).exp(), dims, True).log() + top
    return into(out, total if keepdim else total.squeeze(dims))


FUNCTIONS = {f.__name__: f for f in (var, std, logsumexp)}
METHODS = FUNCTIONS
