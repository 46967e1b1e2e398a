"""Numbers that change from call to call, such as a temperature, as inputs of a program.

While a function is recorded, a `Number` stands in a float's place. What it is computed into is a
`Number` again, and the recording's `Tape` notes how; where a launch takes one, a program is told
its value in each run (`set_numbers`). Whatever else looks at the value, such as a comparison,
`int()` or C code that wants a float, is answered, and is noted, too: a program holds only for
numbers that have the same answer. Note [Followed numbers] in src/README.md.
"""

from __future__ import annotations

import dis
import functools
import gc
import math
import operator
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from tiny_torch import _core
from tiny_torch.base.arguments import is_tensor
from tiny_torch.base.pytree import tree_flatten, tree_map

COMPUTED = object()  # what a step of a tape answers is a number of it, too
SIMPLE = (float, int, bool)  # what a number may be computed with
CHANGED = "changes a list or a dict among its arguments"


class Tape:
    """The numbers of a recording: those it was given, and how the others are made from them.

    Those of `varying` are followed; of the others, a program holds for the same ones.
    """

    def __init__(self, given: list[float], varying: set[int]) -> None:
        self.given, self.varying = given, varying
        self.values = list(given)
        self.made: list[weakref.ref[Number]] = []
        self.steps: list[tuple[Callable[..., Any], tuple, Any]] = []  # and what each answers
        self.asked: set[tuple[Any, int]] = set()  # what, of which number
        self.thread = threading.get_ident()  # which records; or 0
        self.originals: dict[int, tuple] = {}  # of arguments that numbers stand in, by id
        for i in range(len(given)):
            if i not in varying:
                self.check(float, Number(self, i))

    def compute(self, op: Callable[..., Any], *args: Any) -> Any:
        """The number that `op` makes of these."""
        found = self.answer(op, args)
        if self.thread != threading.get_ident():
            return found
        if type(found) is not float:  # of a complex one nothing is known
            return self.check(op, *args)
        self.steps.append((op, args, COMPUTED))
        self.values.append(found)
        return Number(self, len(self.values) - 1)

    def check(self, op: Callable[..., Any], *args: Any) -> Any:
        """What `op` says of these: a program holds for numbers of which it says the same."""
        found = self.answer(op, args)
        if self.thread != threading.get_ident():
            return found
        if len(args) == 1:
            if (op, args[0].number) in self.asked:
                return found
            self.asked.add((op, args[0].number))
        self.steps.append((op, args, form_of(found)))
        return found

    def answer(self, op: Callable[..., Any], args: tuple) -> Any:
        try:
            return op(*map(plain, args))
        except Exception:  # which the function may catch: another number may raise nothing
            for x in args:
                if type(x) is Number:
                    self.check(float, x)
            raise

    def values_for(self, given: list[float]) -> list[float] | None:
        """All numbers, where these are given; None if the program does not hold for them."""
        values = list(given)
        try:
            for op, args, answer in self.steps:
                found = op(*[values[a.number] if type(a) is Number else a for a in args])
                if answer is not COMPUTED:
                    if form_of(found) != answer:
                        return None
                elif type(found) is not float:
                    return None
                else:
                    values.append(found)
        except (ArithmeticError, ValueError):  # which is for the function to raise
            return None
        return values

    def call(
        self, function: Callable[..., Any], args: Any, kwargs: Any, note: Callable[[str], None]
    ) -> Any:
        """What the function answers, given numbers in the place of floats."""
        if not args and not kwargs:
            return function()
        before = tree_flatten((args, kwargs))
        numbers = iter(range(len(self.given)))
        try:
            if self.varying:
                result = function(*self.put(args, numbers), **self.put(kwargs, numbers))
            else:
                result = function(*args, **kwargs)
        except Exception as error:
            error.args = tuple(map(plain, error.args))
            raise
        finally:
            self.take_out(args)
            self.take_out(kwargs)
            self.originals = {}
            self.take_back()
        after = tree_flatten((args, kwargs))
        pairs = zip(before[0], after[0], strict=False)
        if repr(after[1]) != repr(before[1]) or not all(a is b for a, b in pairs):
            note(CHANGED)
        return self.without_numbers(result)

    def put(self, tree: Any, numbers: Any) -> Any:
        """The arguments, with numbers in them; lists and dicts themselves have them meanwhile."""
        kind = type(tree)
        if kind is Number:  # in a list or a dict that is given twice
            self.check(are_same, tree, Number(self, next(numbers)))
            return tree
        if kind is float:
            i = next(numbers)
            return self.instead(Number(self, i), tree) if i in self.varying else tree
        if kind is tuple:
            found = tuple([self.put(child, numbers) for child in tree])
            return tree if all(map(operator.is_, found, tree)) else self.instead(found, tree)
        if kind in (list, dict):
            for key, child in list(tree.items() if kind is dict else enumerate(tree)):
                tree[key] = self.put(child, numbers)
            return tree
        for leaf in [] if is_tensor(tree) else tree_flatten(tree)[0]:
            if type(leaf) is float:  # of another container
                self.check(float, Number(self, next(numbers)))
        return tree

    def instead(self, found: Any, value: Any) -> Any:
        self.originals[id(found)] = value, found  # which lives, so that its id is its own
        return found

    def take_out(self, tree: Any) -> None:
        """Puts floats back, also for numbers that the function has put in."""
        if not self.varying or type(tree) not in (tuple, list, dict):
            return
        for key, child in list(tree.items() if type(tree) is dict else enumerate(tree)):
            value = self.originals.get(id(child), (child,))[0]
            if type(tree) is not tuple and (type(child) is Number or type(child) is tuple):
                tree[key] = value = self.without_numbers(value)
            self.take_out(value)

    def take_back(self) -> None:
        """Puts floats where the function has stored numbers: in lists, dicts, attributes."""
        left = [number for made in self.made if (number := made()) is not None]
        for holder in gc.get_referrers(*left) if left else ():
            state = holder if type(holder) is list else getattr(holder, "__dict__", holder)
            if type(state) in (list, dict) and state is not left:
                for key, child in list(state.items() if type(state) is dict else enumerate(state)):
                    state[key] = plain(child)

    def without_numbers(self, tree: Any) -> Any:
        """What the caller gets: plain floats."""
        if not self.varying or not any(type(x) is Number for x in tree_flatten(tree)[0]):
            return tree
        return tree_map(lambda x: float(x) if type(x) is Number else x, tree)

    def close(self, recording: Any) -> None:
        """Behind a recording: notes what C++ has asked."""
        for number in recording.read:
            self.check(float, Number(self, number))
        for number, value in recording.apart:
            self.check(operator.eq, Number(self, number), value)
        self.thread = 0


