"""Which functions of a chain to checkpoint, so that what backward needs fits into so many bytes.

`measure` runs each function alone: what its ops save, and how long it takes. `plan` chooses
segments, each recorded as always or checkpointed, by dynamic programming over (functions so far,
bytes kept so far): the least seconds computed again. In backward of a checkpointed segment there
is what the segments before it keep, its own input, and all that its ops save; what later ones kept
has gone by then.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import tiny_torch as torch
from tiny_torch.autograd import enable_grad, no_grad
from tiny_torch.autograd.graph import saved_tensors_hooks
from tiny_torch.base.modes import Scope
from tiny_torch.nn import Module
from tiny_torch.tensor import Tensor

UNITS = 2048  # the budget's parts: a size is rounded up to whole ones
SCALES = {
    "B": 1, "KB": 1000, "MB": 1000**2, "GB": 1000**3, "TB": 1000**4,
    "KIB": 1024, "MIB": 1024**2, "GIB": 1024**3, "TIB": 1024**4,
}  # fmt: skip


class Segment(NamedTuple):
    """The functions of numbers start to stop - 1; `again`: whether they are checkpointed."""

    start: int
    stop: int
    again: bool


@dataclass(frozen=True)
class Cost:
    """What a function of the chain takes, in bytes and seconds."""

    input: int
    kept: int  # saved by its ops, beside its input
    work: int  # the gradients of its output and input, and a value between
    keeps_input: bool
    keeps_output: bool
    seconds: float


def bytes_of(memory: int | str) -> int:
    """300, "300MB" (millions) or "300MiB" as a number of bytes."""
    if isinstance(memory, int) and not isinstance(memory, bool) and memory > 0:
        return memory
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([KMGT]?I?B)\s*", str(memory).upper())
    size = int(float(match[1]) * SCALES[match[2]]) if match and isinstance(memory, str) else 0
    if size <= 0:
        raise ValueError(
            "checkpoint_sequential: memory is a positive number of bytes, or one with its unit, "
            f"such as '300MB' or '1.5GiB', but got {memory!r}"
        )
    return size


def in_words(size: int) -> str:
    return f"{size / 1e6:.4g}MB"


# --------------------------------------------------------------------------------------- measuring


def measure(functions: Sequence[Callable], input: Tensor) -> list[Cost]:
    """The costs of functions, one after the other on `input`. Random state and buffers stay."""
    costs = []
    with torch.random.fork_rng():
        for k, function in enumerate(functions):
            given = input.detach()
            if given.is_floating_point():
                given.requires_grad_()
            with unchanged_buffers(function):
                saved, output = saved_by(function, given)
                seconds = seconds_of(function, given)
            if not isinstance(output, Tensor):
                raise TypeError(
                    "checkpoint_sequential(memory=): functions take and answer one tensor, but "
                    f"number {k} answered a {type(output).__name__}"
                )
            sizes = {key: memory_of(tensor) for key, tensor in saved.items()}
            keeps_input = sizes.pop(key_of(given), None) is not None
            work = (
                memory_of(output)
                + memory_of(given)
                + max(sizes.values(), default=memory_of(output))
            )
            costs.append(
                Cost(
                    input=memory_of(given) if k else 0,  # the caller has that of the first
                    kept=sum(sizes.values()),
                    work=work,
                    keeps_input=keeps_input,
                    keeps_output=key_of(output) in sizes,
                    seconds=seconds,
                )
            )
            input = output
    return costs


def key_of(tensor: Tensor) -> Any:
    return tensor.array.storage_id


def memory_of(tensor: Tensor) -> int:
    return tensor.untyped_storage().nbytes()


def saved_by(function: Callable, given: Tensor) -> tuple[dict[Any, Tensor], Tensor]:
    """What the function's ops save but for its parameters, by storage; and its result."""
    saved: dict[Any, Tensor] = {}

    def pack(tensor: Tensor) -> Tensor:
        return saved.setdefault(key_of(tensor), tensor)

    with enable_grad(), saved_tensors_hooks(pack, lambda tensor: tensor):
        output = function(given)
    if isinstance(function, Module):
        for tensor in (*function.parameters(), *function.buffers()):
            saved.pop(key_of(tensor), None)
    return saved, output.detach() if isinstance(output, Tensor) else output


def seconds_of(function: Callable, given: Tensor) -> float:
    start = time.perf_counter()
    with no_grad():
        function(given)
    return time.perf_counter() - start


