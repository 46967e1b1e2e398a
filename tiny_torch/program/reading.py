"""What recorded code reads: guards of globals, closures and attributes, and tensors among them.

All that a user's function is given, gets as an answer, or finds under a name that is guarded may be
read further, under the names that any of the user's code looks up. What the recorded code makes
itself is new in each call, and not looked at.
"""

from __future__ import annotations

import functools
import gc
import os
import random
import sys
import types
import weakref
from collections.abc import Iterable
from typing import Any

import numpy as np

from tiny_torch import _core
from tiny_torch.amp.grad_scaler import GradScaler
from tiny_torch.autograd.engine import run_backward
from tiny_torch.autograd.places import Place
from tiny_torch.nn.modules import module as module_file
from tiny_torch.nn.modules.module import Module
from tiny_torch.optim.lr_scheduler import LRScheduler
from tiny_torch.optim.optimizer import Optimizer
from tiny_torch.program.values import (
    ASKS,
    CHANGEABLE,
    CONTAINERS,
    DEPTH,
    MISSING,
    MOST_VALUES,
    OF_ALL,
    PLAIN,
    cell_value,
    copy_of,
    is_data,
    is_iterator,
    is_large,
    is_new,
    is_of_package,
    is_of_python,
    is_ours,
    is_read,
    is_value,
    leaves_of,
    lookups_of,
    memory_of,
    modules_named,
    parameters_of,
    texts_of,
)
from tiny_torch.tensor import Tensor

CHANGES = "changes what it reads: a global, a closure's variable or an attribute"
COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
ENVIRONMENT: Any = os.environ
READ_ENVIRONMENT = type(ENVIRONMENT).__getitem__.__code__
BACKWARD = run_backward.__code__
DICE = (random.Random, np.random.Generator, np.random.RandomState)
DRAWS = "draws from Python's or NumPy's random numbers"
# What optimizers, schedules and a GradScaler do outside of programs; and whose attributes all other
# code of the package reads.
OUTSIDE = ("step", "wrapper", "zero_grad", "unscale_", "update")
KINDS = (Module, Optimizer, LRScheduler, GradScaler)
STATE = (
    "training", "_modules", "_parameters", "_buffers", "_forward_hooks", "_forward_pre_hooks",
    "_backward_hooks", "_backward_pre_hooks", "forward",
)  # fmt: skip


