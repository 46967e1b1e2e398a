"""Programs: functions of tensors as recorded launches, which run again without Python.

What `torch.compile` makes of a function or module is a `Compiled`;
`record` makes one of a whole step; `plan` tells what a step needs. Core: src/core/program.
"""

from collections.abc import Callable, Mapping
from typing import Any

from tiny_torch.program.compiled import Compiled
from tiny_torch.program.plan import Plan, plan


def record(
    step: Callable[..., Any], *, fullgraph: bool = False, passes: Mapping[str, bool] | None = None
) -> Compiled:
    """A whole step of a training as a program: forward, `backward()` and what stands around them.

    The gradients are stored in ``.grad`` as `backward` does. `zero_grad`, clipping, optimizers'
    steps and schedulers' are called in every run, where they stand, as their numbers change. The
    results are tensors without a history, or None. With `fullgraph`, RuntimeError where the step
    cannot be recorded. `passes` turns some on or off: ``{"recompute": True}`` takes less memory and
    more time; ValueError for a name that none has (docs/program.md lists them).

    >>> import tiny_torch as torch
    >>> from tiny_torch.program import record
    >>> w = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.SGD([w], lr=0.1)
    >>> @record
    ... def step(x):
    ...     optimizer.zero_grad()
    ...     loss = (w * x).square().sum()
    ...     loss.backward()
    ...     optimizer.step()
    ...     return loss
    >>> for _ in range(3):
    ...     loss = step(torch.ones(2))
    >>> loss
    tensor(0.8192)
    """
    return Compiled(step, fullgraph=fullgraph, steps=True, passes=passes)


__all__ = ["Compiled", "Plan", "plan", "record"]
