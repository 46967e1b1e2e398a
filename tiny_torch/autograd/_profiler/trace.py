"""Events as a Chrome trace, which Perfetto, chrome://tracing and TensorBoard open.

https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from typing import Any

from tiny_torch.autograd._profiler.events import Recording
from tiny_torch.autograd.profiler_util import FunctionEvent

USER, FUNCTION, MODULE = "user_annotation", "cpu_op", "python_function"


def category(event: FunctionEvent) -> str:
    if event.is_user_annotation:
        return USER
    return MODULE if event.name.startswith("nn.Module: ") else FUNCTION


def details(event: FunctionEvent) -> dict[str, Any]:
    """What a viewer shows of a span that is clicked."""
    args: dict[str, Any] = {"External id": event.id + 1, "Ev Idx": event.id}
    if event.sequence_nr >= 0:
        args["Sequence number"] = event.sequence_nr
    if event.fwd_thread is not None:
        args["Fwd thread id"] = event.fwd_thread
    if event.input_shapes:
        args["Input Dims"] = event.input_shapes
        args["Input type"] = event.input_dtypes
        args["Concrete Inputs"] = [str(value) for value in event.concrete_inputs]
    if event.stack:
        args["Call stack"] = ";".join(event.stack)
    if event.flops:
        args["flops"] = event.flops
    return args


def spans(events: list[FunctionEvent], base: float, pid: int) -> Iterator[dict[str, Any]]:
    """A span per event; an arrow from each op to its node in backward."""
    pending = {e.sequence_nr: e for e in events if e.sequence_nr >= 0 and e.scope == 1}
    for event in events:
        where = {"pid": pid, "tid": event.thread}
        start = base + event.time_range.start
        yield {
            "ph": "X", "cat": category(event), "name": event.trace_name, **where,
            "ts": round(start, 3), "dur": round(event.cpu_time_total, 3), "args": details(event),
        }  # fmt: skip
        if event.scope == 1 or event.sequence_nr not in pending:
            continue
        node = pending.pop(event.sequence_nr)
        if node.time_range.start < event.time_range.start:
            continue  # backward ran before: an op of a second graph
        flow = {"id": event.sequence_nr, "cat": "fwdbwd", "name": "fwdbwd"}
        yield {"ph": "s", **flow, **where, "ts": round(start, 3)}
        arrival = round(base + node.time_range.start, 3)
        yield {"ph": "f", **flow, "pid": pid, "tid": node.thread, "ts": arrival, "bp": "e"}


def memory(recording: Recording, base: float, pid: int) -> Iterator[dict[str, Any]]:
    """A counter of the bytes in use, wherever they were looked at and had changed."""
    looks = [(row.start, row.before) for row in recording.rows]
    looks += [(row.end, row.after) for row in recording.rows if row.end]
    last = None
    for time, count in sorted(looks):
        if count != last:
            last = count
            moment = base + (time - recording.start) / 1e3
            yield {"ph": "C", "name": "memory", "pid": pid, "ts": round(moment, 3),
                   "args": {"allocated": count}}  # fmt: skip


def trace_of(
    events: list[FunctionEvent],
    recording: Recording,
    metadata: dict[str, str],
    *,
    trace_id: str,
    profile_memory: bool,
    name: str,
) -> str:
    """The JSON of one trace; `metadata` are values in JSON."""
    pid, base = os.getpid(), recording.start / 1e3
    about = {"pid": pid, "ts": round(base, 3)}
    found: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", **about, "tid": 0, "args": {"name": "python"}},
        {"ph": "M", "name": "process_labels", **about, "tid": 0, "args": {"labels": "CPU"}},
        {"ph": "M", "name": "thread_name", **about, "tid": recording.thread,
         "args": {"name": f"thread {recording.thread} (python)"}},
    ]  # fmt: skip
    found += spans(events, base, pid)
    if profile_memory:
        found += memory(recording, base, pid)
    found.append(
        {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "",
         "ts": round(recording.stop / 1e3, 3)}
    )  # fmt: skip
    trace = {
        "schemaVersion": 1,
        "deviceProperties": [],
        "trace_id": trace_id,
        **{key: json.loads(value) for key, value in metadata.items()},
        "host_name": socket.gethostname(),
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": 0,
        "traceEvents": found,
        "traceName": name,
    }
    return json.dumps(trace)
