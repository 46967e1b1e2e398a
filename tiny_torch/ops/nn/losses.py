"""Losses of pairs (input, target): each one pass forward, sum included, and one backward.

The records of ops.def are those of one element; `total_...` adds them up without a temporary.
`composite` is each one's explanation, of which second derivatives are made.
"""

from __future__ import annotations

from typing import Any

from tiny_torch.autograd.graph import Op, run
from tiny_torch.devices import array_module
from tiny_torch.ops.common import refuse_tensors
from tiny_torch.ops.elementwise.arithmetic import Where
from tiny_torch.tensor import Tensor, wrap


def forward_of(record: str, x: Any, target: Any, reduction: str, *settings: Any) -> tuple:
    if reduction == "none":
        return getattr(x, record)(target, *settings), (x, target, 1.0, *settings)
    total = getattr(array_module(x.device), "total_" + record)
    scale = 1.0
    if reduction == "mean":
        scale = 1.0 / x.size if x.size else float("nan")
    return total(x, target, *settings, reduction == "mean"), (x, target, scale, *settings)


def backward_of(record: str, saved: tuple, grad: Any) -> Any:
    x, target, scale, *settings = saved
    return getattr(scaled(grad, scale), record + "_backward")(x, target, *settings)


def scaled(grad: Any, scale: float) -> Any:
    return grad if scale == 1.0 else grad * scale


def reduced(loss: Tensor, reduction: str) -> Tensor:
    if reduction == "mean":
        return loss.mean()
    return loss.sum() if reduction == "sum" else loss


class Distance(Op):
    """What the losses share that depend on x - target alone."""

    arity = 2
    broadcasts = True
    saves = (0, 1)


class MseLoss(Distance):
    @staticmethod
    def forward(x, target, reduction):
        return forward_of("mse_loss", x, target, reduction)

    @staticmethod
    def backward(saved, grad, needs):
        change = backward_of("mse_loss", saved, grad)
        return change, -change if needs[1] else None

    @staticmethod
    def composite(x, target, reduction):
        return reduced((x - target).square(), reduction)


class L1Loss(Distance):
    @staticmethod
    def forward(x, target, reduction):
        return forward_of("l1_loss", x, target, reduction)

    @staticmethod
    def backward(saved, grad, needs):
        change = backward_of("l1_loss", saved, grad)
        return change, -change if needs[1] else None

    @staticmethod
    def composite(x, target, reduction):
        return reduced((x - target).abs(), reduction)


class SmoothL1Loss(Distance):
    @staticmethod
    def forward(x, target, reduction, beta):
        return forward_of("smooth_l1_loss", x, target, reduction, beta)

    @staticmethod
    def backward(saved, grad, needs):
        change = backward_of("smooth_l1_loss", saved, grad)
        return change, -change if needs[1] else None

    @staticmethod
    def composite(x, target, reduction, beta):
        distance = (x - target).abs()
        near = distance.square() * (0.5 / beta)
        return reduced(run(Where, distance < beta, near, distance - 0.5 * beta), reduction)


class HuberLoss(Distance):
    @staticmethod
    def forward(x, target, reduction, delta):
        return forward_of("huber_loss", x, target, reduction, delta)

    @staticmethod
    def backward(saved, grad, needs):
        change = backward_of("huber_loss", saved, grad)
        return change, -change if needs[1] else None

    @staticmethod
    def composite(x, target, reduction, delta):
        distance = (x - target).abs()
        far = delta * (distance - 0.5 * delta)
        return reduced(run(Where, distance <= delta, 0.5 * distance.square(), far), reduction)


class BinaryCrossEntropy(Op):
    """-(t log x + (1 - t) log(1 - x)); NaN where x or t is outside of [0, 1].

    At the ends of [0, 1] log's gradient is infinite: there it is (x - t) / 1e-12.
    """

    arity = 2
    saves = (0, 1)

    @staticmethod
    def forward(x, target, reduction):
        return forward_of("binary_cross_entropy", x, target, reduction)

    @staticmethod
    def backward(saved, grad, needs):
        x, _, scale = saved
        to_target = None
        if needs[1]:
            to_target = scaled(grad, scale) * ((-x).log1p() - x.log())
        return backward_of("binary_cross_entropy", saved, grad), to_target

    @staticmethod
    def composite(x, target, reduction):
        if x.dtype.itemsize == 2:  # 1e-12 is 0 in float16
            wide = BinaryCrossEntropy.composite(x.float(), target.float(), reduction)
            return wide.to(x.dtype)
        value = x.detach()
        at_end = value * (1 - value) < 1e-12
        inner = x.masked_fill(at_end, 0.5)
        inside = -(target * inner.log() + (1 - target) * (-inner).log1p())
        logs = value.log().clamp_min(-100), (-value).log1p().clamp_min(-100)
        slope = (value - target.detach()) / 1e-12
        end = (x - value) * slope - (target * logs[0] + (1 - target) * logs[1])
        return reduced(run(Where, at_end, end, inside), reduction)


class BinaryCrossEntropyWithLogits(Op):
    """That of sigmoid(x), stably; the positive weight multiplies the t log x, and is a constant."""

    arity = 2
    saves = (0, 1)

    @staticmethod
    def forward(x, target, reduction, weight):
        return forward_of("bce_with_logits", x, target, reduction, weight)

    @staticmethod
    def backward(saved, grad, needs):
        x, _, scale, weight = saved
        to_target = None
        if needs[1]:
            to_target = scaled(grad, scale) * ((-x).log_sigmoid() - weight * x.log_sigmoid())
        return backward_of("bce_with_logits", saved, grad), to_target

    @staticmethod
    def composite(x, target, reduction, weight):
        weight = weight if isinstance(weight, float) else wrap(weight)
        log = x.minimum(x.new_zeros(())) - (-x.abs()).exp().log1p()
        return reduced((1 - target) * x - (1 + (weight - 1) * target) * log, reduction)


# -------------------------------------------------------------------------------- over classes


class MultilabelMarginLoss(Op):
    """The loss of each row, (N), from rows (N, C) and their class numbers before a -1."""

    saves = (0,)

    @staticmethod
    def forward(x, targets):
        return array_module(x.device).multilabel_margin(x, targets), (x, targets)

    @staticmethod
    def backward(saved, grad, needs):
        refuse_tensors("multilabel_margin_loss_backward", grad)
        x, targets = saved
        return array_module(x.device).multilabel_margin_backward(grad, x, targets)
