"""Optimizers whose step looks at a parameter as a whole."""

from __future__ import annotations

import functools
from typing import Any

from tiny_torch.base.parts import check_whole
from tiny_torch.optim.optimizer import Optimizer


class WholeOptimizer(Optimizer):
    """Refuses a rank's part of a parameter, with NotImplementedError."""

    @functools.wraps(Optimizer.add_param_group)
    def add_param_group(self, param_group: dict[str, Any]) -> None:  # type: ignore[override]
        super().add_param_group(param_group)
        for param in self.param_groups[-1]["params"]:
            check_whole(type(self).__name__, param)
