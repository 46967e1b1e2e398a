"""Stragglers and failures: what n workers lose that one hardly notices."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from tiny_torch.distributed.simulate.strategies import Estimate


@dataclass(frozen=True)
class Weather:
    """How often and how much workers are slow, how often they fail, and what that costs.

    In a step a worker computes `slowdown` times as long with probability `straggling`; all wait for
    the slowest. It fails once in `between_failures` seconds; then all go back to the last
    checkpoint, which took `checkpoint` seconds, and begin again after `restart` seconds.
    """

    straggling: float = 0.0
    slowdown: float = 1.0
    between_failures: float = math.inf
    checkpoint: float = 0.0
    restart: float = 0.0

    def slow_down(self, estimate: Estimate, workers: int) -> Estimate:
        """The mean step, where the slowest of all workers decides."""
        slow = 1 - (1 - self.straggling) ** workers  # that one at least is slow
        more = slow * (self.slowdown - 1) * estimate.compute
        return replace(estimate, seconds=estimate.seconds + more)

    def useful(self, workers: int) -> float:
        """Which part of the time is not lost to failures and checkpoints, of the best interval.

        A checkpoint every sqrt(2 C M) seconds, with M seconds between two failures of any worker:
        Young, 1974, https://doi.org/10.1145/361147.361115.
        """
        if math.isinf(self.between_failures):
            return 1.0
        between = self.between_failures / workers
        interval = math.sqrt(2 * self.checkpoint * between)
        lost = (interval / 2 + self.restart) / between
        if interval:
            lost += self.checkpoint / interval
        return max(0.0, 1 - lost)
