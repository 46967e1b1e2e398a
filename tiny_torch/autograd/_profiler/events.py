"""Events from the rows of a record, nested as they ran."""

from __future__ import annotations

import os
import sys
from collections import Counter
from time import perf_counter
from typing import Any, NamedTuple

import tiny_torch
from tiny_torch.autograd._profiler.costs import flops_of, flops_of_backward, is_tensor_argument
from tiny_torch.autograd.profiler_util import FunctionEvent
from tiny_torch.autograd.record import (
    BACKWARD,
    FUNCTION,
    IN_PLACE,
    MATMULS,
    MODULE,
    ORDINARY,
    OUT,
    RANGE,
    VIEW,
    aten_name,
)

SCOPES = {BACKWARD: 1, RANGE: 7}  # of PyTorch's RecordScope; all else is 0, a function
STEP = "ProfilerStep#"
NONE: Any = None, None


class Row(NamedTuple):
    """A row of a record: autograd/record.py."""

    start: int
    end: int
    what: Any
    form: int
    hint: int
    sequence: int
    arguments: Any
    stack: Any
    before: int
    after: int


class Recording(NamedTuple):
    """One record, from its start to its stop, in ns."""

    rows: list[Row]
    thread: int
    start: int
    stop: int


def name_of_row(row: Row, modules: dict[int, str], counts: Counter) -> str:
    if row.form == MODULE:
        name = modules.get(id(row.what))
        if name is None:
            kind = type(row.what).__name__
            name = modules[id(row.what)] = f"nn.Module: {kind}_{counts[kind]}"
            counts[kind] += 1
        return name
    if isinstance(row.what, str):
        return row.what
    return aten_name(row.what, row.form == IN_PLACE, row.hint)


def shapes_of(arguments: Any) -> list:
    """Per argument its sizes; [] of what is no tensor."""
    return [list(x[0]) if is_tensor_argument(x) else [] for x in arguments or ()]


def dtypes_of(arguments: Any) -> list[str]:
    return [
        str(x[1]).removeprefix("torch.") if is_tensor_argument(x) else "" for x in arguments or ()
    ]


def concrete(arguments: Any) -> list:
    """The arguments that are no tensors, in their places."""
    return ["" if is_tensor_argument(x) or callable(x) or x is None else x for x in arguments or ()]


def source_line(frame: tuple) -> str:
    """A line of the source as "file(line): function", our own files from the package on."""
    code, line = frame
    return f"{relative(code.co_filename)}({line}): {code.co_name}"


def places(row: Row, source: FunctionEvent | None, parent: FunctionEvent | None) -> list[str]:
    """Where it was called; of what runs in backward, where its forward was."""
    if source is not None:
        return source.stack
    if parent is not None and parent.scope == SCOPES[BACKWARD]:
        return parent.stack
    return [source_line(frame) for frame in row.stack or () if frame[0].co_filename not in OWN]


FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(tiny_torch.__file__))) + os.sep
OWN = {os.path.join(FOLDER, "tiny_torch", "autograd", "profiler.py")}  # whose frames tell nothing


def relative(path: str) -> str:
    return path.removeprefix(FOLDER) if path.startswith(FOLDER + "tiny_torch") else path


def call_stack() -> tuple:
    """Where Python is: (code, line) of each frame, the innermost first."""
    frame: Any = sys._getframe(1)
    found = []
    while frame is not None:
        found.append((frame.f_code, frame.f_lineno))
        frame = frame.f_back
    return tuple(found)


def operations(row: Row, forward: Row | None) -> int:
    """Those of a row; of backward, PyTorch's profiler counts matrix products alone."""
    if forward is not None:
        counts = getattr(forward.what, "cost", "") in MATMULS
        return flops_of_backward(forward.what, forward.arguments, row.hint) if counts else 0
    return flops_of(row.what, row.arguments) if row.form in (ORDINARY, VIEW, OUT) else 0


def events_of(
    recording: Recording, *, with_flops: bool, with_shapes: bool, timeout_s: float | None = None
) -> list[FunctionEvent]:
    """In the order in which they began. After `timeout_s` the rest is left out."""
    until = None if timeout_s is None else perf_counter() + timeout_s
    modules: dict[int, str] = {}
    counts: Counter = Counter()
    forward: dict[int, Any] = {}  # {number of a node: what has made it, as a row and an event}
    within: list[tuple[int, FunctionEvent]] = []  # each with its end in ns
    events = []
    for number, row in enumerate(recording.rows):
        if until is not None and perf_counter() > until:
            break
        while within and (within[-1][0] <= row.start or row.end > within[-1][0]):
            within.pop()
        # An exception has skipped its end, or it is still open: no later than what it lies in.
        end = row.end or (within[-1][0] if within else recording.stop)
        name = name_of_row(row, modules, counts)
        made_by, source = forward.get(row.sequence, NONE) if row.form == BACKWARD else NONE
        of_op = row.form < BACKWARD or row.form == FUNCTION
        event = FunctionEvent(
            number,
            "ProfilerStep*" if name.startswith(STEP) else name,
            recording.thread,
            (row.start - recording.start) / 1e3,
            (end - recording.start) / 1e3,
            trace_name=name,
            fwd_thread=recording.thread if row.form == BACKWARD else None,
            input_shapes=shapes_of(row.arguments) if with_shapes else [],
            stack=places(row, source, within[-1][1] if within else None),
            scope=SCOPES.get(row.form, 0),
            cpu_memory_usage=row.after - row.before,
            sequence_nr=row.sequence,
            flops=operations(row, made_by) if with_flops else 0,
            concrete_inputs=concrete(row.arguments) if with_shapes else [],
            input_dtypes=dtypes_of(row.arguments) if with_shapes else [],
            is_user_annotation=row.form == RANGE,
        )
        if within:
            within[-1][1].append_cpu_child(event)
            event.set_cpu_parent(within[-1][1])
        if of_op and row.sequence >= 0:
            forward.setdefault(row.sequence, (row, event))
        within.append((end, event))
        events.append(event)
    return events
