"""The ops: forward and backward of each on one screen. Public names stand in tiny_torch itself."""

from tiny_torch.ops.fused import (
    cross_entropy,
    dropout,
    log_softmax,
    mse_loss,
    nll_loss,
    softmax,
)
from tiny_torch.ops.matmul import linear
from tiny_torch.ops.pointwise import relu

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
