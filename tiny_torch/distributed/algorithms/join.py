"""`Join`: ranks with fewer batches than others take part in their collectives until all are done.

    rank 0   | step | step | step |          all_reduces with gradients
    rank 1   | step | join  hooks |          the same all_reduces, with zeros

Before the collectives of a step each rank says, by an all_reduce of ones, that it still has work;
who has none left brings a zero there, and learns how many go on. While some do, the *main hooks* of
what was given to `Join` call what the others call in a step; at the end come the *post-hooks*.
https://docs.pytorch.org/docs/stable/distributed.algorithms.join.html
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import tiny_torch as torch
from tiny_torch.nn.parallel import DistributedDataParallel


class JoinHook:
    """What a rank does that has no batch left; by itself, nothing."""

    def main_hook(self) -> None:
        """Calls the collectives of one step of the others."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called once, when all ranks are done."""


class Config(NamedTuple):
    """What `Join` tells a Joinable: the first of several counts the ranks."""

    throw_on_early_termination: bool
    is_first_joinable: bool


class Joinable(ABC):
    """Something whose collectives a `JoinHook` can call; it calls `notify_join_context` in a step.

    https://docs.pytorch.org/docs/stable/distributed.algorithms.join.html#torch.distributed.algorithms.Joinable
    """

    _join_config: Config | None = None  # within `Join`

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The hook, by what `Join` was given beside its own arguments."""

    @property
    @abstractmethod
    def join_device(self) -> torch.device:
        """Where collectives of `Join` have their tensors."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The group of the collectives."""


class Join:
    """A context in which ranks may have different numbers of batches.

    `throw_on_early_termination` lets all ranks raise RuntimeError when the first has none left;
    `enable=False` does nothing. What else is given goes to the joinables' `join_hook`. ValueError
    for no joinable, or for two of different groups.
    https://docs.pytorch.org/docs/stable/distributed.algorithms.join.html#torch.distributed.algorithms.Join

    >>> import tiny_torch as torch
    >>> import tiny_torch.distributed as dist
    >>> from tiny_torch.distributed.algorithms import Join
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
    >>> with Join([net]):
    ...     for x in torch.ones(3, 1, 2):
    ...         net(x).sum().backward()
    >>> net.module.bias.grad
    tensor([3.])
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        joinables: Sequence[Joinable],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ) -> None:
        if len(joinables) == 0:
            raise ValueError("The join context manager requires at least one joinable")
        self.joinables, self.enable, self.throws = joinables, enable, throw_on_early_termination
        self.hooks = [joinable.join_hook(**kwargs) for joinable in joinables]
        self.device, self.group = joinables[0].join_device, joinables[0].join_process_group
        if any(joinable.join_process_group is not self.group for joinable in joinables):
            raise ValueError("Using join context manager with multiple process groups")
        for joinable in joinables if enable else ():
            first = joinable is joinables[0]
            joinable._join_config = Config(throw_on_early_termination, first)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        try:
            if self.enable and kind is None:
                self.go_on_until_all_are_done()
        finally:
            for joinable in self.joinables:
                joinable._join_config = None

    def go_on_until_all_are_done(self) -> None:
        is_last = True
        while add_up(0, self.group, self.device):
            is_last = False
            if self.throws:
                add_up(1, self.group, self.device)
                rank = torch.distributed.get_rank(self.group)
                raise RuntimeError(f"Rank {rank} exhausted all inputs.")
            for hook in self.hooks:
                hook.main_hook()
        for hook in self.hooks:
            hook.post_hook(is_last)

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Any:
        """Says that this rank still has work: before the collectives of a step.

        Answers a Work, whose result is one tensor, the number of ranks that have; None outside of
        `Join`, and of all joinables but the first.
        """
        config, group = joinable._join_config, joinable.join_process_group
        if config is None or not config.is_first_joinable:
            return None
        ones = torch.ones(1, device=joinable.join_device)
        work = torch.distributed.all_reduce(ones, group=group, async_op=True)
        if config.throw_on_early_termination and add_up(0, group, joinable.join_device):
            raise RuntimeError(
                "Detected at least one rank that exhausted inputs. Throwing across all ranks."
            )
        return work


def add_up(number: int, group: Any, device: Any) -> int:
    """The sum of all ranks' numbers."""
    total = torch.full((1,), float(number), device=device)
    torch.distributed.all_reduce(total, group=group)
    return int(total.item())


Joinable.register(DistributedDataParallel)  # which stands below

__all__ = ["Join", "JoinHook", "Joinable"]
