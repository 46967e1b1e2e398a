"""Reductions made of several: variance, norms, logsumexp; `dim` and `keepdim` as in reduce.py."""

from __future__ import annotations

import math
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply1, applyn
from tiny_torch.autograd.graph import Op, run
from tiny_torch.ops.elementwise import Cast, Where
from tiny_torch.ops.public import check_tensor, into
from tiny_torch.ops.reduce import amax, amin, as_dims, count, spread, sum
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


def norm(
    input: Tensor,
    p: Any = "fro",
    dim: Any = None,
    keepdim: bool = False,
    out: Any = None,
    dtype: Any = None,
) -> Tensor:
    """The p-norm of the elements over `dim`: p is a number, inf, -inf or "fro" (2).

    https://pytorch.org/docs/stable/generated/torch.norm.html
    """
    check_tensor("norm", "input", 1, input)
    if p == "nuc":
        raise NotImplementedError("norm(p='nuc')")
    x = input if dtype is None else apply1(Cast, input, dtype)
    if not x.is_floating_point():
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            f"{x.dtype}"
        )
    if out is not None and out.dtype is not x.dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {x.dtype}, but got {out.dtype}")
    return into(out, norm_of_floats(x, p, as_dims(dim), keepdim))


def norm_of_floats(x: Tensor, p: Any, dims: tuple | None, keepdim: bool) -> Tensor:
    if p is None or p == "fro" or p == 2:
        return apply1(Norm2, x, dims, keepdim)
    magnitude = x.abs()
    if abs(p) == math.inf and any_empty(x.array.shape, dims):
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {p} norm on the dimension of size 0 of shape "
            f"{list(x.shape)} because the operation does not have an identity"
        )
    if p == math.inf:
        return amax(magnitude, dims or (), keepdim)
    if p == -math.inf:
        return amin(magnitude, dims or (), keepdim)
    if p == 0:
        return sum(apply1(IsNonzero, x), dims, keepdim)
    if p == 1:
        return sum(magnitude, dims, keepdim)
    return sum(magnitude**p, dims, keepdim) ** (1.0 / p)


def any_empty(shape: tuple, dims: tuple | None) -> bool:
    return 0 in ([shape[d] for d in dims] if dims and shape else shape)


class IsNonzero(Op):
    """1 or 0, in x's dtype."""

    @staticmethod
    def forward(x):
        return (x != 0).astype(x.dtype), ()

    @staticmethod
    def backward(saved, grad, needs):
        return grad * 0


class Norm2(Op):
    """The gradient at 0 is 0."""

    saves = (0, ~0)

    @staticmethod
    def forward(x, dims, keepdim):
        y = x.square().sum(dims, keepdim).sqrt()
        return y, (x, y, dims, keepdim)

    @staticmethod
    def backward(saved, grad, needs):
        x, y, dims, keepdim = saved
        shape = tuple(x.shape)
        whole = spread(y, shape, dims, keepdim)
        direction = run(Where, whole == 0, 0.0, x / whole)
        return direction * spread(grad, shape, dims, keepdim)


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


FUNCTIONS = {f.__name__: f for f in (var, std, norm, logsumexp)}
METHODS = FUNCTIONS
