"""`DebugLevel`: how much a process looks after the others.

https://docs.pytorch.org/docs/stable/distributed.html#debugging-torch-distributed-applications
"""

from __future__ import annotations

import enum
import os

VARIABLE = "TORCH_DISTRIBUTED_DEBUG"


class DebugLevel(enum.Enum):
    """OFF, INFO, DETAIL: with DETAIL, DistributedDataParallel compares the ranks' parameters.

    That all ranks call the same collective is seen at every level, and errors name parameters;
    so INFO adds nothing.
    """

    OFF = 0
    INFO = 1
    DETAIL = 2


level = DebugLevel.OFF


def get_debug_level() -> DebugLevel:
    """The level, which TORCH_DISTRIBUTED_DEBUG sets before `torch.distributed` is imported.

    >>> import tiny_torch.distributed as dist
    >>> dist.set_debug_level(dist.DebugLevel.DETAIL)
    >>> dist.get_debug_level().name
    'DETAIL'
    >>> dist.set_debug_level(dist.DebugLevel.OFF)
    """
    return level


def set_debug_level(debug_level: DebugLevel) -> None:
    """Sets the level of this process; TypeError for what is none."""
    global level
    if not isinstance(debug_level, DebugLevel):
        raise TypeError(f"set_debug_level: expected a DebugLevel, got {debug_level!r}")
    level = debug_level


def set_debug_level_from_env() -> None:
    """Sets the level that TORCH_DISTRIBUTED_DEBUG says; ValueError where it names none."""
    name = os.environ.get(VARIABLE, "OFF").upper()
    if name not in DebugLevel.__members__:
        raise ValueError(f"The value of {VARIABLE} must be OFF, INFO, or DETAIL.")
    set_debug_level(DebugLevel[name])


set_debug_level_from_env()

__all__ = ["DebugLevel", "get_debug_level", "set_debug_level", "set_debug_level_from_env"]
