"""`torch.utils.deterministic`: whether memory that nobody has written has known values.

https://pytorch.org/docs/stable/deterministic.html
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from tiny_torch.base.switches import settings


class DeterministicModule(ModuleType):
    """The module; its flag is a bool, RuntimeError for anything else."""

    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether `empty` and its kin fill memory while deterministic algorithms are asked for."""
        return settings.fill_uninitialized

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: Any) -> None:
        if not isinstance(mode, bool):
            raise RuntimeError(f"expected a bool, but got {type(mode).__name__}")
        settings.fill(settings.deterministic, mode)


sys.modules[__name__].__class__ = DeterministicModule
