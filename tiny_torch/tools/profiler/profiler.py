"""`profile`: autograd/profiler.py's, switched on and off by a schedule, with traces to save."""

from __future__ import annotations

import json
import os
import socket
import time
import warnings
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from tiny_torch.autograd import profiler as autograd_profiler
from tiny_torch.autograd.profiler_util import EventList
from tiny_torch.base.modes import Scope
from tiny_torch.tools.profiler.schedules import ProfilerAction, always
from tiny_torch.tools.profiler.schedules import schedule as schedule

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "profile",
    "supported_activities",
    "tensorboard_trace_handler",
]

NONE, WARMUP, RECORD = ProfilerAction.NONE, ProfilerAction.WARMUP, ProfilerAction.RECORD
SAVE = ProfilerAction.RECORD_AND_SAVE


class ProfilerActivity(Enum):
    """What may be recorded, by PyTorch's numbers; here CPU alone is."""

    CPU = 0
    XPU = 1
    CUDA = 2
    HPU = 3
    MTIA = 4
    PrivateUse1 = 5


DEVICES = {
    ProfilerActivity.CUDA: "cuda",
    ProfilerActivity.XPU: "xpu",
    ProfilerActivity.MTIA: "mtia",
    ProfilerActivity.HPU: "hpu",
    ProfilerActivity.PrivateUse1: "privateuseone",
}


def supported_activities() -> set[ProfilerActivity]:
    """Those that are recorded: ``{ProfilerActivity.CPU}``."""
    return {ProfilerActivity.CPU}


def activities_in(given: Iterable[Any] | None) -> set[ProfilerActivity]:
    """As a set. AssertionError where there is none, ValueError for one given twice."""
    if given is None:
        return supported_activities()
    given = list(given)
    if any(isinstance(item, dict) for item in given):
        raise NotImplementedError("profile: activities as a dict of their types")
    found = [item for item in given if isinstance(item, ProfilerActivity)]
    if not found:
        raise AssertionError("No valid profiler activities found")
    for item in given:
        if not isinstance(item, ProfilerActivity):
            raise TypeError(f"Expected ProfilerActivity or dict, got {type(item)}")
        if found.count(item) > 1:
            raise ValueError(f"Activity {item} specified more than once")
    return set(found)


def tensorboard_trace_handler(
    dir_name: str,
    worker_name: str | None = None,
    use_gzip: bool = False,
    use_python_export: bool = False,
) -> Callable[[Any], None]:
    """An `on_trace_ready` that writes each trace into a folder, as TensorBoard looks for it.

    `worker_name` is by default the host's name and the number of the process. The handler raises
    RuntimeError where the folder cannot be made. `use_python_export` changes nothing: there is one
    way to write.
    https://pytorch.org/docs/stable/profiler.html#torch.profiler.tensorboard_trace_handler
    """

    def handler_fn(prof: profile) -> None:
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise RuntimeError(f"Can't create directory: {dir_name}") from error
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' * use_gzip}"
        prof.export_chrome_trace(os.path.join(dir_name, name), use_python_export=use_python_export)

    return handler_fn


