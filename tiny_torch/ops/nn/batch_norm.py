"""Batch and group norm: the fewest passes forward and backward, as in layer_norm.py."""

from __future__ import annotations

import math

from tiny_torch import _core
from tiny_torch.autograd.grad_mode import no_grad
from tiny_torch.autograd.graph import Op
from tiny_torch.base.devices import array_module
from tiny_torch.ops.nn.layer_norm import check_on_meta, like, normalise, scale_and_shift
from tiny_torch.tensor import Tensor, wrap


class NativeBatchNorm(Op):
    """(x, weight, bias): the statistics of each channel; the running ones are brought up to date.

    Without `training` those are used. They are arrays, no inputs, so nothing of them is recorded:
    `statistics_of` in functions/nn/batch_norm.py takes them from tensors that need no gradient.
    """

    arity = 3
    saves = (0, 1, 2)
    overwrites = True
    aten = "batch_norm"
    words = "x:input"
    cost = "lines"

    @staticmethod
    def forward(x, weight, bias, running_mean, running_var, training, momentum, eps):
        y, stats = array_module(x.device).batch_norm(
            x, weight, bias, running_mean, running_var, 0, training, momentum, eps
        )
        used = (None, None) if training else (running_mean, running_var)
        bias = unread(bias)  # `used` must not be written
        return y, (x, weight, bias, stats, 0, not training, *used)

    @staticmethod
    def backward(saved, grad, needs, overwrite=False):
        x, weight, bias, stats, groups, constant = saved[:6]
        dx, of_weight, of_bias = array_module(x.device).batch_norm_backward(
            grad, x, weight, stats, groups, constant, needs[0], overwrite
        )
        return dx, like(of_weight, weight, needs[1]), like(of_bias, bias, needs[2])

    @staticmethod
    def composite(x, weight, bias, running_mean, running_var, training, momentum, eps):
        rest = (running_mean, running_var, training, momentum, eps)
        check_on_meta(NativeBatchNorm, (x, weight, bias, *rest))
        if training and not isinstance(x.array, _core.NDArray):
            update_on_ref((running_mean, running_var), x, momentum, samples=False)
        shape = (1, -1) + (1,) * (x.ndim - 2)
        weight = None if weight is None else weight.view(shape)
        bias = None if bias is None else bias.view(shape)
        if training:
            return scale_and_shift(normalise(x, (0, *range(2, x.ndim)), eps), weight, bias)
        mean, var = wrap(running_mean).view(shape), wrap(running_var).view(shape)
        return scale_and_shift((x - mean) * (var + eps).rsqrt(), weight, bias)

    @staticmethod
    def writes(x, weight, bias, running_mean, running_var, training, *rest):
        return (running_mean, running_var) if training else ()


class NativeGroupNorm(NativeBatchNorm):
    """(x, weight, bias): the statistics of groups of channels, for each sample.

    With as many groups as channels it is instance norm, which may have running statistics.
    """

    aten = "group_norm"
    autocast = "float32 on cuda"

    @staticmethod
    def forward(x, weight, bias, groups, eps, running_mean=None, running_var=None, momentum=0.0):
        y, stats = array_module(x.device).batch_norm(
            x, weight, bias, running_mean, running_var, groups, True, momentum, eps
        )
        return y, (x, weight, unread(bias), stats, groups, False)

    @staticmethod
    def composite(x, weight, bias, groups, eps, running_mean=None, running_var=None, momentum=0.0):
        rest = (running_mean, running_var, momentum)
        check_on_meta(NativeGroupNorm, (x, weight, bias, groups, eps, *rest))
        if not isinstance(x.array, _core.NDArray):
            update_on_ref(rest[:2], x, momentum, samples=True)
        shape = (1, -1) + (1,) * (x.ndim - 2)
        weight = None if weight is None else weight.view(shape)
        bias = None if bias is None else bias.view(shape)
        size = math.prod(x.shape[1:]) // groups  # not -1, for a batch may be empty
        y = normalise(x.reshape((x.shape[0], groups, size)), (2,), eps)
        return scale_and_shift(y.reshape(x.shape), weight, bias)

    @staticmethod
    def writes(x, weight, bias, groups, eps, *running):
        return running[:2]


def unread(bias):
    """The bias as it is saved: no gradient is computed from its values, so they may be written."""
    return None if bias is None else bias.alias()


def update_on_ref(running: tuple, x: Tensor, momentum: float, samples: bool) -> None:
    """On `ref`, what the kernel does to the running mean and variance; per sample, for instance
    norm."""
    if running == (None, None):
        return
    dims = tuple(range(2, x.ndim)) if samples else (0, *range(2, x.ndim))
    with no_grad():
        for statistic, batch in zip(running, (x.mean(dims), x.var(dims)), strict=True):
            if statistic is not None:
                batch = batch.mean(0) if samples else batch
                statistic = wrap(statistic)
                statistic.copy_((1 - momentum) * statistic + momentum * batch)
