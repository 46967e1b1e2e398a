"""`LRScheduler`: an optimizer, its rates at the beginning, and the count of epochs."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable
from typing import Any

from tiny_torch import _core
from tiny_torch.base.modes import outside_of_program
from tiny_torch.optim._foreach import scalar
from tiny_torch.optim.optimizer import Optimizer
from tiny_torch.tensor import Tensor

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being "
    "deprecated where possible. Please use `scheduler.step()` to step the "
    "scheduler. During the deprecation, if epoch is different from None, the "
    "closed form is used instead of the new chainable form, where available. "
    "Please open an issue if you are unable to replicate your use case: "
    "https://github.com/pytorch/pytorch/issues/new/choose."
)
_SEE = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
_OVERRIDDEN = (
    "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
    "initialization. Please, make sure to call `optimizer.step()` before "
    "`lr_scheduler.step()`. " + _SEE
)
_TOO_EARLY = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. "
    "In PyTorch 1.1.0 and later, you should call them in the opposite order: "
    "`optimizer.step()` before `lr_scheduler.step()`.  Failure to do this "
    "will result in PyTorch skipping the first value of the learning rate schedule. " + _SEE
)
_NOT_INITIAL = (
    "param 'initial_lr' is not specified in param_groups[{}] when resuming scheduler with "
    "last_epoch >= 0.\n"
    "This typically happens when:\n"
    "1. You're trying to resume training from a checkpoint but haven't properly loaded the "
    "optimizer state\n"
    "2. You're using last_epoch >= 0 for a fresh training run (not recommended)"
)


class LRScheduler:
    """Base class of all schedulers: sets the `lr` of an optimizer's groups, an epoch at a time.

    A subclass defines `get_lr`, the rates after one more epoch, from `last_epoch`, `base_lrs` (the
    groups' "initial_lr") and the rates now, so that schedulers may be chained; and maybe
    `_get_closed_form_lr`, the same from `last_epoch` and `base_lrs` alone. `last_epoch` other than
    -1 resumes. A rate that is a Tensor is written in place.

    Raises TypeError for what is no Optimizer, KeyError where a resumed group has no "initial_lr".
    Source: PyTorch, torch.optim.lr_scheduler.LRScheduler.

    >>> import tiny_torch as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=1.0)
    >>> class Halves(torch.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [lr / 2**self.last_epoch for lr in self.base_lrs]
    >>> scheduler = Halves(optimizer)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr(), optimizer.param_groups[0]["lr"]
    ([0.5], 0.5)
    """

    _get_lr_called_within_step: bool = False
    _is_initial: bool = False
    _last_lr: list[Any]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        optimizer.__dict__.setdefault("_opt_called", False)  # from now on its steps are noted
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _copy(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(_NOT_INITIAL.format(i))
        self.base_lrs = [_copy(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self) -> None:
        """Set the rates of the first epoch, or those of the epoch that is resumed."""
        self._step_count = 0
        self._is_initial = True
        self.step()
        self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer, which saves its own."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The rate of each group, as this scheduler has set it."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The rates for `last_epoch`; to look at the present ones call `get_last_lr`."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Go on to the next epoch, after the optimizer's steps of this one.

        Warns where the optimizer has not made a step yet, and for an `epoch`, which sets the epoch.
        Source: PyTorch, torch.optim.lr_scheduler.LRScheduler.step.
        """
        if _core.is_recording():
            return outside_of_program(LRScheduler.step, self, epoch)
        if self._step_count == 1:
            if not getattr(self.optimizer.step, "hooked", False):
                warnings.warn(_OVERRIDDEN, UserWarning, stacklevel=2)
            elif not getattr(self.optimizer, "_opt_called", False):
                warnings.warn(_TOO_EARLY, UserWarning, stacklevel=2)
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        closed_form = None if epoch is None else getattr(self, "_get_closed_form_lr", None)
        self._get_lr_called_within_step = True
        try:
            rates = self.get_lr() if closed_form is None else closed_form()
        finally:
            self._get_lr_called_within_step = False
        self._set_lr(rates)

    def _set_lr(self, rates: list[Any]) -> None:
        for group, lr in zip(self.optimizer.param_groups, rates, strict=True):
            set_value(group, "lr", lr)
        self._last_lr = rates_of(self.optimizer)


class Schedule(LRScheduler):
    """What our own schedulers share: `_rates` computes, `get_lr` warns outside of `step`."""

    def get_lr(self) -> list[Any]:
        """See LRScheduler."""
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, "
                "please use `get_last_lr()`.",
                UserWarning,
                stacklevel=2,
            )
        return self._rates()

    def _rates(self) -> list[Any]:
        raise NotImplementedError

    def _times(self, factor: float) -> list[Any]:
        """The rates now, times a factor."""
        return [group["lr"] * factor for group in self.optimizer.param_groups]


def check_optimizer(optimizer: Any) -> None:
    """Raise PyTorch's TypeError for what is no Optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def _copy(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def rates_of(optimizer: Optimizer) -> list[Any]:
    """The groups' rates; a Tensor is copied."""
    return [_copy(group["lr"]) for group in optimizer.param_groups]


def set_value(group: dict[str, Any], key: str, value: Any) -> None:
    """Set a group's option; one that is a Tensor stays that Tensor."""
    if isinstance(group[key], Tensor):
        group[key].fill_(scalar(value))
    else:
        group[key] = value


def for_each_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """A value for each group; raises ValueError for a list of another length."""
    groups = optimizer.param_groups
    if not isinstance(value, (list, tuple)):
        value = [value] * len(groups)
    if len(value) != len(groups):
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. "
            f"{name} has {len(value)} values, param_groups has {len(groups)}."
        )
    return [_copy(item) for item in value]


def saved_function(function: Callable[..., Any]) -> dict[str, Any] | None:
    """A function's part of a state dict: its attributes if it is a callable object, else None."""
    return None if isinstance(function, types.FunctionType) else function.__dict__.copy()
