"""What a recorded program rests on beside its arguments: the names that the code has read.

While a function is recorded, `Recorder` sees each Python function that it calls, and notes what the
names in its code stand for: globals, closures, attributes of the objects among its arguments. A
program holds as long as they stand for the same (`_core.guards_hold`). Tensors among them are its
external arrays. Code that does what no program repeats, such as printing, is noted as its `effect`.
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
import os
import random
import sys
import time
import types
import warnings
from typing import Any

import numpy as np

from tiny_torch import _core
from tiny_torch.amp.grad_scaler import GradScaler
from tiny_torch.autograd.engine import run_backward
from tiny_torch.autograd.places import ModulePaths, Place
from tiny_torch.base.devices import cuda_accelerator, side_streams
from tiny_torch.base.modes import thread
from tiny_torch.nn.modules import module as module_file
from tiny_torch.nn.modules.module import Module
from tiny_torch.optim.lr_scheduler import LRScheduler
from tiny_torch.optim.optimizer import Optimizer
from tiny_torch.program.numbers import asks_types, give_floats, with_values
from tiny_torch.program.values import (
    CHANGEABLE,
    DEPTH,
    MISSING,
    PLAIN,
    cell_value,
    copy_of,
    is_of_python,
    is_ours,
    is_read,
    is_value,
    lookups_of,
    memory_of,
    modules_named,
)
from tiny_torch.tensor import Tensor

COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
OPAQUE = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)
ENVIRONMENT: Any = os.environ
READ_ENVIRONMENT = type(ENVIRONMENT).__getitem__.__code__
# What has an effect or an answer that a program would not have again.
EFFECTS = {
    builtins.print, builtins.input, builtins.open, datetime.datetime.now, os.urandom,
    _thread.start_new_thread, time.sleep, warnings.warn,
    *[getattr(time, name + end) for name in
      ("time", "perf_counter", "monotonic", "process_time", "thread_time") for end in ("", "_ns")],
}  # fmt: skip
CHANGES = "changes what it reads: a global, a closure's variable or an attribute"
WRAPPERS = ("contextlib.py", "functools.py")  # whose functions call the user's
BACKWARD = run_backward.__code__
IMPORT = vars(_frozen_importlib)["_find_and_load"].__code__  # which another call does not run
READERS = ("linecache", "tokenize")  # of the line that a warning shows
# What optimizers, schedules and a GradScaler do outside of programs; and whose attributes all other
# code of the package reads.
OUTSIDE = ("step", "wrapper", "zero_grad", "unscale_", "update")
KINDS = (Module, Optimizer, LRScheduler, GradScaler)
MOST = 256  # parts of a container that are looked at
STATE = (
    "training", "_modules", "_parameters", "_buffers", "_forward_hooks", "_forward_pre_hooks",
    "_backward_hooks", "_backward_pre_hooks", "forward",
)  # fmt: skip


class Piece:
    """Launches between calls that are not recorded; gradients before and after, by tensors' ids."""

    def __init__(self, start: dict[int, Any], end: dict[int, Any]) -> None:
        self.start, self.end = start, end
        self.calls: list[Any] = []  # which stand behind it