class Number:
    """A float of a recording. `isinstance` takes it for one; C code has to ask it for its value.

    (A subclass of float would not be asked: C reads the value of such a one where it lies.)
    """

    __slots__ = ("__weakref__", "number", "tape", "value")
    __array_priority__ = 1000  # NumPy leaves operators to it

    def __init__(self, tape: Tape, number: int) -> None:
        self.tape, self.number, self.value = tape, number, tape.values[number]
        tape.made.append(weakref.ref(self))

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return float

    def __float__(self) -> float:
        return self.tape.check(float, self)

    def __getattr__(self, name: str) -> Any:
        if not hasattr(float, name):
            raise AttributeError(f"'float' object has no attribute '{name}'")
        return getattr(float(self), name)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(float(self), dtype)

    def __complex__(self) -> complex:
        return complex(float(self))

    def __reduce__(self) -> tuple:
        return float, (float(self),)

    def __round__(self, ndigits: Any = None) -> Any:
        if ndigits is None:
            return self.tape.check(round, self)
        return self.tape.compute(round, self, operator.index(ndigits))

    def __format__(self, spec: str) -> str:
        return format(float(self), spec)


def give_floats(tree: Any, depth: int) -> Any:
    """The value without numbers, which are floats from here on: for code that asks `type`."""
    kind = type(tree)
    if kind is Number:
        return float(tree)
    if depth == 0 or kind not in (tuple, list, dict):
        return tree
    pairs = list(tree.items() if kind is dict else enumerate(tree))
    found = [give_floats(child, depth - 1) for _, child in pairs]
    if kind is tuple:
        return tuple(found)
    for (key, child), value in zip(pairs, found, strict=True):
        if value is not child:
            tree[key] = value
    return tree


