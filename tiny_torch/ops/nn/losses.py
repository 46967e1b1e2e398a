"""Losses of pairs (input, target): each one pass forward, sum included, and one backward.

The records of ops.def are those of one element; `total_...` adds them up without a temporary.
`composite` is each one's explanation, of which second derivatives are made.
"""

from __future__ import annotations

from typing import Any

from tiny_torch.autograd.graph import Op, run
from tiny_torch.base.devices import array_module
from tiny_torch.ops.common import no_derivative, scale_by
from tiny_torch.ops.elementwise.arithmetic import Where
from tiny_torch.ops.nn.activation import LogSigmoid
from tiny_torch.tensor import Tensor, wrap


def reduce_loss(loss: Tensor, reduction: str) -> Tensor:
    if reduction == "mean":
        return loss.mean()
    return loss.sum() if reduction == "sum" else loss


class Loss(Op):
    """A record of ops.def, its elements added up in the same pass; `reduction` is a word."""

    arity = 2
    saves: tuple[int | None, ...] = (0, 1)

    def __init_subclass__(cls, record: str = "") -> None:
        if not record:  # it adds to what such losses share
            return

        def forward(x, target, reduction, *settings):
            if reduction == "none":
                return getattr(x, record)(target, *settings), (x, target, 1.0, *settings)
            mean, scale = reduction == "mean", 1.0
            if mean:
                scale = 1.0 / x.size if x.size else float("nan")
            total = getattr(array_module(x.device), "total_" + record)
            return total(x, target, *settings, mean), (x, target, scale, *settings)

        def to_input(saved, grad):
            x, target, scale, *settings = saved
            return getattr(scale_by(grad, scale), record + "_backward")(x, target, *settings)

        cls.forward, cls.to_input = staticmethod(forward), staticmethod(to_input)

    to_input: Any = None  # (saved, grad): the gradient of x


class Distance(Loss):
    """Losses that depend on x - target alone."""

    broadcasts = True

    @classmethod
    def backward(cls, saved, grad, needs):
        change = cls.to_input(saved, grad)
        return change, -change if needs[1] else None


class MseLoss(Distance, record="mse_loss"):
    cost = "loss"
    autocast = "float32"

    @staticmethod
    def composite(x, target, reduction):
        distance = x - target
        return reduce_loss(distance * distance, reduction)


class AbsoluteError(Distance, record="l1_loss"):
    @staticmethod
    def composite(x, target, reduction):
        return reduce_loss((x - target).abs(), reduction)


class L1Loss(AbsoluteError):
    """Only the distance is kept of its gradient, as in PyTorch: input and target may be written."""

    saves = (None,)
    used_by = ((0, 1),)
    piecewise = True
    autocast = "float32"

    @staticmethod
    def forward(x, target, reduction):
        loss, (_, _, scale) = AbsoluteError.forward(x, target, reduction)
        return loss, (lambda: x - target, scale)

    @staticmethod
    def to_input(saved, grad):
        distance, scale = saved
        grad = scale_by(grad, scale)
        if hasattr(grad, "array"):
            return grad * distance.sign()
        return grad.l1_loss_backward(distance, 0.0)

    @staticmethod
    def node_name(saved, node):
        names = {"mean": "MeanBackward0", "sum": "SumBackward0"}
        return names.get(node.constants[0], "AbsBackward0")


class SmoothL1Loss(Distance, record="smooth_l1_loss"):
    words = "settings:beta"
    autocast = "float32"

    @staticmethod
    def composite(x, target, reduction, beta):
        change = x - target
        distance = change.abs()
        near = change.square() * (0.5 / beta)  # smooth, which the square of a distance is not
        return reduce_loss(run(Where, distance < beta, near, distance - 0.5 * beta), reduction)


class HuberLoss(Distance, record="huber_loss"):
    words = "settings:delta"

    @staticmethod
    def composite(x, target, reduction, delta):
        change = x - target
        distance = change.abs()
        far = delta * (distance - 0.5 * delta)
        return reduce_loss(run(Where, distance < delta, 0.5 * change.square(), far), reduction)


class BinaryCrossEntropy(Loss, record="binary_cross_entropy"):
    """-(t log x + (1 - t) log(1 - x)); NaN where x or t is outside of [0, 1].

    At the ends of [0, 1] log's gradient is infinite: there it is (x - t) / 1e-12.
    """

    @staticmethod
    def backward(saved, grad, needs):
        x, _, scale = saved
        to_target = None
        if needs[1]:
            to_target = scale_by(grad, scale) * ((-x).log1p() - x.log())
        return BinaryCrossEntropy.to_input(saved, grad), to_target

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
        slope = (value - target) / 1e-12
        step = x - value  # 0, with x's history
        curve = (value * value - 2 * value * target + target) * 0.5e24
        end = step * (slope + step * curve) - (target * logs[0] + (1 - target) * logs[1])
        return reduce_loss(run(Where, at_end, end, inside), reduction)


class BinaryCrossEntropyWithLogits(Loss, record="bce_with_logits"):
    """That of sigmoid(x), stably; the positive weight multiplies the t log x, and is a constant."""

    @staticmethod
    def backward(saved, grad, needs):
        x, _, scale, weight = saved
        to_target = None
        if needs[1]:
            to_target = scale_by(grad, scale) * ((-x).log_sigmoid() - weight * x.log_sigmoid())
        return BinaryCrossEntropyWithLogits.to_input(saved, grad), to_target

    @staticmethod
    def composite(x, target, reduction, weight):
        weight = weight if isinstance(weight, float) else wrap(weight)
        log = LogSigmoid.composite(x)
        return reduce_loss((1 - target) * x - (1 + (weight - 1) * target) * log, reduction)


# -------------------------------------------------------------------------------- over classes


class MultilabelMarginLoss(Op):
    """The loss of each row, (N), from rows (N, C) and their class numbers before a -1."""

    saves = (0,)
    autocast = "float32"

    @staticmethod
    def forward(x, targets):
        return array_module(x.device).multilabel_margin(x, targets), (x, targets)

    @staticmethod
    def backward(saved, grad, needs):
        return run(MultilabelMarginLossBackward, grad, *saved)


class MultilabelMarginLossBackward(Op):
    arity = 2

    @staticmethod
    def forward(grad, x, targets):
        return array_module(x.device).multilabel_margin_backward(grad, x, targets), ()

    backward = no_derivative("multilabel_margin_loss_backward")
