"""Schedules of rate and momentum that go up and down: restarts, cycles, one cycle."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

from tiny_torch.optim._schedules.base import (
    Schedule,
    check_optimizer,
    for_each_group,
    saved_function,
    set_value,
)
from tiny_torch.optim.optimizer import Optimizer


class CosineAnnealingWarmRestarts(Schedule):
    """Half a cosine down to `eta_min` over T_0 epochs, and again over T_mult times as many, ...

    `step` takes fractions of an epoch too. Raises ValueError unless T_0 and T_mult are positive
    integers and eta_min is a number. Source: PyTorch,
    torch.optim.lr_scheduler.CosineAnnealingWarmRestarts; Loshchilov and Hutter 2016, arXiv
    1608.03983.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(
                f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}"
            )
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Any]:
        height = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (lr - self.eta_min) * height / 2 for lr in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go on to the next epoch, or to `epoch`, which may be a fraction between two.

        Raises ValueError for a negative epoch.
        """
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        elif epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            restarts = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            before = self.T_0 * (self.T_mult**restarts - 1) / (self.T_mult - 1)
            self.T_cur = epoch - before
            self.T_i = self.T_0 * self.T_mult**restarts
        self.last_epoch = math.floor(epoch)
        self._get_lr_called_within_step = True
        try:
            rates = self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        self._set_lr(rates)


class _WithMomentum(Schedule):
    """What CyclicLR and OneCycleLR share: momentum (or beta1) that falls where the rate rises."""

    cycle_momentum: bool
    use_beta1: bool

    def _begin_momentum(
        self, optimizer: Optimizer, base_momentum: Any, max_momentum: Any, last_epoch: int
    ) -> tuple[list[Any], list[Any]]:
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError(
                "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
            )
        self.use_beta1 = "betas" in optimizer.defaults
        bases = for_each_group("base_momentum", optimizer, base_momentum)
        largest = for_each_group("max_momentum", optimizer, max_momentum)
        if last_epoch == -1:
            for low, high, group in zip(bases, largest, optimizer.param_groups, strict=True):
                self._set_momentum(group, high)
                group["max_momentum"] = high
                group["base_momentum"] = low
        return bases, largest

    def _set_momentum(self, group: dict[str, Any], momentum: Any) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class CyclicLR(_WithMomentum):
    """From `base_lr` up to `max_lr` in `step_size_up` steps, down in `step_size_down`, and again.

    The height of a cycle stays ("triangular"), halves each time ("triangular2"), or is multiplied
    by `gamma` at each step ("exp_range"); or `scale_fn` gives it, a function of the number of the
    cycle or of the iteration, as `scale_mode` says. To be stepped after every batch.

    Raises ValueError for an unknown mode and for an optimizer without momentum.
    Source: PyTorch, torch.optim.lr_scheduler.CyclicLR; Smith 2015, "Cyclical Learning Rates for
    Training Neural Networks", arXiv 1506.01186.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: Literal["triangular", "triangular2", "exp_range"] = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: Literal["cycle", "iterations"] = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = for_each_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups, strict=True):
                set_value(group, "lr", lr)
        self.max_lrs = for_each_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in ["triangular", "triangular2", "exp_range"] and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom: Any = scale_fn
        self.scale_mode: str = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            bases, largest = self._begin_momentum(
                optimizer, base_momentum, max_momentum, last_epoch
            )
            self.base_momentums, self.max_momentums = bases, largest
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The height of cycle x, or at iteration x, as a share of max_lr - base_lr."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return 1 / (2.0 ** (x - 1)) if self.mode == "triangular2" else self.gamma**x

    def _rates(self) -> list[Any]:
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        up = x <= self.step_ratio
        height = x / self.step_ratio if up else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            pairs = zip(self.base_momentums, self.max_momentums, strict=True)
            for (low, high), group in zip(pairs, self.optimizer.param_groups, strict=True):
                self._set_momentum(group, high - (high - low) * height * scale)
        return [
            low + (high - low) * height * scale
            for low, high in zip(self.base_lrs, self.max_lrs, strict=True)
        ]

    def state_dict(self) -> dict[str, Any]:
        """As LRScheduler's; of a `scale_fn` that is a callable object its attributes."""
        state = super().state_dict()
        function = state.pop("_scale_fn_custom")
        state["_scale_fn_custom"] = None if function is None else saved_function(function)
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """As LRScheduler's; a callable object gets its attributes back."""
        state_dict = state_dict.copy()
        attributes = state_dict.pop("_scale_fn_custom")
        super().load_state_dict(state_dict)
        if attributes is not None:
            self._scale_fn_custom.__dict__.update(attributes)


