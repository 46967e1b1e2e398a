"""Notes what runs while a line does: ops and their arguments, kernels, memory, and when each was.

The record of ops (autograd/record.py) calls `Watch.watch` as an op begins, and the note that this
answers as it ends; C++ notes each kernel (`src/bindings/launches.cpp`) and each storage
(`src/bindings/storage_listener.cpp`). How all of it is put together: steps.py.
"""

from __future__ import annotations

import itertools
import linecache
import sys
import weakref
from collections.abc import Callable
from time import perf_counter_ns
from types import CodeType, FrameType
from typing import Any, NamedTuple

from tiny_torch import _core
from tiny_torch.autograd.graph import Node, Op, edge_of
from tiny_torch.autograd.places import is_users
from tiny_torch.autograd.record import BACKWARD, ORDINARY, RANGE, VIEW, start_record, stop_record
from tiny_torch.base.modes import Scope, thread
from tiny_torch.functions.random.generator import default_generator
from tiny_torch.nn import Module
from tiny_torch.tensor import Tensor
from tiny_torch.utils.memory.recording import Recording

MOST = 300  # ops that are noted; of a line that runs more the rest is left out
REPEATS, PATIENCE = 7, 0.2  # how often an op is timed again, for how many seconds at most


class Place(NamedTuple):
    """A piece of source that runs."""

    text: str  # "a.T @ b", in one line
    where: str  # "script.py:12"


class Value(NamedTuple):
    """An argument or a result as it was."""

    name: str  # "a"; "" where it has none
    source: Any  # the note of the op whose result it is, or None
    text: str  # of what is no tensor
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    dtype: Any = None  # None: no tensor
    device: str = ""
    contiguous: bool = True
    base: str = ""  # what it is a view of: a name, or "another tensor"
    address: int = 0
    storage: int = 0
    requires_grad: bool = False

    @property
    def elements(self) -> int:
        """Those at addresses of their own: a dim of stride 0 has one."""
        count = 1
        for size, stride in zip(self.shape, self.strides, strict=True):
            count *= size if stride or not size else 1
        return count

    @property
    def nbytes(self) -> int:
        return self.elements * self.dtype.itemsize if self.dtype is not None else 0


class Launch(NamedTuple):
    """A kernel that ran: src/bindings/launches.cpp."""

    family: str | None
    name: str | None
    dtype: Any
    device: str
    built_once: bool
    start: int
    end: int
    asked: bool  # whether it asked how many threads there are
    walk: Any


class Memory(NamedTuple):
    """A storage's memory was taken, or is given back if `size` is -1."""

    time: int
    storage: int
    size: int
    path: list[Place]  # where, outside of ops


class Note:
    """One op as it ran, from `Watch.watch` on."""

    def __init__(self, watch: Watch, what: Any, form: int, path: list[Place]) -> None:
        self.watch: Watch | None = watch
        self.what, self.form, self.path = what, form, path
        self.op: Any = what
        self.inputs: list[Value] = []
        self.settings: list[Any] = []  # the inputs that are no tensors, in their places
        self.results: list[Value] = []
        self.kept: list[tuple[int, int]] | None = (
            None  # (of inputs and results; -1: neither; bytes)
        )
        self.unrecorded = ""  # why there is no node, though an input requires grad
        self.windows: list[tuple[int, int]] = []  # repeats
        self.once = ""  # why there are none
        self.spent = 0  # ns of notes within
        self.arguments: tuple = ()
        self.before: Any = None  # what a repeat must not change

    def end(self, result: Any) -> None:
        """The record calls it with what the op has answered."""
        if self.watch is not None:
            self.watch.end(self, result)


