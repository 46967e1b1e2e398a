"""The sums behind a profile's page: time and work of calls, by phase, op, module and line."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

from tiny_torch.autograd._profiler.costs import (
    bytes_of,
    bytes_of_backward,
    flops_of,
    flops_of_backward,
)
from tiny_torch.autograd._profiler.events import Recording, Row, events_of
from tiny_torch.autograd.profiler_util import FunctionEvent
from tiny_torch.autograd.record import BACKWARD, MODULE, RANGE
from tiny_torch.tools.profiler.limits import Limits

OPTIMIZER, LOADER = "Optimizer.", "enumerate(DataLoader)"
ACCUMULATE = "torch::autograd::AccumulateGrad"
# Where time goes. What is none of an op's, a loader's or an optimizer's is Python's.
FORWARD, BACKWARDS, OPTIMIZERS, DATA = "forward", "backward", "optimizer", "waiting for data"
ENGINE, PYTHON = "Python within backward", "Python between ops"
PHASES = FORWARD, BACKWARDS, OPTIMIZERS, DATA, ENGINE, PYTHON


class Call(NamedTuple):
    """A row of the record, in us, with what it belongs to."""

    name: str  # "aten::linear, backward" of its node, and of what adds its gradients to leaves'
    what: Any  # the class of its op, in backward too; a name or a module
    arguments: Any  # shapes and dtypes of the op's, in backward too
    form: int  # as autograd/record.py has them
    phase: str
    module: str
    line: str
    own: float
    gap: float  # the time before it, since the call before within the same
    flops: int
    bytes: int
    event: FunctionEvent

    @property
    def is_op(self) -> bool:
        """False of modules, blocks and a user's Functions."""
        return isinstance(self.what, type)

    @property
    def cost(self) -> str:
        """What its op says of its work."""
        return self.what.cost if self.is_op else ""

    @property
    def accumulates(self) -> bool:
        """Whether it adds a gradient to a leaf's."""
        return self.event.name == ACCUMULATE


class Sum(NamedTuple):
    """What one line of a table adds up, in microseconds."""

    calls: int = 0
    own: float = 0.0
    total: float = 0.0
    flops: int = 0
    bytes: int = 0

    def plus(self, call: Call, calls: int = 1, whole: bool = True) -> Sum:
        """With a call, and unless `whole` is False its whole time."""
        return Sum(
            self.calls + calls,
            self.own + call.own,
            self.total + call.event.cpu_time_total * whole,
            self.flops + call.flops,
            self.bytes + call.bytes,
        )

    def share_of(self, limits: Limits) -> float:
        """The speed as a part of what the machine's roofline allows for this work."""
        need = max(self.flops / limits.flops, self.bytes / limits.bytes) * 1e6
        return need / self.own if self.own else 0.0


def paths_of(recording: Recording) -> dict[int, str]:
    """{id of a module: its way from the outermost one that was called}, as in "Net.layers.0"."""
    found: dict[int, str] = {}
    for row in recording.rows:
        if row.form == MODULE and id(row.what) not in found:
            root = type(row.what).__name__
            for name, module in row.what.named_modules():
                found.setdefault(id(module), f"{root}.{name}" if name else root)
    return found