class OneCycleLR(_WithMomentum):
    """One rise to `max_lr` and a long fall far below the start, over the whole training.

    It has `total_steps` steps, or epochs * steps_per_epoch, and is stepped after every batch. The
    rate starts at max_lr / div_factor, peaks after the share `pct_start` of the steps, and ends at
    the start's / final_div_factor, along cosines or lines; `three_phase` returns to the start's
    rate before that.

    Raises ValueError for arguments out of range, for an optimizer without momentum, and for a step
    after the last. Source: PyTorch, torch.optim.lr_scheduler.OneCycleLR; Smith and Topin 2017,
    "Super-Convergence", arXiv 1708.07120.

    >>> import tiny_torch as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1)], momentum=0.9)
    >>> scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)
    >>> rates = scheduler.get_last_lr()
    >>> for _ in range(9):
    ...     optimizer.step()
    ...     scheduler.step()
    ...     rates += scheduler.get_last_lr()
    >>> [round(rate, 2) for rate in rates]
    [0.04, 0.52, 1.0, 0.95, 0.81, 0.61, 0.39, 0.19, 0.05, 0.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        ends = [float(pct_start * self.total_steps) - 1, self.total_steps - 1]
        rates, momenta = ["initial_lr", "max_lr", "min_lr"], ["max", "base", "max"]
        if three_phase:
            ends.insert(1, float(2 * pct_start * self.total_steps) - 2)
            rates.insert(2, "initial_lr")
            momenta.append("max")
        self._schedule_phases: list[dict[str, Any]] = [
            {
                "end_step": end,
                "start_lr": rates[i],
                "end_lr": rates[i + 1],
                "start_momentum": momenta[i] + "_momentum",
                "end_momentum": momenta[i + 1] + "_momentum",
            }
            for i, end in enumerate(ends)
        ]
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ["cos", "linear"]:
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_func_type = anneal_strategy
        largest = for_each_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for lr, group in zip(largest, optimizer.param_groups, strict=True):
                group["initial_lr"] = lr / div_factor
                group["max_lr"] = lr
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._begin_momentum(optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Any]:
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"Tried to step {step} times. "
                f"The specified number of total steps is {self.total_steps}"
            )
        start = 0.0
        for phase in self._schedule_phases:
            end = phase["end_step"]
            if step <= end or phase is self._schedule_phases[-1]:
                break
            start = end
        share = (step - start) / (end - start)
        anneal = cosine if self._anneal_func_type == "cos" else line
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(anneal(group[phase["start_lr"]], group[phase["end_lr"]], share))
            if self.cycle_momentum:
                momenta = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._set_momentum(group, anneal(*momenta, share))
        return rates


def _total_steps(total: Any, epochs: Any, steps_per_epoch: Any) -> int:
    if total is not None:
        if total <= 0 or not isinstance(total, int):
            raise ValueError(f"Expected positive integer total_steps, but got {total}")
        return total
    if epochs is None or steps_per_epoch is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    if not isinstance(epochs, int) or epochs <= 0:
        raise ValueError(f"Expected positive integer epochs, but got {epochs}")
    if not isinstance(steps_per_epoch, int) or steps_per_epoch <= 0:
        raise ValueError(f"Expected positive integer steps_per_epoch, but got {steps_per_epoch}")
    return epochs * steps_per_epoch


def cosine(start: Any, end: Any, share: float) -> Any:
    """Half a cosine from `start` to `end`, at a share of the way between 0 and 1."""
    return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)


def line(start: Any, end: Any, share: float) -> Any:
    """A line from `start` to `end`, at a share of the way between 0 and 1."""
    return (end - start) * share + start
