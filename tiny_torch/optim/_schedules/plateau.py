"""ReduceLROnPlateau: the schedule that looks at how the training goes."""

from __future__ import annotations

import math
import warnings
from typing import Any, Literal

from tiny_torch import _core
from tiny_torch.base.modes import outside_of_program
from tiny_torch.optim._schedules.base import (
    EPOCH_DEPRECATION_WARNING,
    LRScheduler,
    check_optimizer,
    rates_of,
    set_value,
)
from tiny_torch.optim.optimizer import Optimizer


class ReduceLROnPlateau(LRScheduler):
    """The rate times `factor` when a metric has not become better for more than `patience` epochs.

    Better is lower (`mode` "min") or higher ("max") than the best by `threshold`, of that value
    ("rel") or absolutely ("abs"). After a reduction `cooldown` epochs do not count. The rate does
    not fall below `min_lr`, and not at all by less than `eps`.

    Raises ValueError for a factor >= 1 and unknown modes, TypeError for what is no Optimizer.
    Source: PyTorch, torch.optim.lr_scheduler.ReduceLROnPlateau.

    >>> import tiny_torch as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
    >>> for loss in [0.5, 0.4, 0.4, 0.4]:
    ...     scheduler.step(loss)
    >>> scheduler.get_last_lr()
    [0.1]
    """

    mode_worse: float
    mode: str
    threshold: float
    threshold_mode: str

    def __init__(
        self,
        optimizer: Optimizer,
        mode: Literal["min", "max"] = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: Literal["rel", "abs"] = "rel",
        cooldown: int = 0,
        min_lr: list[float] | float = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        self.factor = factor
        check_optimizer(optimizer)
        self.optimizer = optimizer
        groups = len(optimizer.param_groups)
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.min_lrs = list(min_lr) if isinstance(min_lr, (list, tuple)) else [min_lr] * groups
        if len(self.min_lrs) != groups:
            raise ValueError(f"expected {groups} min_lrs, got {len(self.min_lrs)}")
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = rates_of(optimizer)
        self._begin(mode, threshold, threshold_mode)
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def _begin(self, mode: str, threshold: float, threshold_mode: str) -> None:
        if mode not in {"min", "max"}:
            raise ValueError("mode " + mode + " is unknown!")
        if threshold_mode not in {"rel", "abs"}:
            raise ValueError("threshold mode " + threshold_mode + " is unknown!")
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Look at `metrics`, a number or a Tensor of one, of the epoch that has ended."""
        current = float(metrics)
        if _core.is_recording():
            return outside_of_program(ReduceLROnPlateau.step, self, metrics, epoch)
        if epoch is None:
            epoch = self.last_epoch + 1
        else:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self.last_epoch = epoch
        if self._is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(epoch)
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = rates_of(self.optimizer)

    def _reduce_lr(self, epoch: int) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from "
                    f"when `ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), usually due "
                    "to a new param group being added to the optimizer. Please modify the "
                    "`min_lrs` field to match the length of the `optimizer` param groups."
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs, strict=True):
            lr = float(group["lr"])
            reduced = max(lr * self.factor, least)
            if lr - reduced > self.eps:
                set_value(group, "lr", reduced)

    @property
    def in_cooldown(self) -> bool:
        """Whether epochs do not count now."""
        return self.cooldown_counter > 0

    def _is_better(self, a: float, best: float) -> bool:
        if self.mode == "min":
            relative = self.threshold_mode == "rel"
            return a < (best * (1.0 - self.threshold) if relative else best - self.threshold)
        relative = self.threshold_mode == "rel"
        return a > (best * (self.threshold + 1.0) if relative else best + self.threshold)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned; raises ValueError for unknown modes."""
        super().load_state_dict(state_dict)
        self._begin(self.mode, self.threshold, self.threshold_mode)
