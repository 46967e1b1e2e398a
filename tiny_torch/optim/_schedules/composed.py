"""Schedulers that are made of others, one after the other or all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from tiny_torch import _core
from tiny_torch.base.modes import outside_of_program
from tiny_torch.optim._schedules.base import LRScheduler, rates_of, set_value
from tiny_torch.optim._schedules.plateau import ReduceLROnPlateau
from tiny_torch.optim.optimizer import Optimizer


class _Composed(LRScheduler):
    """What SequentialLR and ChainedScheduler share: a list of schedulers of one optimizer."""

    _schedulers: Sequence[LRScheduler]

    def _check(self, optimizer: Any, schedulers: Sequence[Any], what: str) -> Any:
        """The optimizer, where all schedulers are of a kind that can be composed, and its own."""
        name = type(self).__name__
        if len(schedulers) < 1:
            raise ValueError(f"{name} expects at least one scheduler{what}, but got no scheduler.")
        for i, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it requires "
                    "additional kwargs to be specified when calling `step`, but got one at index "
                    f"{i} in the given schedulers sequence."
                )
            if optimizer != scheduler.optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but got "
                    f"scheduler {type(scheduler).__name__} at index {i} has "
                    f"{scheduler.optimizer}, which is different from {type(optimizer).__name__}."
                )
        return optimizer

    def state_dict(self) -> dict[str, Any]:
        """As LRScheduler's, with the states of the schedulers."""
        state = super().state_dict()
        del state["_schedulers"]
        state["_schedulers"] = [scheduler.state_dict() for scheduler in self._schedulers]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """As LRScheduler's; each scheduler loads its own state."""
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_schedulers"})
        for scheduler, saved in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(saved)


class SequentialLR(_Composed):
    """Schedulers one after the other: the next one begins at each of the epochs `milestones`.

    Raises ValueError for schedulers of different optimizers, ReduceLROnPlateau among them, or a
    number of milestones other than one less. Source: PyTorch,
    torch.optim.lr_scheduler.SequentialLR.

    >>> import tiny_torch as torch
    >>> from tiny_torch.optim.lr_scheduler import ExponentialLR, LinearLR, SequentialLR
    >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=1.0)
    >>> warmup = LinearLR(optimizer, start_factor=0.25, total_iters=3)
    >>> decay = ExponentialLR(optimizer, gamma=0.5)
    >>> scheduler = SequentialLR(optimizer, [warmup, decay], milestones=[3])
    >>> rates = scheduler.get_last_lr()
    >>> for _ in range(5):
    ...     optimizer.step()
    ...     scheduler.step()
    ...     rates += scheduler.get_last_lr()
    >>> rates
    [0.25, 0.5, 0.75, 1.0, 0.5, 0.25]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: list[LRScheduler],
        milestones: list[int],
        last_epoch: int = -1,
    ) -> None:
        self._check(optimizer, schedulers, "")
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than "
                "the number of milestone points, but got number of schedulers "
                f"{len(schedulers)} and the number of milestones to be equal to {len(milestones)}"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer

        # each scheduler has made its first step when it was constructed: only one of them may have
        for group in optimizer.param_groups:
            set_value(group, "lr", group["initial_lr"])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Take back the first step of all schedulers in `sched`, by default in this one."""
        scheduler = self if sched is None else sched
        if hasattr(scheduler, "_schedulers"):
            for inner in scheduler._schedulers:
                self.recursive_undo(inner)
        elif hasattr(scheduler, "last_epoch"):
            scheduler.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Go on to the next epoch, with the scheduler whose turn it is."""
        if _core.is_recording():
            return outside_of_program(SequentialLR.step, self)
        self.last_epoch += 1
        turn = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[turn]
        if turn > 0 and self._milestones[turn - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Composed):
    """Schedulers that all step at once, each from the rate that the one before has set.

    Raises ValueError for schedulers of different optimizers and for ReduceLROnPlateau among them.
    Source: PyTorch, torch.optim.lr_scheduler.ChainedScheduler.
    """

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        optimizer = optimizer or (schedulers[0].optimizer if schedulers else None)
        optimizer = self._check(optimizer, schedulers, " to be chained")
        self._schedulers = schedulers
        self.optimizer = optimizer
        self._last_lr = rates_of(self._schedulers[-1].optimizer)

    def step(self) -> None:  # type: ignore[override]
        """Let all schedulers go on to the next epoch."""
        if _core.is_recording():
            return outside_of_program(ChainedScheduler.step, self)
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = rates_of(self._schedulers[-1].optimizer)
