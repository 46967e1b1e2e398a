"""The ops: forward and backward of each on one screen. Public names stand in tiny_torch itself."""

from tiny_torch.ops.class_losses import cross_entropy, nll_loss
from tiny_torch.ops.matmul import linear
from tiny_torch.ops.pointwise import relu
from tiny_torch.ops.softmaxes import log_softmax, softmax

__all__ = [
    "cross_entropy",
    "linear",
    "log_softmax",
    "nll_loss",
    "relu",
    "softmax",
]
