"""`torch.profiler`: where the time and the memory of a program go, op by op.

Not here: times on a GPU, `ExecutionTraceObserver`, `itt`.
https://pytorch.org/docs/stable/profiler.html
"""

from __future__ import annotations

from tiny_torch.autograd.profiler import record_function
from tiny_torch.autograd.profiler_util import DeviceType
from tiny_torch.tools.profiler.profiler import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    supported_activities,
    tensorboard_trace_handler,
)
from tiny_torch.tools.profiler.schedules import schedule

__all__ = [
    "DeviceType",
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


def kineto_available() -> bool:
    """Whether `profile` can write traces: it can, with means of its own."""
    return True
