"""How the names of a script lead to an object: ``losses[3]``, a variable of ``train()``.

The garbage collector tells who refers to an object (`gc.get_referrers`). From there it goes up to
what has a name: a variable of a function that runs, a global one, a class, an optimiser.
"""

from __future__ import annotations

import gc
import re
import sys
import threading
from collections import deque
from collections.abc import Iterable
from types import CellType, FrameType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any

from tiny_torch.nn import Module
from tiny_torch.optim import Optimizer

DEPTH = 16  # references from a name to the object, at most
FEW = 8  # objects of a level whose referrers the collector finds faster by itself
MANY = 1000  # objects of a level, at most: more refer to something that everybody has
OWN_ATTRIBUTES = ("_modules", "_parameters", "_buffers")  # of a module: their entries are its own
RANKS = (
    "optimizer",
    "hook",
    "module",
    "name",
)  # what a chain leads through, the most telling first


class Chain:
    """The objects from one that has a name down to the one that was looked for."""

    def __init__(self, objects: list[Any], name: str, where: str) -> None:
        self.through = next(kind for kind in RANKS if leads_through(kind, objects))
        if not name:  # a dict of variables: what it holds has one
            name, objects = str(key_of(objects[0], objects[1])), objects[1:]
        self.path = name + spell(objects)
        self.where = where  # "a variable of train()"
        self.root = re.split(r"\W", self.path)[0]
        self.name = re.sub(r"\[\d+\]", "[]", self.path)  # the same of all entries of a list

    def __str__(self) -> str:
        return f"{self.path} ({self.where})" if self.where else self.path


def leads_through(kind: str, objects: list[Any]) -> bool:
    holders = objects[:-1]
    if kind == "optimizer":
        return any(isinstance(thing, Optimizer) for thing in holders)
    if kind == "hook":
        pairs = zip(holders, objects[1:], strict=True)
        return any(
            isinstance(a, dict) and isinstance(b, dict) and str(key_of(a, b)).endswith("hooks")
            for a, b in pairs
        )
    return kind == "name" or any(isinstance(thing, Module) for thing in holders)


# ---- spelling ----------------------------------------------------------------------------------


def spell(objects: list[Any]) -> str:
    """The accesses from the first object to the last: ".blocks[0].cache['x']"."""
    text, i = "", 0
    while i + 1 < len(objects):
        used, access = access_text(objects[i : i + 4])
        text += access
        i += used
    return text


def access_text(objects: list[Any]) -> tuple[int, str]:
    """How code would reach on from the first of some objects: (how many references, its text)."""
    thing, inner, *rest = objects
    if isinstance(thing, dict):
        key = key_of(thing, inner)
        return 1, f"[{key!r}]" if isinstance(key, str | int) else f"[{type(key).__name__}]"
    if isinstance(thing, list | tuple | deque):
        return 1, f"[{next((i for i, held in enumerate(thing) if held is inner), '?')}]"
    if isinstance(inner, dict) and rest and is_attributes(thing, inner):
        key = key_of(inner, rest[0])
        if isinstance(thing, Module) and key in OWN_ATTRIBUTES and len(rest) > 1:
            return 3, f".{key_of(rest[0], rest[1])}"
        return 2, f".{key}"
    if isinstance(thing, FunctionType) and len(rest) > 1 and isinstance(rest[0], CellType):
        place = [cell is rest[0] for cell in inner].index(True)
        return 3, f", closure variable {thing.__code__.co_freevars[place]}"
    if isinstance(thing, MethodType):
        return 1, ".__self__"
    attributes = vars(thing) if hasattr(thing, "__dict__") else {}
    return 1, f".{key_of(attributes, inner)}"


def is_attributes(thing: Any, mapping: dict) -> bool:
    if isinstance(thing, type):
        return True  # its own dict: vars() shows another object
    return getattr(thing, "__dict__", None) is mapping


def key_of(mapping: Any, value: Any) -> Any:
    return next((key for key, held in mapping.items() if held is value), "?")