class Reader:
    """Sees the functions that are called; `effect` says what no program can repeat."""

    recording: Any
    pieces: list
    start_grads: dict[int, Any]

    def __init__(self, function: Any, steps: bool) -> None:
        self.function = function  # that is recorded
        self.steps = steps  # whether gradients may be stored, and calls be made outside
        self.functions: dict[int, list[Any]] = {}  # by the id of their code
        self.guards: list[Any] = []  # owner, name, value, copy; owner, name, ...
        self.tensors: dict[int, Tensor] = {}
        self.first: dict[int, tuple] = {}  # of each: its array, requires_grad as they were found
        self.modules: dict[int, Module] = {}
        self.given: set[int] = set()  # ids of tensors among the arguments, and
        self.bound: set[int] = set()  # of those that the code also reads elsewhere
        self.is_inner = False  # whether a cell is followed that the recorded code may have made
        self.seen: set[tuple[int, Any]] = set()
        self.codes: set[tuple[int, int]] = set()
        self.names: dict[str, None] = {}  # that the user's code looks up,
        self.asked: set[str] = set()  # those of which it may ask whether they are there,
        self.texts: dict[str, None] = {}  # and what may be names, for code that is given such
        self.takes_texts = self.takes_all = False  # whether some does, or reads all attributes
        self.objects: dict[int, tuple[Any, int]] = {}  # which it may reach, how deep to look
        self.born: dict[int, Any] = {}  # those that it has made itself
        self.states: list[tuple[dict, dict]] = []  # their attributes, and as they were
        self.effect = ""

    def note(self, effect: str) -> None:
        """The first of what no program can repeat, and where it happened."""
        if not self.effect:
            self.effect = f"{effect}{place()}"

    def enter(self, frame: Any) -> None:
        code = frame.f_code
        if code.co_name == "register_hook":
            self.note("registers a hook")
        if code is READ_ENVIRONMENT:
            key = ENVIRONMENT.encodekey(frame.f_locals["key"])
            self.guard(ENVIRONMENT._data, key, 0)
        values = frame.f_locals
        if is_ours(code):
            self.enter_ours(code, values)
            return
        of_python = is_of_python(code.co_filename)
        if (id(code), 0) not in self.codes:
            self.codes.add((id(code), 0))
            names = lookups_of(code)
            self.look_again(code, names)
            of_globals = names if "globals" in names else code.co_names
            for name in of_globals if not of_python else ():
                if name in frame.f_globals:
                    self.guard(frame.f_globals, name, DEPTH)
            for name in modules_named(code, frame.f_globals.get("__package__") or ""):
                self.guard(sys.modules, name, DEPTH)
            if code.co_freevars:
                self.guard_cells(frame)
            if getattr(self.function, "__code__", None) is code:
                self.reach(self.function, DEPTH)
        for name in parameters_of(code) if not of_python else ():
            self.reach(values.get(name), DEPTH)

    def look_again(self, code: types.CodeType, names: tuple[str, ...]) -> None:
        """At all that was found before, under the names that the code looks up."""
        has = set(code.co_names)
        self.texts.update(dict.fromkeys(texts_of(code)))
        self.takes_texts |= bool(has & {"getattr", "hasattr", "attrgetter"})
        fresh = [*names, *(self.texts if self.takes_texts else ())]
        fresh = [name for name in dict.fromkeys(fresh) if name not in self.names]
        self.names.update(dict.fromkeys(fresh))
        if has & ASKS:
            fresh += [name for name in names if name not in self.asked and name not in fresh]
            self.asked.update(names)
        self.takes_all |= bool(has & OF_ALL)
        for value, depth in list(self.objects.values()):
            self.look(value, fresh, depth)
        for tensor in list(self.tensors.values()):
            self.look_at_tensor(tensor, fresh, DEPTH)

    def enter_ours(self, code: types.CodeType, values: dict[str, Any]) -> None:
        """Code of the package reads a module's attributes, an optimizer's, a scheduler's."""
        if code is BACKWARD and values["accumulate"] and not self.steps:
            self.note("calls backward()")
        subject = values.get(code.co_varnames[0]) if code.co_argcount else None
        if not isinstance(subject, (Module,) if code.co_name in OUTSIDE else KINDS):
            return
        if (id(code), id(subject)) not in self.codes and code.co_name != "__init__":
            self.codes.add((id(code), id(subject)))
            self.reach(subject, DEPTH)
            if id(subject) not in self.born:
                self.look(subject, lookups_of(code), DEPTH)

    def guard_cells(self, frame: Any) -> None:
        """The variables of a closure, which only the function itself knows."""
        code = frame.f_code
        if code.co_name in COMPREHENSIONS:  # whose cells are its caller's
            for name in code.co_freevars:
                self.reach(frame.f_locals.get(name), DEPTH)
            return
        for function in self.functions_of(frame):
            self.is_inner = function is not self.function
            for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
                if cell_value(cell) is frame.f_locals.get(name, MISSING) and name != "__class__":
                    self.add(cell, name, cell_value(cell), DEPTH)
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

    def guard(self, owner: dict, name: str, depth: int) -> None:
        self.add(owner, name, owner.get(name, MISSING), depth)

    def add(self, owner: Any, name: str, value: Any, depth: int) -> None:
        if (id(owner), name) in self.seen:
            return
        self.seen.add((id(owner), name))
        if isinstance(value, CONTAINERS) and is_large(value):
            self.note(f"reads a {type(value).__name__} of more than {MOST_VALUES:,} values")
            return
        self.guards += [owner, name, value, copy_of(value)]
        self.reach(value, depth - 1, True)

    def reach(self, value: Any, depth: int, guarded: bool = False) -> None:
        """What the code has: an argument, an answer, or a value that is guarded.

        Tensors count where they are guarded: others are given, made, or views of such.
        """
        for leaf in leaves_of(value):
            if isinstance(leaf, Tensor):
                if guarded:
                    self.reach_tensor(leaf, depth)
            elif isinstance(leaf, CHANGEABLE):
                if memory_of(leaf) is None and not is_new(leaf):
                    self.note(f"reads a {type(leaf).__name__}, whose elements may change")
            elif isinstance(leaf, types.MethodType):
                self.reach(leaf.__self__, depth, guarded)
            elif isinstance(leaf, types.BuiltinMethodType):
                if not isinstance(leaf.__self__, (types.ModuleType, type, type(None))):
                    self.add(leaf, "__self__", leaf.__self__, depth)
            elif isinstance(leaf, functools.partial):
                self.add(leaf, "keywords", leaf.keywords, depth)
                self.reach((leaf.func, leaf.args), depth, guarded)
            elif isinstance(leaf, weakref.ref):
                self.reach(leaf(), depth, guarded)
            elif isinstance(leaf, DICE):
                self.note(DRAWS)
            elif guarded and is_iterator(leaf):
                self.note("reads an iterator, which another call would find further on")
            elif not isinstance(leaf, PLAIN) and (depth > 0 or isinstance(leaf, Module)):
                self.reach_object(leaf, depth, guarded)

    def reach_tensor(self, value: Tensor, depth: int) -> None:
        if id(value) in self.given and not self.is_inner:
            self.bound.add(id(value))
        if type(value.array) is not _core.NDArray:  # of a lazy module, once
            self.note(CHANGES)
            return
        if self.recording.made(value.array):
            return
        self.take(value)
        self.look_at_tensor(value, self.names, depth)

    def look_at_tensor(self, value: Tensor, names: Iterable[str], depth: int) -> None:
        for name in (value.__dict__.keys() | self.asked) & set(names):
            self.guard(value.__dict__, name, depth)
        if "grad" in names and not self.steps:
            self.add(value, "_grad", value._grad, depth)

    def reach_object(self, value: Any, depth: int, guarded: bool = False) -> None:
        if id(value) in self.born or self.objects.get(id(value), (None, -1))[1] >= depth:
            return
        state = getattr(value, "__dict__", None)
        if id(value) not in self.objects:
            if not guarded and is_new(value):  # in every call
                self.born[id(value)] = value
                self.reach(state, depth - 1)
                return
            if type(state) is dict and (not is_of_package(value) or isinstance(value, Module)):
                self.states.append((state, dict(state)))
        self.objects[id(value)] = value, depth
        self.look(value, self.names, depth)

    def look(self, value: Any, names: Iterable[str], depth: int) -> None:
        """What hangs on an object under the names that code has."""
        if isinstance(value, types.FunctionType):
            self.look_at_function(value, names, depth)
        else:
            self.look_at_object(value, names, depth)

    def look_at_function(self, function: Any, names: Iterable[str], depth: int) -> None:
        """Its defaults and closure, and the attributes that the code may read of it."""
        if not (is_ours(function.__code__) or is_of_python(function.__code__.co_filename)):
            for name in ("__defaults__", "__kwdefaults__"):
                if getattr(function, name):
                    self.add(function, name, getattr(function, name), depth)
            for name, cell in zip(
                function.__code__.co_freevars, function.__closure__ or (), strict=True
            ):
                if name != "__class__":
                    self.add(cell, name, cell_value(cell), depth)
        for name in (vars(function).keys() | self.asked) & set(names):
            self.guard(vars(function), name, depth)

    def take(self, tensor: Tensor) -> None:
        """A tensor of which the code may read the memory."""
        if id(tensor) not in self.tensors:
            self.tensors[id(tensor)] = tensor
            self.first[id(tensor)] = tensor.array, tensor.requires_grad, dict(vars(tensor))
            self.start_grads[id(tensor)] = tensor._grad

    def look_at_object(self, value: Any, names: Iterable[str], depth: int) -> None:
        """The attributes of a module, an object, a class, or a file's globals."""
        is_file = isinstance(value, types.ModuleType)
        state: Any = getattr(value, "__dict__", {})
        if is_file and not is_read(value):
            return
        if isinstance(value, Module):
            if id(value) not in self.modules:
                self.modules[id(value)] = value
                self.guard(vars(module_file), "ON_CALLS", 0)
                for key in STATE:
                    self.guard(state, key, depth)
                if state["_backward_hooks"] or state["_backward_pre_hooks"]:
                    self.note("has hooks on the gradients of a module")
            names = [name for name in names if name not in STATE]
            if is_of_package(value):  # whose class does not change
                names = [name for name in names if name in state or name in self.asked]
            else:
                self.add(type(value), "forward", type(value).forward, 0)
        has_own = type(getattr(value, "__dict__", None)) is dict
        if self.takes_all and has_own and not (is_file or is_of_package(value)):
            self.add(value, "__dict__", state, depth)
        of_class = isinstance(value, type)
        owner = value if of_class else type(value)
        is_library = is_file and "site-packages" in (value.__file__ or "")
        for name in names:
            if not of_class and name in state:
                if not is_library or is_value(state[name]):
                    self.guard(state, name, depth)
                if self.pieces and isinstance(value, KINDS[1:]):
                    self.note(f"reads {type(value).__name__}.{name} behind a call that changes it")
                continue
            found = MISSING if is_file else getattr(owner, name, MISSING)
            if type(found) is types.MemberDescriptorType and not of_class:  # a slot
                self.add(value, name, getattr(value, name, MISSING), depth)
            elif isinstance(found, types.FunctionType) and is_ours(found.__code__):
                self.look_at_function(found, (), depth)
            elif isinstance(found, (types.FunctionType, property)) or is_data(found):
                self.add(owner, name, found, depth)
                if not of_class and type(state) is dict:  # which the object may get for itself
                    self.add(state, name, MISSING, 0)
            elif found is MISSING and name in self.asked and type(state) is dict:
                self.add(state, name, MISSING, 0)
                if not is_file:
                    self.add(owner, name, MISSING, 0)


def place() -> str:
    """The innermost line of the user's, as text to be appended."""
    line = Place(sys._getframe(1)).line
    return f" ({line})" if line else ""
