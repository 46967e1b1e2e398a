"""Layer, RMS, batch, group and instance norm: the fewest passes forward and backward.

Forward reads x once from memory and writes y; the mean and 1 / sqrt(variance + eps) of each set of
elements are kept for backward, which finds two sums per set and writes the gradient.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.grad_mode import no_grad
from tiny_torch.autograd.graph import Op
from tiny_torch.devices import array_module
from tiny_torch.ops.elementwise import narrowed
from tiny_torch.tensor import Tensor, wrap


def normalised(x: Tensor, dims: Sequence[int], eps: float, centered: bool = True) -> Tensor:
    """x less its mean, over the root of its variance, both along dims; of halves, in float32."""
    if x.dtype.itemsize == 2:  # whose rsqrt has a derivative beyond float16
        return normalised(x.float(), dims, eps, centered).to(x.dtype)
    if centered:
        x = x - x.mean(dims, keepdim=True)
    return x * ((x * x).mean(dims, keepdim=True) + eps).rsqrt()


def scaled(y: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


class NativeLayerNorm(Op):
    arity = 3
    saves = (0, 1, 2)
    overwrites = True
    centered = True

    @classmethod
    def forward(cls, x, weight, bias, dims, eps):
        module = array_module(x.device)
        y, stats = module.layer_norm(x, dims, weight, bias, eps, cls.centered)
        return y, (x, weight, bias, stats, dims)

    @classmethod
    def backward(cls, saved, grad, needs, overwrite=False):
        x, weight, bias, stats, dims = saved
        dx, of_weight, of_bias = array_module(x.device).layer_norm_backward(
            grad, x, weight, stats, dims, cls.centered, needs[1] or needs[2], overwrite
        )
        return dx, like(of_weight, weight, needs[1]), like(of_bias, bias, needs[2])

    @classmethod
    def composite(cls, x, weight, bias, dims, eps):
        y = normalised(x, tuple(range(-dims, 0)), eps, cls.centered)
        return scaled(y, weight, bias)


class RmsNorm(NativeLayerNorm):
    centered = False


class NativeBatchNorm(Op):
    """(x, weight, bias): the statistics of each channel; the running ones are brought up to date.

    Without `training` those are used.
    """

    arity = 3
    saves = (0, 1, 2)
    overwrites = True

    @staticmethod
    def forward(x, weight, bias, running_mean, running_var, training, momentum, eps):
        y, mean, rstd = array_module(x.device).batch_norm(
            x, weight, bias, running_mean, running_var, 0, training, momentum, eps
        )
        used = (None, None) if training else (running_mean, running_var)
        return y, (x, weight, bias, mean, rstd, training, *used)  # those must not be written

    @staticmethod
    def backward(saved, grad, needs, overwrite=False):
        x, weight, bias, mean, rstd, training = saved[:6]
        dx, of_weight, of_bias = array_module(x.device).batch_norm_backward(
            grad, x, weight, mean, rstd, 0, not training, needs[0], overwrite
        )
        return dx, like(of_weight, weight, needs[1]), like(of_bias, bias, needs[2])

    @staticmethod
    def composite(x, weight, bias, running_mean, running_var, training, momentum, eps):
        shape = (1, -1) + (1,) * (x.ndim - 2)
        weight = None if weight is None else weight.view(shape)
        bias = None if bias is None else bias.view(shape)
        if training:
            return scaled(normalised(x, (0, *range(2, x.ndim)), eps), weight, bias)
        mean, var = wrap(running_mean).view(shape), wrap(running_var).view(shape)
        return scaled((x - mean) * (var + eps).rsqrt(), weight, bias)


class NativeGroupNorm(Op):
    """(x, weight, bias): the statistics of groups of channels, for each sample.

    With as many groups as channels it is instance norm, which may have running statistics.
    """

    arity = 3
    saves = (0, 1, 2)
    overwrites = True

    @staticmethod
    def forward(x, weight, bias, groups, eps, running_mean=None, running_var=None, momentum=0.0):
        y, mean, rstd = array_module(x.device).batch_norm(
            x, weight, bias, running_mean, running_var, groups, True, momentum, eps
        )
        return y, (x, weight, bias, mean, rstd, groups)

    @staticmethod
    def backward(saved, grad, needs, overwrite=False):
        x, weight, bias, mean, rstd, groups = saved
        dx, of_weight, of_bias = array_module(x.device).batch_norm_backward(
            grad, x, weight, mean, rstd, groups, False, needs[0], overwrite
        )
        return dx, like(of_weight, weight, needs[1]), like(of_bias, bias, needs[2])

    @staticmethod
    def composite(x, weight, bias, groups, eps, *running):
        shape = (1, -1) + (1,) * (x.ndim - 2)
        weight = None if weight is None else weight.view(shape)
        bias = None if bias is None else bias.view(shape)
        size = math.prod(x.shape[1:]) // groups  # not -1, for a batch may be empty
        y = normalised(x.reshape((x.shape[0], groups, size)), (2,), eps)
        return scaled(y.reshape(x.shape), weight, bias)


def like(grad: Any, weight: Any, needed: bool) -> Any:
    """A gradient in the shape and dtype of its weight."""
    if not needed:
        return None
    grad = grad if grad.shape == weight.shape else grad.view(weight.shape)
    return narrowed(grad, weight.dtype)


def update_on_ref(running: tuple, x: Tensor, momentum: float, samples: bool) -> None:
    """What the kernel does to the running mean and variance; per sample, for instance norm."""
    dims = tuple(range(2, x.ndim)) if samples else (0, *range(2, x.ndim))
    with no_grad():
        for statistic, batch in zip(running, (x.mean(dims), x.var(dims)), strict=True):
            if statistic is not None:
                batch = batch.mean(0) if samples else batch
                statistic.copy_((1 - momentum) * statistic + momentum * batch)


# ------------------------------------------------------------------------------ for nn.functional


def layer_norm(
    x: Tensor, dims: int, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    """Over the last `dims` dims, of whose shape weight and bias are."""
    return apply(NativeLayerNorm, x, weight, bias, dims, eps)


def rms_norm(x: Tensor, dims: int, weight: Tensor | None, eps: float) -> Tensor:
    return apply(RmsNorm, x, weight, None, dims, eps)


def batch_norm(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Tensor:
    """x (N, C, *); the others (C)."""
    if training and x.array.device == "ref":
        update_on_ref((running_mean, running_var), x, momentum, samples=False)
    running = [None if r is None else r.array for r in (running_mean, running_var)]
    return apply(NativeBatchNorm, x, weight, bias, *running, training, momentum, eps)


def group_norm(
    x: Tensor, groups: int, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    """x (N, C, *); weight and bias (C)."""
    return apply(NativeGroupNorm, x, weight, bias, groups, eps)


def instance_norm(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
) -> Tensor:
    """x (N, C, *); the others (C)."""
    if x.array.device == "ref":
        update_on_ref((running_mean, running_var), x, momentum, samples=True)
    running = [None if r is None else r.array for r in (running_mean, running_var)]
    groups = x.shape[1]
    return apply(NativeGroupNorm, x, weight, bias, groups, eps, *running, momentum)
