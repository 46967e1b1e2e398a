"""Schedules that are one formula: functions, steps, lines, powers, cosines.

`get_lr` has each as a factor on the rate before, so that schedulers may be chained;
`_get_closed_form_lr` as a function of the epoch.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from tiny_torch.base.docstrings import own_methods
from tiny_torch.optim._schedules.base import Schedule, rates_of, saved_function
from tiny_torch.optim.optimizer import Optimizer


class _ByFunction(Schedule):
    """What LambdaLR and MultiplicativeLR share: a function of the epoch for each group."""

    def __init_subclass__(cls) -> None:
        own_methods(cls, "__init__")

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        self.optimizer = optimizer
        groups = len(optimizer.param_groups)
        several = isinstance(lr_lambda, (list, tuple))
        functions: Any = lr_lambda if several else [lr_lambda] * groups
        if len(functions) != groups:
            raise ValueError(f"Expected {groups} lr_lambdas, but got {len(functions)}")
        for function in functions:
            if not callable(function):
                name = type(function).__name__
                raise TypeError(f"lr_lambda should be a function, but got {name}")
        self.lr_lambdas = list(functions)
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """As LRScheduler's; of callable objects their attributes, functions are left out."""
        state = super().state_dict()
        del state["lr_lambdas"]
        state["lr_lambdas"] = [saved_function(function) for function in self.lr_lambdas]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """As LRScheduler's; callable objects get their attributes back."""
        state_dict = state_dict.copy()
        saved = state_dict.pop("lr_lambdas")
        super().load_state_dict(state_dict)
        for function, attributes in zip(self.lr_lambdas, saved, strict=True):
            if attributes is not None:
                function.__dict__.update(attributes)


class LambdaLR(_ByFunction):
    """The initial rate times a function of the epoch; one function, or a list of one per group.

    Source: PyTorch, torch.optim.lr_scheduler.LambdaLR.

    >>> import tiny_torch as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 / (epoch + 1))
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def _rates(self) -> list[Any]:
        return [
            base_lr * function(self.last_epoch)
            for function, base_lr in zip(self.lr_lambdas, self.base_lrs, strict=True)
        ]


class MultiplicativeLR(_ByFunction):
    """The rate times a function of the epoch, at every epoch.

    Source: PyTorch, torch.optim.lr_scheduler.MultiplicativeLR.
    """

    def _rates(self) -> list[Any]:
        if self._is_initial:
            return rates_of(self.optimizer)
        return [
            group["lr"] * function(self.last_epoch)
            for function, group in zip(self.lr_lambdas, self.optimizer.param_groups, strict=True)
        ]


class StepLR(Schedule):
    """The rate times `gamma` every `step_size` epochs.

    Source: PyTorch, torch.optim.lr_scheduler.StepLR.

    >>> import tiny_torch as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    >>> rates = []
    >>> for _ in range(5):
    ...     optimizer.step()
    ...     scheduler.step()
    ...     rates += scheduler.get_last_lr()
    >>> rates
    [1.0, 0.5, 0.5, 0.25, 0.25]
    """

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Any]:
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return rates_of(self.optimizer)
        return self._times(self.gamma)

    def _get_closed_form_lr(self) -> list[Any]:
        return [lr * self.gamma ** (self.last_epoch // self.step_size) for lr in self.base_lrs]


class MultiStepLR(Schedule):
    """The rate times `gamma` at each of the epochs `milestones`.

    Source: PyTorch, torch.optim.lr_scheduler.MultiStepLR.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Any]:
        if self.last_epoch not in self.milestones:
            return rates_of(self.optimizer)
        return self._times(self.gamma ** self.milestones[self.last_epoch])

    def _get_closed_form_lr(self) -> list[Any]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [lr * self.gamma**passed for lr in self.base_lrs]


class ConstantLR(Schedule):
    """The rate times `factor` for the first `total_iters` epochs.

    Raises ValueError unless 0 <= factor <= 1. Source: PyTorch, torch.optim.lr_scheduler.ConstantLR.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Any]:
        if self.last_epoch == 0:
            return self._times(self.factor)
        if self.last_epoch != self.total_iters:
            return rates_of(self.optimizer)
        return self._times(1.0 / self.factor)

    def _get_closed_form_lr(self) -> list[Any]:
        over = self.last_epoch >= self.total_iters
        return [lr * (self.factor + over * (1 - self.factor)) for lr in self.base_lrs]


class LinearLR(Schedule):
    """A line from `start_factor` times the rate to `end_factor` times, over `total_iters` epochs.

    Raises ValueError unless 0 < start_factor <= 1 and 0 <= end_factor <= 1.
    Source: PyTorch, torch.optim.lr_scheduler.LinearLR.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal "
                "to 1."
            )
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Any]:
        if self.last_epoch == 0:
            return self._times(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return rates_of(self.optimizer)
        rise = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * rise
        return self._times(1.0 + rise / before)

    def _get_closed_form_lr(self) -> list[Any]:
        rise = self.end_factor - self.start_factor
        epoch = min(self.total_iters, self.last_epoch)
        return [lr * (self.start_factor + rise * epoch / self.total_iters) for lr in self.base_lrs]


class ExponentialLR(Schedule):
    """The rate times `gamma` at every epoch.

    Source: PyTorch, torch.optim.lr_scheduler.ExponentialLR.
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Any]:
        return rates_of(self.optimizer) if self._is_initial else self._times(self.gamma)

    def _get_closed_form_lr(self) -> list[Any]:
        return [lr * self.gamma**self.last_epoch for lr in self.base_lrs]


class PolynomialLR(Schedule):
    """The rate times (1 - epoch / total_iters) ** power, until it is 0.

    Source: PyTorch, torch.optim.lr_scheduler.PolynomialLR.
    """

    def __init__(
        self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Any]:
        if self._is_initial or self.last_epoch > self.total_iters:
            return rates_of(self.optimizer)
        left = 1.0 - self.last_epoch / self.total_iters
        left_before = 1.0 - (self.last_epoch - 1) / self.total_iters
        return self._times((left / left_before) ** self.power)

    def _get_closed_form_lr(self) -> list[Any]:
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [lr * left**self.power for lr in self.base_lrs]


class CosineAnnealingLR(Schedule):
    """Half a cosine from the initial rate down to `eta_min`, over `T_max` epochs; then up again.

    Source: PyTorch, torch.optim.lr_scheduler.CosineAnnealingLR; Loshchilov and Hutter 2016, "SGDR:
    Stochastic Gradient Descent with Warm Restarts", arXiv 1608.03983.

    >>> import tiny_torch as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
    >>> rates = []
    >>> for _ in range(4):
    ...     optimizer.step()
    ...     scheduler.step()
    ...     rates += scheduler.get_last_lr()
    >>> [round(rate, 3) for rate in rates]
    [0.854, 0.5, 0.146, 0.0]
    """

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Any]:
        if self._is_initial:
            return rates_of(self.optimizer)
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        groups = self.optimizer.param_groups
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # the rate now is eta_min
            rise = 1 - math.cos(math.pi / self.T_max)
            return [
                group["lr"] + (base_lr - self.eta_min) * rise / 2
                for base_lr, group in zip(self.base_lrs, groups, strict=True)
            ]
        height = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        height_before = 1 + math.cos(math.pi * (self.last_epoch - 1) / self.T_max)
        return [
            height / height_before * (group["lr"] - self.eta_min) + self.eta_min for group in groups
        ]

    def _get_closed_form_lr(self) -> list[Any]:
        height = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        return [self.eta_min + (lr - self.eta_min) * height / 2 for lr in self.base_lrs]