class Watch(Scope):
    """What runs on this thread from `begin` to `finish`.

    `base` is the frame of the line; None: all of what `explain` calls. `texts` holds source that
    is in no file, by the name that its code has.
    """

    def __init__(self, base: FrameType | None = None, texts: dict[str, str] | None = None) -> None:
        self.base = base
        self.texts = texts or {}
        self.notes: list[Note] = []
        self.open: list[Note] = []
        self.memory: list[Memory] = []
        self.own: list[tuple[int, int]] = []  # when nothing but this watch ran
        self.labels: dict[int, tuple[Any, Note]] = {}  # by id: of which op a tensor is the result
        self.rows: list[Any] = []
        self.launches: list[Launch] = []
        self.paused = self.over = self.full = False
        self.error: BaseException | None = None

    def begin(self) -> None:
        if Recording.running is not None:
            raise RuntimeError("explain: memory is being recorded; one of the two at a time")
        start_record(self.watch, False, None)
        _core.start_launches()
        _core.listen_to_storages(self.on_storage)
        thread.see_node = self.see_node

    def restore(self, before: None) -> None:
        self.finish()

    def finish(self) -> None:
        if self.over:
            return
        thread.see_node = None
        _core.listen_to_storages(None)
        self.launches = [Launch(*launch) for launch in _core.stop_launches()]
        self.rows = stop_record()
        self.over = True
        self.base = None
        self.open.clear()
        for note in self.notes:
            note.watch = note.before = None
            note.arguments = ()

    # ---- what C++ calls ----------------------------------------------------------------------

    def watch(self, what: Any, form: int, arguments: tuple) -> Note | None:
        """An op begins, a node's backward, or a block of `record_function`."""
        if len(self.notes) == MOST:
            self.full = True
            self.finish()
            return None
        start = perf_counter_ns()
        frame = sys._getframe(1)
        frames = self.frames(frame)
        note = Note(self, what, form, [self.place(f) for f in reversed(frames)])
        note.inputs = [self.value(x, frames) for x in arguments]
        note.settings = [
            None if v.dtype else x for x, v in zip(arguments, note.inputs, strict=True)
        ]
        outermost = all(outer.form in (BACKWARD, RANGE) for outer in self.open)
        if form in (ORDINARY, VIEW) and outermost:
            note.arguments = arguments
            note.before = self.state(arguments)
        self.spend(start)
        self.notes.append(note)
        self.open.append(note)
        return note

    def see_node(self, node: Node, grad: Any) -> None:
        """The node of the note that has just begun."""
        if self.over or not self.open:
            return
        start, note = perf_counter_ns(), self.open[-1]
        note.op = node.op
        grads = grad if isinstance(grad, list) else [grad]
        note.inputs = [self.value(x, [], "the gradient") for x in grads if x is not None]
        if type(node.saved) is tuple:
            for k, x in enumerate(node.saved):
                if hasattr(x, "stamp"):
                    note.inputs.append(self.value(x, [], f"saved value {k}"))
        self.spend(start)

    def end(self, note: Note, result: Any) -> None:
        start = perf_counter_ns()
        if note in self.open:
            del self.open[self.open.index(note) :]
        if result is not None:
            self.paused = True
            try:
                results = result if isinstance(result, tuple | list) else (result,)
                note.results = [self.value(x, [], "") for x in results]
                self.note_kept(note, results)
                if note.arguments:
                    self.repeat(note)
            finally:
                self.paused = False
            for x in results:
                if isinstance(x, Tensor):
                    self.labels[id(x)] = weakref.ref(x), note
        note.arguments, note.before = (), None
        self.spend(start)

    def on_storage(self, storage: int, size: int, device: str) -> None:
        """A storage was made, or is freed if the size is -1."""
        if not self.paused:
            path = [] if self.open else self.path(sys._getframe(1))
            self.memory.append(Memory(perf_counter_ns(), storage, size, path))

    def spend(self, start: int) -> None:
        """The time since then was the watch's own."""
        stop = perf_counter_ns()
        self.own.append((start, stop))
        for note in self.open:
            note.spent += stop - start

    # ---- an op again -------------------------------------------------------------------------

    def state(self, arguments: tuple) -> Any:
        """What differs afterwards if an op has effects beside its result."""
        values = [default_generator.core, *arguments]
        for x in values:  # and those inside
            values += x if isinstance(x, tuple | list) else ()
        stamps = [getattr(x, "array", x).stamp for x in values if has_memory(x)]
        return stamps, [x.get_state() for x in values if hasattr(x, "get_state")]

    def repeat(self, note: Note) -> None:
        """Runs the op's forward again, for its time: the first run has cold caches."""
        op, arguments = note.op, note.arguments
        if not (isinstance(op, type) and issubclass(op, Op) and "tiny_torch" in op.__module__):
            note.once = "the op is not one of tiny_torch's"
        elif op.takes_tensors or any(getattr(x, "device", "") == "ref" for x in note.inputs):
            note.once = "it is computed in Python"
        elif self.state(arguments) != note.before:
            note.once = "a repeat would write its inputs, or draw other random numbers"
        if note.once:
            return
        arrays = _core.arrays_of(arguments)
        until = perf_counter_ns() + PATIENCE * 1e9
        trace = sys.gettrace()
        sys.settrace(None)
        try:
            for _ in range(REPEATS):
                start = perf_counter_ns()
                op.forward(*arrays)
                note.windows.append((start, perf_counter_ns()))
                if note.windows[-1][1] > until:
                    break
        finally:
            sys.settrace(trace)

    # ---- what things are called --------------------------------------------------------------

    def frames(self, frame: FrameType | None) -> list[FrameType]:
        """The user's, the innermost first, up to that of the line."""
        found = []
        while frame is not None and frame.f_code is not CALL:
            if frame is self.base or is_users(frame.f_code.co_filename):
                found.append(frame)
            if frame is self.base:
                break
            frame = frame.f_back
        return found

    def path(self, frame: FrameType) -> list[Place]:
        return [self.place(f) for f in reversed(self.frames(frame))]

    def place(self, frame: FrameType) -> Place:
        """What the frame runs at this moment, as it is written."""
        code = frame.f_code
        file = code.co_filename
        lines = self.texts.get(file, "").splitlines(True) or linecache.getlines(file)
        first, text = source_of(code, frame.f_lasti, frame.f_lineno, lines)
        return Place(text, f"{file}:{first}" if file not in self.texts else "")

    def value(self, x: Any, frames: list[FrameType], name: str | None = None) -> Value:
        array = x.array if isinstance(x, Tensor) else x
        if not hasattr(array, "strides") or not hasattr(array, "dtype"):
            return Value("", None, told_of(x))
        source = None
        if name is None:
            found = self.labels.get(id(x))
            source = found[1] if found and found[0]() is x else None
            name = variable_name(x, frames)
        base = x._base if isinstance(x, Tensor) else None
        return Value(
            name,
            source,
            "",
            tuple(array.shape),
            tuple(array.strides),
            array.dtype,
            str(array.device),
            array.is_contiguous(),
            "" if base is None else variable_name(base, frames) or "another tensor",
            array.data_ptr if has_memory(x) else 0,
            getattr(array, "storage_id", 0),
            isinstance(x, Tensor) and x.requires_grad,
        )

    def note_kept(self, note: Note, results: Any) -> None:
        """What the node of a result has saved for backward."""
        first = next((x for x in results if isinstance(x, Tensor)), None)
        if first is None or note.form == BACKWARD:
            return
        edge = edge_of(first) if first.requires_grad else None
        if edge is None or not isinstance(edge[0], Node):
            if any(x.requires_grad for x in note.inputs):
                floats = first.dtype.is_floating_point
                note.unrecorded = "recording is off" if floats else "the result has no gradient"
            return
        note.kept = []
        saved = edge[0].saved
        for x in saved if type(saved) is tuple else ():
            if hasattr(x, "storage_id"):
                storages = [v.storage for v in (*note.inputs, *note.results)]
                at = storages.index(x.storage_id) if x.storage_id in storages else -1
                note.kept.append((at, count_bytes(x)))


