"""Norms of vectors and matrices, over any dims."""

from __future__ import annotations

import math

from tiny_torch.autograd.graph import Op
from tiny_torch.base.devices import array_module
from tiny_torch.base.dtypes import HALVES
from tiny_torch.ops.elementwise.cast import narrow, widen
from tiny_torch.ops.linalg.lapack import in_tensors
from tiny_torch.ops.reduce.sums import count, spread


class LinalgVectorNorm(Op):
    """(sum |x|^p)^(1/p); half types are summed in float32. The gradient at 0 is 0."""

    saves = (0, ~0)
    autocast = "float32 on cuda"

    @staticmethod
    def forward(x, p, dims, keepdim):
        # the kernel of p = 2 does so by itself
        result = power_norm(x if p == 2 else widen(x), p, dims, keepdim)
        if result.dtype is not x.dtype:
            result = result.astype(x.dtype)
        return result, (x, result, p, dims, keepdim)

    @staticmethod
    @in_tensors
    def backward(saved, grad, needs):
        x, norm, p, dims, keepdim = saved
        if x.dtype in HALVES:
            wide = (widen(x), widen(norm), p, dims, keepdim)
            slope = LinalgVectorNorm.backward(wide, widen(grad), needs)
            return None if slope is None else narrow(slope, x.dtype)
        shape, length = tuple(x.shape), norm
        norm, grad = spread(norm, shape, dims, keepdim), spread(grad, shape, dims, keepdim)
        zero = norm.detach() == 0
        if p == 0:
            return None
        if p == 1:
            return grad * x.sign()
        if abs(p) == math.inf:  # extremes that are equal share the gradient
            at, value = x.detach().abs(), norm.detach()
            found = ((at == value) | ((at != at) & (value != value))).to(x.dtype)
            return x.sign() * (found / found.sum(dims, True)) * grad
        # Powers of it are in range where those of x are not.
        # At 0 the norm of p = 2 has no second derivative: NaN, by 0 / 0, as in PyTorch.
        unit = norm if p == 2 else norm.masked_fill(zero, 1)
        share = (x / unit).masked_fill(zero, 0)
        if p == 2:
            return grad * share
        if p >= 3:
            return share * share.abs() ** (p - 2) * grad
        # The power of a 0 has no finite slope, and must not make that of the others NaN.
        still = zero | ((x.detach() == 0) & (norm.detach() == norm.detach()))
        if p > 0:  # both powers are in range where the share is not
            power = length.masked_fill(length.detach() == 0, 1) ** (1 - p)
            base = x.masked_fill(still, 1).abs() ** (p - 1) * spread(power, shape, dims, keepdim)
        else:
            base = share.masked_fill(still, 1).abs() ** (p - 1)
        return (x.sign() * base).masked_fill(still, 0) * grad


def power_norm(x, p, dims, keepdim):
    if p != 0 and count(x.shape, dims) == 1:
        p = 1  # a single number is its own norm, however large
    if p == 2:
        return array_module(x.device).variance(x, dims, keepdim, 1.0, True, False)
    if p == 0:
        return (x != 0).astype(x.dtype).sum(dims, keepdim)
    x = x.abs()
    if abs(p) == math.inf:
        return x.amax(dims, keepdim) if p > 0 else x.amin(dims, keepdim)
    if p == 1:
        return x.sum(dims, keepdim)
    if x.size == 0:
        return (x**p).sum(dims, keepdim) ** (1.0 / p)
    # Over the largest term, a power of which may be beyond any float.
    unit = x.amax(dims, True) if p > 0 else x.amin(dims, True)
    unit.masked_fill_((unit == 0) | (unit == math.inf), 1)
    total = ((x / unit) ** p).sum(dims, True) ** (1.0 / p) * unit
    return total if keepdim or not x.ndim else total.reshape(x.sum(dims, keepdim).shape)
