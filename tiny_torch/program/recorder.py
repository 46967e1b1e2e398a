"""Recording: the launches of a function, what it reads beside its arguments, and what it does.

While a function is recorded, `Recorder` sees each Python function that it calls, and notes what the
names in its code stand for (reading.py). A program holds as long as they stand for the same
(`_core.guards_hold`). Tensors among them are its external arrays. Code that does what no program
repeats, such as printing, is noted as its `effect`.
"""

from __future__ import annotations

import _frozen_importlib
import _thread
import builtins
import contextvars
import datetime
import functools
import gc
import io
import itertools
import os
import pickle
import queue
import random
import sys
import time
import types
import warnings
from typing import Any

import numpy as np

from tiny_torch import _core
from tiny_torch.autograd.places import ModulePaths, Place
from tiny_torch.base.devices import cuda_accelerator, default, side_streams
from tiny_torch.base.modes import modes, thread
from tiny_torch.nn.modules.module import Module
from tiny_torch.program.numbers import asks_types, give_floats, with_values
from tiny_torch.program.reading import CHANGES, DICE, DRAWS, Reader
from tiny_torch.program.values import (
    DEPTH,
    is_of_python,
    is_ours,
    is_read,
    is_same,
)

# What has an effect or an answer that a program would not have again.
EFFECTS = {
    builtins.print, builtins.input, builtins.open, datetime.datetime.now, datetime.datetime.today,
    datetime.datetime.utcnow, datetime.date.today, os.urandom, os.system, os.write, os.stat,
    os.listdir, os.scandir, os.getpid, os.putenv, os.unsetenv, _thread.start_new_thread,
    np.fromfile, pickle.dump, warnings.warn,
    time.sleep, time.localtime, time.gmtime, time.ctime, time.strftime,
    *[getattr(time, name + end) for name in
      ("time", "perf_counter", "monotonic", "process_time", "thread_time") for end in ("", "_ns")],
}  # fmt: skip
OWNERS = (contextvars.ContextVar, io.IOBase, queue.SimpleQueue)  # of methods that have, and
MODULES = ("_csv", "sqlite3")  # of such
WRAPPERS = ("contextlib.py", "functools.py")  # whose functions call the user's
IMPORT = vars(_frozen_importlib)["_find_and_load"].__code__  # which another call does not run
READERS = ("linecache", "tokenize")  # of the line that a warning shows


class Piece:
    """Launches between calls that are not recorded; gradients before and after, by tensors' ids."""

    def __init__(self, start: dict[int, Any], end: dict[int, Any]) -> None:
        self.start, self.end = start, end
        self.calls: list[Any] = []  # which stand behind it