class profile(Scope):
    """Records the ops of a ``with`` block, or of those of its steps that a schedule names.

    `activities` are of ProfilerActivity; only CPU is measured, others warn. ``step()`` says that
    the next step begins; `schedule(step)` then answers a ProfilerAction. `on_trace_ready(prof)` is
    called when a cycle has been recorded. `record_shapes` keeps shapes and dtypes of inputs,
    `profile_memory` the bytes in use, `with_stack` the lines of Python, `with_flops` counts the
    operations of products, convolutions, attention, add and mul; with `with_modules` calls of
    modules are events, too. `acc_events` keeps the events of earlier cycles.
    `experimental_config` and `execution_trace_observer` raise NotImplementedError.
    https://pytorch.org/docs/stable/profiler.html#torch.profiler.profile

    >>> import tiny_torch as torch
    >>> net = torch.nn.Linear(3, 4)
    >>> with torch.profiler.profile(with_flops=True, with_modules=True) as prof:
    ...     y = net(torch.ones(2, 3))
    >>> [(event.key, event.count, event.flops) for event in prof.key_averages()]
    [('nn.Module: Linear_0', 1, 0), ('aten::linear', 1, 48)]
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        self.activities = activities_in(activities)
        if experimental_config is not None:
            raise NotImplementedError("profile: experimental_config")
        if execution_trace_observer is not None:
            raise NotImplementedError("profile: execution_trace_observer")
        if use_cuda is not None:
            warnings.warn(
                "`use_cuda` is deprecated, use `activities` argument instead",
                FutureWarning,
                stacklevel=2,
            )
            (self.activities.add if use_cuda else self.activities.discard)(ProfilerActivity.CUDA)
            if not self.activities:
                raise AssertionError("No valid profiler activities found")
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_flops = with_flops
        self.with_modules = with_modules
        self.acc_events = acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self.post_processing_timeout_s = post_processing_timeout_s
        self.schedule = schedule or always
        self.record_steps = schedule is not None  # with a mark for each step
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = self._action(0)
        self.profiler: Any = None
        self.preset_metadata: dict[str, str] = {}
        self._metadata: dict[str, str] = {}
        self._mark: Any = None
        self._open = False  # in a `with`

    def begin(self) -> profile:
        self.start()
        self._open = True
        return self

    def restore(self, before: None) -> None:
        if self._open:
            self._open = False
            self.stop()
        elif self.profiler is not None:  # interrupted before: nothing is told any more
            self.profiler._stop()
            self._mark = None

    # ---- steps ------------------------------------------------------------------------------

    def start(self) -> None:
        """Begins the first step."""
        self._turn(NONE, self.current_action)
        self._begin_step()

    def step(self) -> None:
        """Ends a step and begins the next. ValueError where the schedule says DEVICE_STOPPED."""
        self._end_step()
        before, following = self.current_action, self._action(self.step_num + 1)
        self.step_num += 1
        self.current_action = following
        self._turn(before, following)
        self._begin_step()

    def stop(self) -> None:
        """Ends the last step; what was recorded so far is ready."""
        self._end_step()
        if self.current_action is WARMUP:
            self.start_trace()
            self.stop_trace()
        elif self.current_action is not NONE:
            self.stop_trace()
            self._ready()

    def _action(self, step: int) -> ProfilerAction:
        action = self.schedule(step)
        if action is ProfilerAction.DEVICE_STOPPED:
            raise ValueError(
                "ProfilerAction.DEVICE_STOPPED is set internally by the profiler and must not be "
                "returned by a user-provided schedule"
            )
        return action

    def _begin_step(self) -> None:
        if self.record_steps:
            mark = autograd_profiler.record_function(f"ProfilerStep#{self.step_num}")
            self._mark = mark.__enter__()

    def _end_step(self) -> None:
        mark, self._mark = self._mark, None
        if mark is not None:
            mark.__exit__(None, None, None)

    def _turn(self, before: ProfilerAction, now: ProfilerAction) -> None:
        """From one action to the next: what was recorded is closed, what is to be is opened."""
        recording = before in (RECORD, SAVE)
        incorrect = before in (WARMUP, RECORD) and (
            now is NONE or (before is RECORD and now is WARMUP)
        )
        if incorrect:
            warnings.warn(f"Incorrect schedule: {before.name} followed by {now.name}", stacklevel=4)
        if recording and (before is SAVE or incorrect):
            self.stop_trace()
            recording = False
            if before is SAVE:
                self._ready()
        if now is NONE or recording:
            return
        if before is not WARMUP:
            self.prepare_trace()
        if now in (RECORD, SAVE):
            self.start_trace()

    def _ready(self) -> None:
        if self.on_trace_ready:
            self.on_trace_ready(self)

    # ---- one cycle --------------------------------------------------------------------------

    def prepare_trace(self) -> None:
        """A record for the next cycle; nothing is recorded yet."""
        if self.profiler is not None and self.acc_events:
            self.profiler.custom_trace_id_callback = self.custom_trace_id_callback
        else:
            devices = sorted(DEVICES[a] for a in self.activities if a in DEVICES)
            self.profiler = autograd_profiler.profile(
                use_cpu=ProfilerActivity.CPU in self.activities,
                use_device=devices[0] if devices else None,
                use_kineto=True,
                record_shapes=self.record_shapes,
                with_flops=self.with_flops,
                profile_memory=self.profile_memory,
                with_stack=self.with_stack,
                with_modules=self.with_modules,
                acc_events=self.acc_events,
                custom_trace_id_callback=self.custom_trace_id_callback,
                post_processing_timeout_s=self.post_processing_timeout_s,
            )
        self.profiler._prepare()

    def start_trace(self) -> None:
        """Recording begins. RuntimeError where this thread is recorded already."""
        self._existing("starting trace")._start()
        for name in ("profile_memory", "with_stack", "record_shapes", "with_modules", "with_flops"):
            if getattr(self, name):
                self.add_metadata_json(name, "1")
        self._metadata.update(self.preset_metadata)

    def stop_trace(self) -> None:
        """Recording ends."""
        self._existing("stopping trace")._stop()

    def _existing(self, purpose: str) -> Any:
        if self.profiler is None:
            raise AssertionError(f"Profiler must be initialized before {purpose}")
        return self.profiler

    # ---- results ----------------------------------------------------------------------------

    def events(self) -> EventList:
        """All events of the last cycle, in the order in which they began."""
        return self._existing("accessing events").function_events

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """Sums over events of one name; and of one shape of inputs, of the top n lines of stack.

        Shapes and lines are there only with `record_shapes` and `with_stack`; ops have no
        overloads here.
        """
        return self._existing("getting key averages").key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def export_chrome_trace(self, path: str, use_python_export: bool = False) -> None:
        """Writes the last cycle for Perfetto or chrome://tracing, once; gzipped to a path "….gz".

        Raises RuntimeError where it is saved already, RuntimeError or OSError where it cannot be
        written: then nothing is left behind. `use_python_export` changes nothing.
        """
        self._existing("exporting chrome trace").export_chrome_trace(path, self._metadata)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Writes lines for a flame graph; AssertionError without `with_stack`."""
        self._existing("exporting stacks").export_stacks(path, metric)

    def add_metadata(self, key: str, value: str) -> None:
        """A text that stands in the trace under this name."""
        self._metadata[key] = json.dumps(value)

    def add_metadata_json(self, key: str, value: str) -> None:
        """The same of a value in JSON; ValueError for what is none."""
        json.loads(value)
        self._metadata[key] = value

    def preset_metadata_json(self, key: str, value: str) -> None:
        """The same before anything is recorded, for all cycles."""
        json.loads(value)
        self.preset_metadata[key] = value

    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        """What names the traces of later cycles."""
        self.custom_trace_id_callback = callback

    def get_trace_id(self) -> str | None:
        """The name of the last cycle's trace; None before there is one."""
        return None if self.profiler is None else self.profiler.trace_id

    def toggle_collection_dynamic(self, enable: bool, activities: Any) -> None:
        """Not supported: NotImplementedError."""
        raise NotImplementedError("profile.toggle_collection_dynamic")

    def export_memory_timeline(self, path: str, device: str | None = None) -> None:
        """Deprecated in PyTorch, and not supported: NotImplementedError."""
        raise NotImplementedError("profile.export_memory_timeline")