def module_of(thing: Any) -> ModuleType | None:
    """The module whose globals a dict is."""
    if not isinstance(thing, dict) or not isinstance(thing.get("__name__"), str):
        return None
    module = sys.modules.get(thing["__name__"])
    return module if module is not None and vars(module) is thing else None


# ---- searching ---------------------------------------------------------------------------------


class Chains:
    """Looks for chains; `own` are containers of the caller's, which count for nothing."""

    def __init__(self, frame: FrameType | None, own: Iterable[Any]) -> None:
        self.ignored = {id(thing) for thing in own}
        self.names: dict[int, tuple[str, str]] = {}
        self.scripts: dict[int, str] = {}  # by id of the dict of their variables
        others = [f for n, f in sys._current_frames().items() if n != threading.get_ident()]
        for innermost in (frame, *others):
            while innermost is not None:
                self._take_variables(innermost)
                innermost = innermost.f_back
        self.ignored.add(id(self.names))

    def _take_variables(self, frame: FrameType) -> None:
        if frame.f_locals is frame.f_globals:
            if module_of(frame.f_globals) is None:  # run by exec()
                self.scripts[id(frame.f_globals)] = frame.f_code.co_filename
            return
        self.ignored.add(id(frame.f_locals))
        where = f"a variable of {frame.f_code.co_name}()"
        for name, value in frame.f_locals.items():
            if gc.is_tracked(value):
                self.names.setdefault(id(value), (name, where))

    def find(self, target: Any) -> Chain | None:
        """The most telling of the shortest chains; None if no name leads to the object."""
        below: dict[int, Any] = {id(target): None}  # id: the object that it refers to
        level, kept, found = [target], [target], []  # kept: so that no id passes to another object
        for _ in range(DEPTH):
            for thing in level:
                name = self._name(thing)
                if name is not None:
                    found.append(Chain(down_from(thing, below), *name))
            level = [x for x in level if not is_top(x) and id(x) not in self.scripts]
            if not 0 < len(level) <= MANY:
                break
            level = self._referrers(level, below, {id(level), id(kept)})
            kept += level
        return min(found, key=lambda chain: RANKS.index(chain.through), default=None)

    def _referrers(self, level: list[Any], below: dict[int, Any], own: set[int]) -> list[Any]:
        ids = {id(thing): thing for thing in level}
        own |= {id(ids), id(below)}
        above = []
        for thing in referrers(level, ids):
            if isinstance(thing, FrameType | GeneratorType) or id(thing) in own | self.ignored:
                continue
            inner = next((ids[id(x)] for x in gc.get_referents(thing) if id(x) in ids), None)
            if inner is not None and id(thing) not in below:
                below[id(thing)] = inner
                above.append(thing)
        return above

    def _name(self, thing: Any) -> tuple[str, str] | None:
        if isinstance(thing, Optimizer):
            return type(thing).__name__, ""
        if isinstance(thing, type):
            return thing.__qualname__, "a class"
        module = module_of(thing)
        if module is not None:
            return "", f"a global of {module.__name__}"
        if id(thing) in self.scripts:
            return "", f"a global of {self.scripts[id(thing)]}"
        return self.names.get(id(thing))


def referrers(level: list[Any], ids: dict[int, Any]) -> list[Any]:
    """What refers to some objects, whose `ids` are given.

    `gc.get_referrers` compares every reference with each of them: for many, a look into a set
    takes less.
    """
    if len(level) <= FEW:
        return gc.get_referrers(*level)
    wanted = ids.keys()
    return [x for x in gc.get_objects() if not wanted.isdisjoint(map(id, gc.get_referents(x)))]


def is_top(thing: Any) -> bool:
    """Whether what refers to it would tell nothing."""
    return isinstance(thing, Optimizer | type | ModuleType) or module_of(thing) is not None


def down_from(thing: Any, below: dict[int, Any]) -> list[Any]:
    objects = []
    while thing is not None:
        objects.append(thing)
        thing = below[id(thing)]
    return objects