@functools.lru_cache(1024)
def asks_types(code: Any) -> bool:
    """Whether the code calls `type`, which is told the truth about a `Number`."""
    inner = [x for x in code.co_consts if hasattr(x, "co_consts")]
    return ("type" in code.co_names and any(map(is_type, dis.get_instructions(code)))) or any(
        map(asks_types, inner)
    )


def is_type(line: dis.Instruction) -> bool:
    return line.argval == "type" and line.opname in ("LOAD_GLOBAL", "LOAD_NAME")


def plain(value: Any) -> Any:
    return value.value if type(value) is Number else value


def are_same(a: float, b: float) -> bool:
    return form_of(a) == form_of(b)


def form_of(value: Any) -> tuple:
    """What two answers have in common if they are one: the bits of a float, for all but NaN."""
    return type(value), repr(value)


def with_values(call: Any, tape: Tape | None = None, values: Any = ()) -> Any:
    """The call, a partial, with floats in the place of numbers: their own, or those of a run."""
    if not (values or tape is None):  # a run that has none
        return call

    def value_of(x: Any) -> Any:
        if type(x) is not Number:
            return x
        return values[x.number] if x.tape is tape else x.value

    given = call.args, call.keywords
    if not any(type(x) is Number for x in tree_flatten(given)[0]):
        return call
    args, keywords = tree_map(value_of, given)
    return functools.partial(call.func, *args, **keywords)


def answer_with(how: str, op: Callable[..., Any], *, swapped: bool = False) -> Callable[..., Any]:
    """A method of two numbers, which a tape notes as it does `how`: "compute" or "check"."""

    def method(self: Number, other: Any) -> Any:
        if is_tensor(other) or isinstance(other, _core.NDArray):
            return NotImplemented
        if how == "check" and (other is None or type(other) is str):
            return op(self.value, other)  # of any float it is the same
        if type(other) not in SIMPLE and not (type(other) is Number and other.tape is self.tape):
            return op(other, float(self)) if swapped else op(float(self), other)
        both = (other, self) if swapped else (self, other)
        return getattr(self.tape, how)(op, *both)

    return method


def answer_of(how: str, op: Callable[..., Any]) -> Callable[[Number], Any]:
    return lambda self: getattr(self.tape, how)(op, self)


for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "divmod"):
    of_two = divmod if name == "divmod" else getattr(operator, name)
    how = "check" if name == "divmod" else "compute"
    setattr(Number, f"__{name}__", answer_with(how, of_two))
    setattr(Number, f"__r{name}__", answer_with(how, of_two, swapped=True))
for name in ("lt", "le", "eq", "ne", "gt", "ge"):
    setattr(Number, f"__{name}__", answer_with("check", getattr(operator, name)))
for name in ("neg", "pos", "abs"):
    setattr(Number, f"__{name}__", answer_of("compute", getattr(operator, name)))
for function in (bool, int, math.trunc, math.floor, math.ceil, hash, repr, str):
    setattr(Number, f"__{function.__name__}__", answer_of("check", function))
Number.__name__ = Number.__qualname__ = "float"  # as messages have it
_core.set_number_type(Number)
