"""Cross-entropy and nll_loss of classes, or of class probabilities, along one dim.

Beside its inputs cross-entropy keeps three numbers per line: the largest logit, the log of the sum
and the weight of the target. Neither probabilities nor their logarithms are ever stored.
"""

from __future__ import annotations

from tiny_torch._core import bfloat16, float16, float32, float64, int64
from tiny_torch.autograd.graph import Op, run
from tiny_torch.base.devices import array_module
from tiny_torch.ops.nn.softmax import LogSoftmax

NONE, MEAN, SUM = range(3)


def nll_name(ndim: int, reduction: int) -> str:
    if ndim <= 2:
        return "NllLossBackward0"
    return "ViewBackward0" if ndim != 4 and reduction == NONE else "NllLoss2DBackward0"


class CrossEntropy(Op):
    """(logits, target, weight or None) -> the loss; `target` as nll_loss has it, or probabilities.

    Smoothing moves a share of the target evenly to all classes.
    """

    arity = 3
    saves = (0, 1, 2)
    keeps_data = (0, 1, 2)
    overwrites = True  # the logits by their gradient: in a language model the largest array of all
    aten = "cross_entropy_loss"
    words = "x:logits"
    cost = "loss"
    autocast = "float32"

    @staticmethod
    def forward(x, target, weight, *options):
        loss, stats = array_module(x.device).cross_entropy(x, target, weight, *options)
        return loss, (x.kept(), target, weight, stats, *options)

    @staticmethod
    def backward(saved, grad, needs, overwrite=False):
        x, target, weight, stats, *options = saved
        dx = dtarget = None
        module = array_module(x.device)
        if needs[1]:
            dim, reduction, _, smoothing = options
            factor = grad * (smoothing - 1)
            if reduction == MEAN:
                factor = factor / (x.size // x.shape[dim])
            elif reduction == NONE:
                factor = factor.unsqueeze(dim)
            if weight is not None:
                factor = factor * along(weight, x.ndim, dim)
            dtarget = module.softmax(x, dim, True) * factor
        if needs[0]:
            more = (*options, True) if overwrite else options
            dx = module.cross_entropy_backward(grad, x, target, weight, stats, *more)
        return dx, dtarget, None

    @classmethod
    def in_float32(cls, x, target, weight, *_):
        """The op that answers for halves in float32, where it needs no copies; or None."""
        fits = target.dtype is int64 and (weight is None or weight.dtype is not float64)
        return CrossEntropyInFloat32 if fits and x.dtype in (float16, bfloat16) else None

    @staticmethod
    def composite(x, target, weight, dim, reduction, ignore_index, smoothing):
        log_p = LogSoftmax.composite(x, dim)
        classes = x.shape[dim]
        weighted = log_p if weight is None else log_p * along(weight, x.ndim, dim)
        if target.is_floating_point():
            if smoothing:
                target = target * (1 - smoothing) + smoothing / classes
            loss = -(weighted * target).sum(dim)
            return loss.mean() if reduction == MEAN else loss.sum() if reduction == SUM else loss
        counted, _, factor = parts(target, weight, ignore_index, x.dtype)
        loss = (1 - smoothing) * nll_of_rows(log_p, target, weight, dim, ignore_index)
        if smoothing:
            loss = loss - smoothing / classes * weighted.sum(dim) * counted
        return reduce_by_weight(loss, factor, reduction)

    @staticmethod
    def node_name(saved, node):
        _, reduction, _, smoothing = node.constants
        if saved and saved[1].dtype.is_floating_point:
            return "DivBackward1" if reduction == MEAN else "NegBackward0"
        return "AddBackward0" if smoothing else nll_name(saved[0].ndim if saved else 2, reduction)


class CrossEntropyInFloat32(CrossEntropy):
    """The same in float32, of logits that are halves, of which no copy is made."""

    autocast = ""

    @staticmethod
    def forward(x, target, weight, *options):
        loss, stats = array_module(x.device).cross_entropy(x, target, weight, *options, True)
        return loss, (x.kept(), target, weight, stats, *options)

    @staticmethod
    def composite(x, target, weight, *options):
        return CrossEntropy.composite(x.to(float32), target, weight, *options)


class NllLoss(Op):
    """(log-probabilities, classes, weight or None) -> -weight[t] log_p[t], 0 where it is ignored.

    "mean" divides by the sum of the weights that counted.
    """

    arity = 3
    saves = (1, 2)
    piecewise = True
    words = "log_p:self"
    cost = "loss"
    autocast = "float32"

    @staticmethod
    def forward(log_p, target, weight, dim, reduction, ignore_index):
        kernel = array_module(log_p.device).nll_loss
        loss, total = kernel(log_p, target, weight, dim, reduction, ignore_index)
        return loss, (target, weight, total, log_p.shape, dim, reduction, ignore_index)

    @staticmethod
    def backward(saved, grad, needs):
        return run(NllLossBackward, grad, *saved), None, None

    @staticmethod
    def composite(log_p, target, weight, dim, reduction, ignore_index):
        factor = parts(target, weight, ignore_index, log_p.dtype)[2]
        return reduce_by_weight(
            nll_of_rows(log_p, target, weight, dim, ignore_index), factor, reduction
        )

    @staticmethod
    def node_name(saved, node):
        return nll_name(len(saved[3]) if saved else 2, node.constants[1])


class NllLossBackward(Op):
    """Zeros, but for each line's class: what it weighs, times the gradient."""

    arity = 4
    saves = (1, 2)

    @staticmethod
    def forward(grad, target, weight, total, *options):
        dx = array_module(grad.device).nll_loss_backward(grad, target, weight, total, *options)
        return dx, (target, weight, *options[1:])

    @staticmethod
    def backward(saved, grad, needs):
        return run(NllLoss, grad, *saved), None, None, None


# ------------------------------------------------------------------------------ from simple ops


def along(weight, ndim: int, dim: int):
    """A weight per class, to be multiplied by what has the classes in dim."""
    return weight.reshape((-1,) + (1,) * (ndim - 1 - dim))


def parts(target, weight, ignore_index, dtype):
    """Per line: whether it counts, its class (0 where it does not), and its weight."""
    counted = target != ignore_index
    places = counted * target
    factor = counted.to(dtype)
    return counted, places, factor if weight is None else factor * weight[places]


def nll_of_rows(log_p, target, weight, dim, ignore_index):
    counted, places, factor = parts(target, weight, ignore_index, log_p.dtype)
    chosen = log_p.gather(dim, places.unsqueeze(dim)).squeeze(dim)
    return (-chosen * factor).masked_fill(~counted, 0)


def reduce_by_weight(loss, factor, reduction):
    if reduction == NONE:
        return loss
    return loss.sum() / factor.sum() if reduction == MEAN else loss.sum()
