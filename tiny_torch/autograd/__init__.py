"""Automatic differentiation. https://pytorch.org/docs/stable/autograd.html"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tiny_torch.autograd.function import Function, Variable
from tiny_torch.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)
from tiny_torch.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from tiny_torch.autograd.gradients import backward, grad

if TYPE_CHECKING:  # loaded when they are asked for: compat/paths.py
    from tiny_torch.autograd import functional as functional
    from tiny_torch.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly

__all__ = [
    "Function",
    "GradcheckError",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "is_grad_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]
