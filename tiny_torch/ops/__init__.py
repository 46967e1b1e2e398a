"""The ops: forward and backward of each on one screen. Public names stand in tiny_torch itself."""

from tiny_torch.ops.class_losses import cross_entropy, nll_loss
from tiny_torch.ops.fused import dropout, mse_loss
from tiny_torch.ops.matmul import linear
from tiny_torch.ops.pointwise import relu
from tiny_torch.ops.softmaxes import log_softmax, softmax

__all__ = [
    "cross_entropy",
    "dropout",
    "linear",
    "log_softmax",
    "mse_loss",
    "nll_loss",
    "relu",
    "softmax",
]
