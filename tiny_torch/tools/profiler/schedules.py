"""Which steps of a program are profiled."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from enum import Enum


class ProfilerAction(Enum):
    """What a profile does during a step; DEVICE_STOPPED is no answer for a schedule."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3
    DEVICE_STOPPED = 4


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:
    """A cycle of steps: `wait` of them unseen, `warmup`, then `active` ones recorded and saved.

    It begins after `skip_first` steps and ends after `repeat` cycles; 0: never. With
    `skip_first_wait` the first cycle has no `wait`. Raises AssertionError for negative numbers and
    for no active step.
    https://pytorch.org/docs/stable/profiler.html#torch.profiler.schedule

    >>> import tiny_torch as torch
    >>> plan = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
    >>> [plan(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} "
            f"(need >= 0), active={active} (need > 0), repeat={repeat} (need >= 0), "
            f"skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warnings.warn(
            "Profiler won't be using warmup, this can skew profiler results", stacklevel=2
        )
    length = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        cycle, place = divmod(step - skip_first + (wait if skip_first_wait else 0), length)
        if (repeat and cycle >= repeat) or place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def always(step: int) -> ProfilerAction:
    """Records every step, and saves at the end alone."""
    return ProfilerAction.RECORD
