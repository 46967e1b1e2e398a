"""`torch.optim.lr_scheduler`: learning rates that change during the training."""

from tiny_torch.optim._schedules.base import EPOCH_DEPRECATION_WARNING, LRScheduler
from tiny_torch.optim._schedules.composed import ChainedScheduler, SequentialLR
from tiny_torch.optim._schedules.cycles import CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from tiny_torch.optim._schedules.plateau import ReduceLROnPlateau
from tiny_torch.optim._schedules.simple import (
    ConstantLR,
    CosineAnnealingLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)

__all__ = [
    "EPOCH_DEPRECATION_WARNING",
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
    "_LRScheduler",
]


class _LRScheduler(LRScheduler):
    """The name of LRScheduler before PyTorch 2."""