class unchanged_buffers(Scope):
    """A module's buffers, such as a batch norm's averages, are in the end what they were."""

    def __init__(self, function: Callable) -> None:
        self.function = function

    def current(self) -> list[tuple[Tensor, Tensor]]:
        function = self.function
        training = isinstance(function, Module) and any(m.training for m in function.modules())
        return [(b, b.clone()) for b in function.buffers()] if training else []  # type: ignore

    def restore(self, before: list[tuple[Tensor, Tensor]]) -> None:
        with no_grad():
            for buffer, value in before:
                buffer.copy_(value)


# ---------------------------------------------------------------------------------------- choosing


class Chain:
    """The costs of segments, from sums over the functions before each."""

    def __init__(self, costs: list[Cost]):
        self.costs = costs
        self.kept, self.seconds = [0], [0.0]
        for k, cost in enumerate(costs):
            shared = k > 0 and costs[k - 1].keeps_output
            between = cost.input if cost.keeps_input and not shared else 0
            self.kept.append(self.kept[-1] + cost.kept + between)
            self.seconds.append(self.seconds[-1] + cost.seconds)

    def saved_bytes(self, start: int, stop: int) -> int:
        """Bytes that the functions save, but for the first one's input."""
        first = self.kept[start + 1] - self.kept[start] - self.costs[start].kept
        return self.kept[stop] - self.kept[start] - first

    def work(self, start: int, stop: int) -> int:
        return max(cost.work for cost in self.costs[start:stop])

    def input(self, start: int, recorded: bool) -> int:
        """Bytes of a segment's input, unless a recorded one before has saved it."""
        there = start > 0 and recorded and self.costs[start - 1].keeps_output
        return 0 if there else self.costs[start].input

    def demand(self, start: int, stop: int, again: bool, recorded: bool) -> tuple[int, int]:
        """Bytes that a segment keeps, and what its backward takes beside what came before."""
        saved, work = self.saved_bytes(start, stop), self.work(start, stop)
        given = self.input(start, recorded)
        if again:
            return given, given + saved + work
        kept = saved + (given if self.costs[start].keeps_input else 0)
        return kept, kept + work


def plan(costs: list[Cost], budget: int) -> list[Segment] | None:
    """The segments that compute least again within the budget; None if there are none."""
    chain, count = Chain(costs), len(costs)
    unit = max(1, -(-budget // UNITS))
    room = budget // unit
    # seconds[k][again]: by units kept, the least time, where the last segment before k is such
    seconds = np.full((count + 1, 2, room + 1), np.inf)
    came_from = np.zeros((count + 1, 2, room + 1, 3), dtype=np.int32)  # start, its again, its units
    seconds[0, 1, 0] = 0
    for start in range(count):
        for before in (0, 1):
            if not np.isfinite(seconds[start, before]).any():
                continue
            for stop in range(start + 1, count + 1):
                for again in (0, 1):
                    keeps, needs = chain.demand(start, stop, bool(again), not before)
                    keeps, needs = -(-keeps // unit), -(-needs // unit)
                    if needs > room:
                        continue
                    sources = np.arange(room - needs + 1)
                    time = seconds[start, before, sources]
                    if again:
                        time = time + chain.seconds[stop] - chain.seconds[start]
                    there = seconds[stop, again, sources + keeps]
                    better = sources[time < there]
                    seconds[stop, again, better + keeps] = time[better]
                    came_from[stop, again, better + keeps] = np.stack(
                        [np.full_like(better, start), np.full_like(better, before), better], 1
                    )
    if not np.isfinite(seconds[count]).any():
        return None
    again, units = divmod(int(seconds[count].argmin()), room + 1)
    segments: list[Segment] = []
    stop = count
    while stop:
        start, before, came_with = map(int, came_from[stop, again, units])
        segments.append(Segment(start, stop, bool(again)))
        stop, again, units = start, before, came_with
    return segments[::-1]


def least(costs: list[Cost]) -> int:
    """The least budget for which there is a plan, to a percent."""
    chain = Chain(costs)
    low, high = 0, 2 * (chain.kept[-1] + chain.work(0, len(costs)) + len(costs))
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        low, high = (low, middle) if plan(costs, middle) else (middle, high)
    return high


def segments_within(
    functions: Sequence[Callable], input: Tensor, memory: int | str
) -> list[Segment]:
    """The segments of a chain for a budget; ValueError where it cannot be kept."""
    budget = bytes_of(memory)
    if not isinstance(input, Tensor):
        raise TypeError(
            f"checkpoint_sequential(memory=): input is a tensor, but got a {type(input).__name__}"
        )
    costs = measure(functions, input)
    segments = plan(costs, budget) if costs else []
    if segments is None:
        raise ValueError(
            f"checkpoint_sequential: memory={memory!r} is too little: {len(costs)} functions on an "
            f"input of shape {tuple(input.shape)} need {in_words(least(costs))} at least, and "
            f"{in_words(Chain(costs).kept[-1])} without checkpoints"
        )
    return segments
