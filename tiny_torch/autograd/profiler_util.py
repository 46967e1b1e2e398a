"""What a profile consists of: events, their averages, and lists of them.

https://pytorch.org/docs/stable/autograd.html#torch.autograd.profiler_util.FunctionEvent
"""

from __future__ import annotations

import json
from enum import IntEnum
from typing import Any, NamedTuple

from tiny_torch.autograd._profiler.files import write_whole
from tiny_torch.autograd._profiler.table import format_time, table_of

__all__ = [
    "EventList",
    "FormattedTimesMixin",
    "FunctionEvent",
    "FunctionEventAvg",
    "Interval",
    "Kernel",
]


class DeviceType(IntEnum):
    """Kinds of devices by PyTorch's numbers; everything here is measured on the CPU."""

    CPU = 0
    CUDA = 1


def _format(name: str) -> Any:
    return property(lambda self: format_time(getattr(self, name)), doc=f"`{name}`, with a unit.")


class FormattedTimesMixin:
    """Averages and texts of what has times in microseconds and a `count`."""

    count: int
    cpu_time_total: float
    device_time_total: float
    cpu_time_str = _format("cpu_time")
    cpu_time_total_str = _format("cpu_time_total")
    self_cpu_time_total_str = _format("self_cpu_time_total")
    device_time_str = _format("device_time")
    device_time_total_str = _format("device_time_total")
    self_device_time_total_str = _format("self_device_time_total")

    @property
    def cpu_time(self) -> float:
        """Microseconds per call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self) -> float:
        """Microseconds per call on another device: none are measured."""
        return self.device_time_total / self.count if self.count else 0.0


class Interval:
    """From `start` to `end`, in microseconds since profiling began."""

    def __init__(self, start: float, end: float) -> None:
        self.start = start
        self.end = end

    def elapsed_us(self) -> float:
        """Its length."""
        return self.end - self.start


class Kernel(NamedTuple):
    """A kernel of another device; none are measured."""

    name: str
    device: int
    duration: float


class FunctionEvent(FormattedTimesMixin):
    """One call of an op, a node of backward, a module, or a `record_function` block.

    Times are in microseconds, memory in bytes. `cpu_parent` and `cpu_children` say what was called
    within what; `self_...` leaves the children out. `scope` is 0, or 1 of a node in backward, 7 of
    a block. `sequence_nr` is that of the node which the op has made, and which backward runs.
    """

    def __init__(
        self,
        id: int,
        name: str,
        thread: int,
        start_us: float,
        end_us: float,
        *,
        trace_name: str | None = None,
        fwd_thread: int | None = None,
        input_shapes: Any = None,
        stack: list[str] | None = None,
        scope: int = 0,
        cpu_memory_usage: int = 0,
        sequence_nr: int = -1,
        flops: int = 0,
        concrete_inputs: list[Any] | None = None,
        input_dtypes: list[str] | None = None,
        is_user_annotation: bool = False,
    ) -> None:
        self.id = id
        self.name = name
        self.trace_name = name if trace_name is None else trace_name
        self.time_range = Interval(start_us, end_us)
        self.thread = thread
        self.fwd_thread = fwd_thread
        self.input_shapes = [] if input_shapes is None else input_shapes
        self.structured_input_shapes = self.input_shapes
        self.concrete_inputs = [] if concrete_inputs is None else concrete_inputs
        self.input_dtypes = [] if input_dtypes is None else input_dtypes
        self.stack = [] if stack is None else stack
        self.scope = scope
        self.cpu_memory_usage = cpu_memory_usage
        self.sequence_nr = sequence_nr
        self.flops = flops
        self.is_user_annotation = is_user_annotation
        self.count = 1
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        self.kernels: list[Kernel] = []
        self.overload_name = ""
        self.node_id = -1
        self.device_type = DeviceType.CPU
        self.device_index = 0
        self.device_memory_usage = self.self_device_memory_usage = 0
        self.device_time_total = self.self_device_time_total = 0
        self.use_device = None
        self.is_async = self.is_remote = self.is_legacy = False

    @property
    def key(self) -> str:
        """What averages are grouped by."""
        return self.name

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """Its whole time."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:
        """Its time without that of its children."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def self_cpu_memory_usage(self) -> int:
        """By how much it has changed the bytes in use, without its children."""
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """One more event within it."""
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent: FunctionEvent) -> None:
        """The event that it lies in."""
        self.cpu_parent = parent

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start} end_us={self.time_range.end} "
            f"cpu_children={[child.id for child in self.cpu_children]} thread={self.thread} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} "
            f"seq_nr={self.sequence_nr}>"
        )


# What an average takes from its first event, and what it adds up.
TAKEN = (
    "key", "node_id", "is_async", "is_remote", "cpu_parent", "cpu_children", "overload_name",
    "input_shapes", "stack", "scope", "device_type", "is_legacy", "use_device",
    "is_user_annotation",
)  # fmt: skip
ADDED = (
    "cpu_time_total", "self_cpu_time_total", "device_time_total", "self_device_time_total",
    "cpu_memory_usage", "self_cpu_memory_usage", "device_memory_usage",
    "self_device_memory_usage", "count", "flops",
)  # fmt: skip


class FunctionEventAvg(FormattedTimesMixin):
    """Sums over events of one key: the attributes of FunctionEvent, and `count` of them."""

    key: Any
    input_shapes: Any
    stack: Any
    flops: int
    cpu_parent: Any

    def __init__(self) -> None:
        for name in TAKEN:
            setattr(self, name, None)
        for name in ADDED:
            setattr(self, name, 0)
        self.device_type = DeviceType.CPU
        self.is_async = self.is_remote = self.is_legacy = False

    def add(self, other: Any) -> FunctionEventAvg:
        """One more event, or average, of the same key; AssertionError for another."""
        if not isinstance(other, (FunctionEvent, FunctionEventAvg)):
            raise AssertionError("Expected other to be a FunctionEvent or FunctionEventAvg")
        if self.key is None:
            for name in TAKEN:
                setattr(self, name, getattr(other, name))
        if other.key != self.key:
            raise AssertionError(f"Expected keys to match, but got {other.key} vs {self.key}")
        for name in ADDED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str}  input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage}>"  # type: ignore[attr-defined]
        )


METRICS = (
    "self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total",
    "self_privateuse1_time_total",
)  # fmt: skip


class EventList(list):
    """Events, or averages of them, as a table or in a file.

    >>> import tiny_torch as torch
    >>> with torch.profiler.profile() as prof:
    ...     y = torch.ones(2, 2) @ torch.ones(2, 2)
    >>> [(event.key, event.count) for event in prof.key_averages()]
    [('aten::mm', 1)]
    """

    def __init__(self, *args: Any, profile_memory: bool = False, with_flops: bool = False) -> None:
        super().__init__(*args)
        self._profile_memory = profile_memory
        self._with_flops = with_flops

    def __str__(self) -> str:
        return self.table()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds in all events, none counted twice."""
        return sum(event.self_cpu_time_total for event in self)

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int | None = 75,
        max_name_column_width: int | None = 55,
        max_shapes_column_width: int | None = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The events as text: the first `row_limit` (-1: all), the largest `sort_by` first.

        `time_unit` is "s", "ms" or "us", by default what fits each number. Raises AttributeError
        for a `sort_by` that no event has.
        """
        return table_of(
            self,
            sort_by=sort_by,
            row_limit=row_limit,
            max_src_column_width=max_src_column_width,
            max_name_column_width=max_name_column_width,
            max_shapes_column_width=max_shapes_column_width,
            header=header,
            top_level_events_only=top_level_events_only,
            time_unit=time_unit,
            profile_memory=self._profile_memory,
            with_flops=self._with_flops,
        )

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """Sums over events of one name; and of one shape of inputs, of the top n lines of stack.

        Ops have no overloads here: `group_by_overload_name` makes no further groups.
        """
        groups: dict[tuple, FunctionEventAvg] = {}
        for event in self:
            key: tuple = (event.key, event.is_user_annotation)
            if group_by_overload_name:
                key += (event.overload_name,)
            if group_by_input_shapes:
                key += (str(event.input_shapes),)
            if group_by_stack_n > 0:
                key += tuple(event.stack[:group_by_stack_n])
            groups.setdefault(key, FunctionEventAvg()).add(event)
        for average in groups.values():
            average.stack = average.stack[:group_by_stack_n]
            if not group_by_input_shapes:
                average.input_shapes = ""
        return EventList(
            groups.values(), profile_memory=self._profile_memory, with_flops=self._with_flops
        )

    def total_average(self) -> FunctionEventAvg:
        """One sum over all events, of the key "Total"."""
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
            total.key = None
        total.key = "Total"
        return total

    def supported_export_stacks_metrics(self) -> list[str]:
        """What `export_stacks` may be asked for."""
        return list(METRICS)

    def export_stacks(self, path: str, metric: str) -> None:
        """A line per event, as flame graphs are drawn from: "outermost;...;innermost number".

        Raises ValueError for an unknown metric, RuntimeError or OSError where it cannot be written.
        """
        if metric not in METRICS:
            raise ValueError(f"metric should be one of: {list(METRICS)}")
        for device in ("cuda", "xpu", "privateuse1"):
            metric = metric.replace(device, "device")
        spaces = str.maketrans(" ;\t\n", "____")
        lines = [
            f"{';'.join(entry.translate(spaces) for entry in reversed(event.stack))} {value}\n"
            for event in self
            if event.stack and (value := int(getattr(event, metric))) > 0
        ]
        write_whole(path, "".join(lines))

    def export_chrome_trace(self, path: str) -> None:
        """The events for chrome://tracing or Perfetto, without what `profile`'s own adds.

        Raises RuntimeError or OSError where the file cannot be written.
        """
        write_whole(path, json.dumps([span(event) for event in self]))


def span(event: FunctionEvent) -> dict[str, Any]:
    """An event as a trace has it."""
    return {
        "name": event.trace_name,
        "ph": "X",
        "ts": event.time_range.start,
        "dur": event.time_range.elapsed_us(),
        "tid": event.thread,
        "pid": "CPU functions",
        "args": {},
    }