def call(function: Callable) -> Any:
    """The frame beyond which a watch does not look."""
    return function()


CALL = call.__code__


def has_memory(x: Any) -> bool:
    return hasattr(x.array if isinstance(x, Tensor) else x, "stamp")


def count_bytes(array: Any) -> int:
    return min(array.size * array.itemsize, array.storage_nbytes)


def told_of(x: Any) -> str:
    text = repr(x)
    return text if len(text) <= 40 else f"{text[:37]}..."


def variable_name(x: Any, frames: list[FrameType]) -> str:
    """A name that it has in one of the frames; of a parameter, by its module: "net.0.weight"."""
    modules = []
    for frame in frames:
        names = set(frame.f_code.co_names)
        known = [*frame.f_locals.items()]
        known += [(n, v) for n, v in frame.f_globals.items() if n in names]
        for name, value in known:
            if is_same(value, x):
                return name
            if isinstance(value, Module):
                modules.append((name, value))
    for owner, module in modules:
        for name, value in itertools.chain(module.named_parameters(), module.named_buffers()):
            if is_same(value, x):
                return f"{owner}.{name}"
    return ""


def is_same(value: Any, x: Any) -> bool:
    """Whether it is the tensor, or the one whose array is given."""
    return value is x or (isinstance(value, Tensor) and value.array is x)


def source_of(code: CodeType, at: int, line: int, lines: list[str]) -> tuple[int, str]:
    """(the first line, the text) of what an instruction was compiled from; or the whole line."""
    position = (line, line, None, None)
    if hasattr(code, "co_positions") and at >= 0:
        found = next(itertools.islice(code.co_positions(), at // 2, None), None)
        if found and None not in found:
            position = found
    first, last, begin, end = position
    rows = [row.encode() for row in lines[first - 1 : last]]
    if not rows:
        return line, ""
    if begin is not None:
        rows[-1] = rows[-1][:end]
        rows[0] = rows[0][begin:]
    return first, " ".join(b" ".join(rows).decode(errors="replace").split())