class Recorder:
    """Records the launches of the code that runs within it, and notes what that reads.

    Afterwards `effect` says what no program can repeat, or is empty.
    """

    def __init__(self, steps: bool = False, is_plan: bool = False, function: Any = None) -> None:
        self.function = getattr(function, "__func__", function)  # that is recorded
        self.functions: dict[int, list[Any]] = {}  # by the id of their code
        self.steps = steps  # whether gradients may be stored, and calls be made outside
        self.before: list[Any] = []  # what is called outside of the program, before its launches
        self.pieces: list[Piece] = []  # and between them
        self.launches = 0  # of the pieces
        self.start_grads: dict[int, Any] = {}  # of the piece that is recorded, and
        self.since = 0  # the last write before it
        self.marked: set[int] = set()  # ids of arrays that launches write
        self.guards: list[Any] = []  # owner, name, value, copy; owner, name, ...
        self.tensors: dict[int, Tensor] = {}
        self.first: dict[int, tuple] = {}  # of each: its array, requires_grad as they were found
        self.modules: dict[int, Module] = {}
        self.given: set[int] = set()  # ids of tensors among the arguments, and
        self.bound: set[int] = set()  # of those that the code also reads elsewhere
        self.offsets: set[int] = set()  # the storages of tensors whose offset was read
        self.is_inner = False  # whether a cell is followed that the recorded code may have made
        self.seen: set[tuple[int, Any]] = set()
        self.followed: dict[tuple[int, tuple], int] = {}  # how deep
        self.codes: set[tuple[int, int]] = set()
        self.effect = ""
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
        self.dice = dice()
        gc.disable()  # its callbacks and destructors are not the function's
        thread.watch = self
        sys.setprofile(self.see)
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def close(self) -> None:
        """Ends it, however far it got: a signal's handler may raise between any two lines."""
        sys.setprofile(self.before_profile)
        self.recording.stop()
        thread.watch = self.outer
        if self.collects:
            gc.enable()

    def finish(self) -> tuple:
        """The guards. Notes what has changed while it was recorded."""
        guards = tuple(self.guards)
        self.end_piece()
        for t in self.tensors.values():
            array, required, state = self.first[id(t)]
            if t.array is not array or t.requires_grad is not required:
                self.note("sets .data or requires_grad of a tensor")
            if [*map(id, vars(t).values())] != [*map(id, state.values())]:
                self.note("sets an attribute of a tensor")
        if not self.steps and self.has_set_gradients():
            self.note("stores a gradient")
        if not same_dice(self.dice, dice()):
            self.note("draws from Python's or NumPy's random numbers")
        if not (self.is_plan or _core.guards_hold(guards)):
            self.note(CHANGES)
        return guards

    def note(self, effect: str) -> None:
        """The first of what no program can repeat, and where it happened."""
        if not self.effect:
            self.effect = f"{effect}{place()}"

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
                if isinstance(owner, (contextvars.ContextVar, io.TextIOBase)):
                    self.note(f"calls {type(owner).__name__}.{argument.__name__}()")
            except TypeError:
                return  # not hashable: none of those
        elif event == "call" and frame.f_code is IMPORT:
            self.importing = frame
        elif event == "call":
            self.enter(frame)
            if self.is_following and wants_floats(frame.f_code):
                values = frame.f_locals  # which Python takes over when this returns
                for name in list(values):
                    values[name] = give_floats(values[name], DEPTH)

    def enter(self, frame: Any) -> None:
        code = frame.f_code
        if code.co_name == "register_hook":
            self.note("registers a hook")
        if code is READ_ENVIRONMENT:
            key = ENVIRONMENT.encodekey(frame.f_locals["key"])
            self.guard(ENVIRONMENT._data, key, (), 0)
        values = frame.f_locals
        subjects = [values[name] for name in code.co_varnames[: code.co_argcount] if name in values]
        ours = is_ours(code)
        if ours:
            kinds = (Module,) if code.co_name in OUTSIDE else KINDS
            subjects = [x for x in subjects[:1] if isinstance(x, kinds)]
            if code is BACKWARD and values["accumulate"] and not self.steps:
                self.note("calls backward()")
        if code.co_name == "__init__":  # what it makes is new in every call
            subjects = subjects[1:]
        run = id(code), id(subjects[0]) if subjects else 0
        if run in self.codes:
            return
        self.codes.add(run)
        names = lookups_of(code)
        if not ours:
            of_globals = names if "globals" in names else code.co_names
            for name in of_globals:
                if name in frame.f_globals:
                    self.guard(frame.f_globals, name, names, DEPTH)
            for name in modules_named(code, frame.f_globals.get("__package__") or ""):
                self.guard(sys.modules, name, names, DEPTH)
            if code.co_freevars:
                self.guard_cells(frame, names)
            if getattr(self.function, "__code__", None) is code:
                self.follow_function(self.function, names, DEPTH)
        for subject in subjects:
            if not isinstance(subject, (Tensor, tuple, list, dict)):
                self.follow(subject, names, DEPTH)

    def guard_cells(self, frame: Any, names: tuple) -> None:
        """The variables of a closure, which only the function itself knows."""
        code = frame.f_code
        if code.co_name in COMPREHENSIONS:  # whose cells are its caller's
            for name in code.co_freevars:
                self.follow(frame.f_locals.get(name), names, DEPTH)
            return
        for function in self.functions_of(frame):
            self.is_inner = function is not self.function
            for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
                if cell_value(cell) is frame.f_locals.get(name, MISSING) and name != "__class__":
                    self.add(cell, name, cell_value(cell), names, DEPTH)
        self.is_inner = False

    def functions_of(self, frame: Any) -> list[Any]:
        """The function that runs in the frame, or all that have its code."""
        code, values = frame.f_code, frame.f_locals
        subject = values.get(code.co_varnames[0]) if code.co_argcount else None
        methods = [vars(owner).get(code.co_name) for owner in type(subject).__mro__]
        for function in (self.function, *methods):
            if getattr(function, "__code__", None) is code:
                return [function]
        if id(code) not in self.functions:  # among all objects of the process: that takes long
            found = [f for f in gc.get_referrers(code) if isinstance(f, types.FunctionType)]
            self.functions[id(code)] = [f for f in found if f.__code__ is code]
        return self.functions[id(code)]

    def guard(self, owner: dict, name: str, names: tuple, depth: int) -> None:
        self.add(owner, name, owner.get(name, MISSING), names, depth)

    def add(self, owner: Any, name: str, value: Any, names: tuple, depth: int) -> None:
        if (id(owner), name) not in self.seen:
            self.seen.add((id(owner), name))
            if hasattr(type(value), "__next__"):
                self.note("reads an iterator, which another call would find further on")
            self.guards += [owner, name, value, copy_of(value)]
        self.follow(value, names, depth - 1)

    def follow(self, value: Any, names: tuple, depth: int) -> None:
        """What hangs on a value that is guarded, under the names that the code has."""
        if isinstance(value, Tensor):
            if id(value) in self.given and not self.is_inner:
                self.bound.add(id(value))
            if not self.recording.made(value.array):
                self.take(value)
                for name in value.__dict__.keys() & names:
                    self.guard(value.__dict__, name, (), depth)
            return
        if isinstance(value, PLAIN) or self.followed.get((id(value), names), -1) >= depth:
            return
        self.followed[id(value), names] = depth
        if isinstance(value, (tuple, list, dict)):
            parts = value.values() if isinstance(value, dict) else value
            for part in list(parts)[:MOST] if depth > 0 else ():
                self.follow(part, names, depth - 1)
        elif isinstance(value, CHANGEABLE) and memory_of(value) is None:
            self.note(f"reads a {type(value).__name__}, whose elements may change")
        elif isinstance(value, types.FunctionType):
            self.follow_function(value, names, depth)
        elif isinstance(value, Module) or (depth > 0 and not isinstance(value, (*PLAIN, *OPAQUE))):
            self.follow_object(value, names, depth)

    def follow_function(self, function: Any, names: tuple, depth: int) -> None:
        """Its defaults, and the attributes that the code may read of it."""
        if is_ours(function.__code__) or is_of_python(function.__code__.co_filename):
            return
        for name in ("__defaults__", "__kwdefaults__"):
            if getattr(function, name):
                self.add(function, name, getattr(function, name), (), depth)
        for name in vars(function).keys() & names:
            self.guard(vars(function), name, names, depth)

    def take(self, tensor: Tensor) -> None:
        """A tensor of which the code may read the memory."""
        if id(tensor) not in self.tensors:
            self.tensors[id(tensor)] = tensor
            self.first[id(tensor)] = tensor.array, tensor.requires_grad, dict(vars(tensor))
            self.start_grads[id(tensor)] = tensor._grad

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
        sys.setprofile(self.before_profile)
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

    def follow_object(self, value: Any, names: tuple, depth: int) -> None:
        """The attributes of a module, an object, a class, or a file's globals."""
        is_file = isinstance(value, types.ModuleType)
        state: Any = getattr(value, "__dict__", {})
        if is_file and not is_read(value):
            return
        if isinstance(value, Module):
            if id(value) not in self.modules:
                self.modules[id(value)] = value
                self.guard(vars(module_file), "ON_CALLS", (), 0)
                for key in STATE:
                    self.guard(state, key, (), 3)
                if state["_backward_hooks"] or state["_backward_pre_hooks"]:
                    self.note("has hooks on the gradients of a module")
            names = tuple([name for name in names if name not in STATE])
        of_class = isinstance(value, type)
        owner = value if of_class else type(value)
        for name in names:
            if of_class or name not in state:
                found = getattr(owner, name, MISSING)
                if type(found) is types.MemberDescriptorType and not of_class:  # a slot
                    self.add(value, name, getattr(value, name, MISSING), names, depth)
                elif is_value(found):  # which the object may get for itself
                    self.add(owner, name, found, names, depth)
                    if not of_class and state:
                        self.add(state, name, MISSING, (), 0)
                elif isinstance(found, types.FunctionType):
                    self.follow_function(found, (), depth)
            elif not is_file or is_value(state[name]):
                self.guard(state, name, names, depth)


def wants_floats(code: types.CodeType) -> bool:
    """Whether the code is not to be given numbers: it asks for their type, or hands them on.

    Of what a library does with them (`json.dumps`) it is not known whether it takes no other.
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


def place() -> str:
    """The innermost line of the user's, as text to be appended."""
    line = Place(sys._getframe(1)).line
    return f" ({line})" if line else ""
