"""Where the time of a program goes: which ops ran, forward and backward, for how long.

`torch.profiler` builds on this. Ops write rows while a profile is on (autograd/record.py); off they
cost nothing. Only the thread that starts a profile is seen, and only the CPU's time is measured.
https://pytorch.org/docs/stable/autograd.html#profiler
"""

from __future__ import annotations

import functools
import threading
import uuid
import warnings
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

import tiny_torch as torch
from tiny_torch.autograd._profiler.events import Recording, Row, call_stack, events_of
from tiny_torch.autograd._profiler.files import write_whole
from tiny_torch.autograd._profiler.trace import trace_of
from tiny_torch.autograd.profiler_util import EventList, FunctionEvent, FunctionEventAvg
from tiny_torch.autograd.record import (
    RANGE,
    enter,
    leave,
    start_record,
    stop_record,
    watch_modules,
)
from tiny_torch.base.modes import RECORDED, Scope, modes

__all__ = ["EventList", "FunctionEvent", "profile", "record_function"]

DEVICES = ("cuda", "xpu", "mtia", "hpu")


class record_function:
    """A block, or with it as a decorator a function, that profiles show under a name.

    Raises RuntimeError for a name that is no string. Off, it costs a fraction of a microsecond.
    https://pytorch.org/docs/stable/generated/torch.autograd.profiler.record_function.html

    >>> import tiny_torch as torch
    >>> with torch.profiler.profile() as prof:
    ...     with torch.profiler.record_function("twice"):
    ...         y = torch.ones(2) * 2
    >>> [event.name for event in prof.events()]
    ['twice', 'aten::mul']
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self._rows: list[Any] = []  # a decorated function may call itself

    def __enter__(self) -> record_function:
        if not isinstance(self.name, str):
            raise RuntimeError(
                "profiler::_record_function_enter_new() Expected a value of type 'str' for "
                f"argument 'name' but instead found type '{type(self.name).__name__}'."
            )
        arguments = () if self.args is None else (self.args,)
        self._rows.append(enter(self.name, RANGE, -1, arguments))
        return self

    def __exit__(self, *exception: Any) -> None:
        leave(self._rows.pop())

    def __call__(self, function: Callable) -> Callable:
        @functools.wraps(function)
        def inner(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return inner


# ---- the profile --------------------------------------------------------------------------------


def _usable(device: str | None) -> None:
    """Warns that nothing is measured there; AssertionError for devices that PyTorch refuses."""
    if device is None:
        return
    if device not in DEVICES:
        warnings.warn(f"The {device} is not a valid device option.", stacklevel=4)
    elif device == "cuda" and torch.cuda.is_available():
        warnings.warn("Times on the GPU are not measured, only those on the CPU", stacklevel=4)
    elif device == "mtia":
        raise AssertionError(
            "Legacy MTIA profiling is not supported. Requires use_kineto=True on MTIA devices."
        )
    else:
        name = device.upper()
        warnings.warn(f"{name} is not available, disabling {name} profiling", stacklevel=4)


class profile(Scope):
    """What the ops in a ``with`` block took: `torch.profiler.profile` without its schedule.

    `record_shapes` keeps the shapes of inputs, `with_flops` counts operations, `profile_memory`
    the bytes in use before and after, `with_stack` the lines of Python, `with_modules` shows
    calls of modules. Blocks of one thread do not nest: RuntimeError. `use_device` other than None
    warns, since only the CPU is measured; `experimental_config` and `activity_filters` raise
    NotImplementedError.
    https://pytorch.org/docs/stable/autograd.html#torch.autograd.profiler.profile

    >>> import tiny_torch as torch
    >>> x = torch.ones(2, 2, requires_grad=True)
    >>> with torch.autograd.profiler.profile() as prof:
    ...     x.exp().sum().backward()
    >>> [event.name for event in prof.function_events]
    ['aten::exp', 'aten::sum', 'SumBackward0', 'ExpBackward0', 'torch::autograd::AccumulateGrad']
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
        activity_filters: Any = None,
    ) -> None:
        self.enabled = enabled
        if not enabled:
            return
        if experimental_config is not None:
            raise NotImplementedError("profile: experimental_config")
        if activity_filters:
            raise NotImplementedError("profile: activity_filters")
        if use_cuda:
            warnings.warn(
                "The attribute `use_cuda` will be deprecated soon, "
                "please use ``use_device = 'cuda'`` instead.",
                FutureWarning,
                stacklevel=2,
            )
        if not use_cpu and not use_kineto:
            raise AssertionError("Device-only events supported only with Kineto (use_kineto=True)")
        _usable("cuda" if use_cuda else use_device)
        if not use_cpu:
            raise AssertionError("No activities specified for the profiler")
        if post_processing_timeout_s is not None and post_processing_timeout_s < 0:
            raise ValueError("post_processing_timeout_s must be non-negative")
        self.record_shapes = record_shapes or with_flops
        self.with_flops = with_flops
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_modules = with_modules
        self.acc_events = acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self.post_processing_timeout_s = post_processing_timeout_s
        self.trace_id = ""
        self.entered = False
        self._recording: Recording | None = None
        self._started = self._thread = 0
        self._events: EventList | None = None
        self._earlier: list[FunctionEvent] = []  # of blocks before, with acc_events
        self._saved = False

    def current(self) -> None:
        if self.enabled and self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")

    def begin(self) -> profile | None:
        if not self.enabled:
            return None
        self._prepare()
        self._start()
        return self

    def restore(self, before: None) -> None:
        if self.enabled:
            self._stop()

    def _prepare(self) -> None:
        self.entered = True
        name = self.custom_trace_id_callback
        self.trace_id = name() if name else uuid.uuid4().hex.upper()

    def _start(self) -> None:
        self.entered = True
        if not modes.bits & RECORDED:  # else that is another's, and start_record says so
            self._thread = threading.get_native_id()
        start_record(
            self.record_shapes, self.profile_memory, call_stack if self.with_stack else None
        )
        if self.with_modules or self.with_stack:
            watch_modules(self, True)
        self._started = perf_counter_ns()

    def _stop(self) -> None:
        stop, thread = perf_counter_ns(), threading.get_native_id()
        if not self._thread:  # stopped already
            return
        if thread != self._thread:
            raise RuntimeError("a profile is stopped on the thread that has started it")
        rows = [Row(*row) for row in stop_record()]
        if self.with_modules or self.with_stack:
            watch_modules(self, False)
        self._thread = 0
        if self.acc_events and self._recording is not None:
            self._earlier = list(self.function_events)
        self._recording = Recording(rows, thread, self._started, stop)
        self._events = None
        self._saved = False

    @property
    def function_events(self) -> EventList:
        """All events, in the order in which they began; none before the block's end.

        Raises AssertionError for a profile that is not enabled.
        """
        if self.enabled and self._recording is None:
            return self._list_of([])
        if self._events is None:
            recording = self._finish()
            events = events_of(
                recording,
                with_flops=self.with_flops,
                with_shapes=self.record_shapes,
                timeout_s=self.post_processing_timeout_s,
            )
            self._events = self._list_of([*events, *self._earlier])
        return self._events

    def _list_of(self, events: list[FunctionEvent]) -> EventList:
        return EventList(events, profile_memory=self.profile_memory, with_flops=self.with_flops)

    def _finish(self) -> Recording:
        if not self.enabled or self._recording is None:
            raise AssertionError("Expected profiling results")
        return self._recording

    def __repr__(self) -> str:
        return repr(self.function_events) if self._is_over() else UNFINISHED

    def __str__(self) -> str:
        return str(self.function_events) if self._is_over() else UNFINISHED

    def _is_over(self) -> bool:
        return self.enabled and self._recording is not None

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int | None = 75,
        max_name_column_width: int | None = 55,
        max_shapes_column_width: int | None = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
    ) -> str:
        """EventList.table of all events."""
        return self.function_events.table(
            sort_by,
            row_limit,
            max_src_column_width,
            max_name_column_width,
            max_shapes_column_width,
            header,
            top_level_events_only,
        )

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """EventList.key_averages of all events."""
        return self.function_events.key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def total_average(self) -> FunctionEventAvg:
        """EventList.total_average of all events."""
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds in all ops."""
        return self.function_events.self_cpu_time_total

    def export_chrome_trace(
        self, path: str, metadata: dict[str, str] | None = None, use_python_export: bool = False
    ) -> None:
        """Writes the last block's trace, once; `metadata` are values in JSON.

        There is one way to write, which `use_python_export` does not change. Raises RuntimeError
        where the trace is saved already, RuntimeError or OSError where it cannot be written: then
        nothing is left behind.
        """
        recording = self._finish()
        if self._saved:
            raise RuntimeError("Trace is already saved.")
        last = self.function_events[: len(self.function_events) - len(self._earlier)]
        text = trace_of(
            last,
            recording,
            metadata or {},
            trace_id=self.trace_id,
            profile_memory=self.profile_memory,
            name=str(path),
        )
        write_whole(path, text)
        self._saved = True

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """EventList.export_stacks; AssertionError without `with_stack`."""
        events = self.function_events
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        events.export_stacks(path, metric)


UNFINISHED = "<unfinished torch.autograd.profile>"