class Totals:
    """The sums of a recording. `costs`: per row, the ns that recording it took before it began."""

    def __init__(self, recording: Recording, limits: Limits, costs: list[int]) -> None:
        self.recording = recording
        self.limits = limits
        self.ops: dict[str, Sum] = {}
        self.modules: dict[str, Sum] = {}
        self.lines: dict[str, Sum] = {}
        self.shares: dict[str, float] = dict.fromkeys(PHASES, 0.0)
        self.calls = self._calls(costs)
        for call in self.calls:
            self._add(call)
        ends = [call.event.time_range.end for call in self.calls]
        self.recorder = sum(costs[1:]) / 1e3
        # From the first call to the last, without what recording takes.
        self.wall = max(ends) - self.calls[0].event.time_range.start - self.recorder if ends else 0
        self.shares[PYTHON] = max(0.0, self.wall - sum(self.shares.values()))

    def share(self, calls: Any, around: bool = False) -> float:
        """The calls' part of the time: their own, and the Python before them if `around`."""
        time = sum(call.own + (min(call.gap, AROUND) if around else 0.0) for call in calls)
        return min(time / self.wall, 1.0) if self.wall else 0.0

    def _calls(self, costs: list[int]) -> list[Call]:
        paths = paths_of(self.recording)
        events = events_of(self.recording, with_flops=False, with_shapes=False)
        found: list[Call] = []
        made: dict[int, Call] = {}  # by the number of the node
        last: dict[int, Call] = {}  # {a call, or -1: the last of those within it}
        node: Call | None = None  # the last that ran in backward
        recording: dict[int, float] = defaultdict(float)  # {a call, or -1: us of rows within it}
        for event, cost in zip(events, costs, strict=True):
            recording[event.cpu_parent.id if event.cpu_parent else -1] += cost / 1e3
        for row, event, cost in zip(self.recording.rows, events, costs, strict=True):
            within = event.cpu_parent.id if event.cpu_parent else -1
            parent, before = found[within] if within >= 0 else None, last.get(within)
            origin = None
            if row.form == BACKWARD:
                origin = node if event.name == ACCUMULATE else made.get(row.sequence)
            module = paths[id(row.what)] if row.form == MODULE else parent.module if parent else ""
            flops, size = work_of(row, event, origin)
            gap = event.time_range.start - before.event.time_range.end if before else 0.0
            call = Call(
                name=event_name(event, origin),
                what=origin.what if origin else row.what,
                arguments=origin.arguments if origin else row.arguments,
                form=row.form,
                phase=phase_of(row, event, parent),
                module=origin.module if origin else module,
                line=event.stack[0] if event.stack else origin.line if origin else "",
                own=event.self_cpu_time_total - recording[event.id],
                gap=max(0.0, gap - cost / 1e3),
                flops=flops,
                bytes=size,
                event=event,
            )
            if row.form == BACKWARD and not call.accumulates:
                node = call
            elif row.sequence >= 0 and row.form != BACKWARD:
                made.setdefault(row.sequence, call)
            if before and before.phase == call.phase == BACKWARDS and python_runs(parent):
                self.shares[ENGINE] += call.gap
            last[within] = call
            found.append(call)
        return found

    def _add(self, call: Call) -> None:
        if call.phase != PYTHON:
            self.shares[call.phase] += call.own
        if call.form != MODULE:
            for sums, key in ((self.ops, call.name), (self.lines, call.line or "elsewhere")):
                sums[key] = sums.get(key, Sum()).plus(call, int(not call.accumulates))
        if call.module:
            so_far, runs = self.modules.get(call.module, Sum()), call.form == MODULE
            self.modules[call.module] = so_far.plus(call, int(runs), runs)


AROUND = 50.0  # us: a longer time between two calls is something of its own


def event_name(event: FunctionEvent, origin: Call | None) -> str:
    """In backward that of the op: PyTorch's names of nodes, as ViewBackward0, tell less."""
    if origin is None:
        return event.name
    return origin.name if event.name == ACCUMULATE else f"{origin.name}, backward"


def python_runs(parent: Call | None) -> bool:
    """Whether the time of what is called is Python's own, but for what that calls."""
    return parent is None or parent.phase == PYTHON


def phase_of(row: Row, event: FunctionEvent, parent: Call | None) -> str:
    """That of what it lies in, unless that is Python's own."""
    if parent is not None and parent.phase != PYTHON:
        return parent.phase
    if event.name.startswith(LOADER):
        return DATA
    if event.name.startswith(OPTIMIZER):
        return OPTIMIZERS
    if row.form == BACKWARD:
        return BACKWARDS
    return PYTHON if row.form in (MODULE, RANGE) else FORWARD


def work_of(row: Row, event: FunctionEvent, origin: Call | None) -> tuple[int, int]:
    """Operations and bytes, as far as they are known."""
    if row.form != BACKWARD:
        return flops_of(row.what, row.arguments), bytes_of(row.what, row.arguments)
    if origin is None or event.name == ACCUMULATE:
        return 0, 0
    work = origin.what, origin.arguments, row.hint
    return flops_of_backward(*work), bytes_of_backward(*work)