class Recorder(Reader):
    """Records the launches of the code that runs within it, and notes what that reads.

    Afterwards `effect` says what no program can repeat, or is empty.
    """

    def __init__(self, steps: bool = False, is_plan: bool = False, function: Any = None) -> None:
        super().__init__(getattr(function, "__func__", function), steps)
        self.before: list[Any] = []  # what is called outside of the program, before its launches
        self.pieces: list[Piece] = []  # and between them
        self.launches = 0  # of the pieces
        self.start_grads: dict[int, Any] = {}  # of the piece that is recorded, and
        self.since = 0  # the last write before it
        self.marked: set[int] = set()  # ids of arrays that launches write
        self.offsets: set[int] = set()  # the storages of tensors whose offset was read
        self.is_following = False  # numbers
        self.importing: Any = None  # the frame
        self.places: list[tuple[str, str]] = []  # of each launch: phase and module, and line
        self.paths = ModulePaths()
        self.is_plan = is_plan  # which never runs, and may be of `meta`
        self.before_profile, self.outer = sys.getprofile(), thread.watch
        self.collects = gc.isenabled()
        self.recording = _core.Recording(self.note, self.note_launch, is_plan)

    def start(self) -> bool:
        """Before it is entered: whether it can be, since nobody else hears of storages."""
        if is_capturing():  # whose launches are not done, so that no results can be compared
            return False
        try:
            self.recording.start()
        except RuntimeError:
            return False
        self.since = self.recording.stamp
        return True

    def __enter__(self) -> Recorder:
        self.dice, self.settings = dice(), settings_now()
        gc.collect(0)  # what is young from here on is new
        gc.disable()  # its callbacks and destructors are not the function's
        thread.watch = self
        if isinstance(self.function, functools.partial):
            self.reach(self.function, DEPTH)
        sys.setprofile(self.see)
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def close(self) -> None:
        """Ends it, however far it got: a signal's handler may raise between any two lines."""
        self.recording.stop()
        thread.watch = self.outer
        set_profile(self.before_profile)
        if self.collects:
            gc.enable()  # at once it may run what is not the function's

    def finish(self) -> tuple:
        """The guards. Notes what has changed while it was recorded."""
        guards = tuple(self.guards)
        self.end_piece()
        for t in self.tensors.values():
            array, required, state = self.first[id(t)]
            if t.array is not array or t.requires_grad is not required:
                self.note("sets .data or requires_grad of a tensor")
            if not is_same(vars(t), state):
                self.note("sets an attribute of a tensor")
        if not (self.is_plan or all(itertools.starmap(is_same, self.states))):
            self.note(CHANGES)
        if not self.steps and self.has_set_gradients():
            self.note("stores a gradient")
        if not same_dice(self.dice, dice()):
            self.note(DRAWS)
        if settings_now() != self.settings:
            self.note("changes a mode, the default dtype, device or number of threads")
        if not (self.is_plan or _core.guards_hold(guards)):
            self.note(CHANGES)
        return guards

    def note_offset(self, array: Any) -> None:
        self.offsets.add(array.storage_id)

    def note_launch(self) -> None:
        profile = sys.getprofile()
        sys.setprofile(None)
        found = Place(sys._getframe(1))
        part = "backward" if found.backward else self.paths.path(found.modules)
        self.places.append((part, found.line))
        sys.setprofile(profile)

    def see(self, frame: Any, event: str, argument: Any) -> None:
        if self.importing is not None:
            if event == "return" and frame is self.importing:
                self.importing = None
                if is_read(sys.modules.get(frame.f_locals["name"])) and not self.is_plan:
                    self.note(CHANGES)  # of the next recording it is a guard
        elif event == "c_call":
            try:
                own_warning = argument is warnings.warn and is_ours(frame.f_code)
                known = own_warning or frame.f_globals.get("__name__") in READERS
                if argument in EFFECTS and not known:
                    self.note(f"calls {argument.__name__}()")
                owner = getattr(argument, "__self__", None)
                if isinstance(owner, DICE):
                    self.note(DRAWS)
                if not known and (isinstance(owner, OWNERS) or type(owner).__module__ in MODULES):
                    self.note(f"calls {type(owner).__name__}.{argument.__name__}()")
            except TypeError:
                return  # not hashable: none of those
        elif event == "return":
            if isinstance(argument, Module) or is_users(frame) or is_of_users_call(frame):
                self.reach(argument, DEPTH)
        elif event == "call" and frame.f_code is IMPORT:
            self.importing = frame
        elif event == "call":
            self.enter(frame)
            if self.is_following and wants_floats(frame.f_code):
                values = frame.f_locals  # which Python takes over when this returns
                for name in list(values):
                    values[name] = give_floats(values[name], DEPTH)

    def call_outside(self, function: Any, *args: Any, **keywords: Any) -> Any:
        """The answer of what a program calls, and does not record."""
        call = functools.partial(function, *args, **keywords)
        if not self.steps:
            self.note("steps an optimizer or drops gradients")
            return _core.unrecorded(call)
        launches = self.recording.launches
        if launches == 0:
            if getattr(call.func, "__name__", "") != "zero_grad":
                self.note("steps an optimizer before anything else")
            self.before.append(call)
        else:
            if launches > self.launches or self.has_set_gradients():
                self.end_piece()
                self.recording.cut()
                self.launches = self.recording.launches
            self.pieces[-1].calls.append(call)
        profile = sys.getprofile()
        set_profile(self.before_profile)
        try:
            answer = _core.unrecorded(with_values(call))
        finally:
            sys.setprofile(profile)
        self.start_grads = self.gradients()
        self.since = max([self.since, *[t.array.stamp for t in self.tensors.values()]])
        return answer

    def end_piece(self) -> None:
        self.pieces.append(Piece(self.start_grads, self.gradients()))
        arrays = [t.array for t in self.tensors.values()]
        self.marked |= {id(array) for array in arrays if array.stamp > self.since}

    def has_set_gradients(self) -> bool:
        """Whether the code has stored or dropped a gradient since the last call outside."""
        return any(t._grad is not self.start_grads[i] for i, t in self.tensors.items())

    def gradients(self) -> dict[int, Any]:
        return {i: t._grad for i, t in self.tensors.items()}

    def writes(self, arrays: list) -> list[bool]:
        """Which of the arrays the launches write; an optimizer between them does not count."""
        if self.launches:
            return [id(array) in self.marked for array in arrays]
        return [array.stamp > self.recording.stamp for array in arrays]


def set_profile(function: Any) -> None:
    """As `sys.setprofile`; a profiler of C, which that does not take, begins again by itself."""
    sys.setprofile(function if callable(function) else None)
    if not (function is None or callable(function)):
        function.enable()


def is_users(frame: Any) -> bool:
    return not (is_ours(frame.f_code) or is_of_python(frame.f_code.co_filename))


def is_of_users_call(frame: Any) -> bool:
    """Whether it is Python's own code, which the user's has called."""
    before = frame.f_back
    return is_of_python(frame.f_code.co_filename) and before is not None and is_users(before)


def wants_floats(code: types.CodeType) -> bool:
    """Whether the code must get plain floats, not the `Number`s that stand in their place.

    Code that asks for types must, and a library (`json.dumps`), of which it is not known.
    """
    file = code.co_filename
    if is_ours(code) or file.endswith(WRAPPERS):
        return False
    return is_of_python(file) or "site-packages" in file or asks_types(code)


def is_capturing() -> bool:
    """Whether a graph is recorded of what the current stream of ``cuda`` is given."""
    return bool(side_streams) and cuda_accelerator().is_capturing()


def dice() -> tuple:
    """Where Python's and NumPy's generators are."""
    return random.getstate(), np.random.get_state(legacy=False)["state"]


def same_dice(before: Any, after: Any) -> bool:
    """Whether nobody has drawn meanwhile."""
    keys = before[1]["key"], after[1]["key"]
    return (
        before[0] == after[0]
        and before[1]["pos"] == after[1]["pos"]
        and np.array_equal(keys[0], keys[1])
    )


def settings_now() -> tuple:
    """What functions may set for the rest of the process, or thread."""
    threads = _core.get_num_threads()
    return modes.bits, _core.get_default_dtype(), default.device, threads
