"""What exists for one, two and three spatial dims, from one definition, whose docstring tells of
planes; and copies of functions under the name of the class that inherits them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import update_wrapper
from types import FunctionType
from typing import Any, TypeVar

LETTERS = {1: ["L"], 2: ["H", "W"], 3: ["D", "H", "W"]}
Named = TypeVar("Named", bound=Callable[..., Any])


def in_dims(text: str, dims: int) -> str:
    """A text about planes, for so many dims: shapes, "H and W", names, and sizes of examples.

    >>> in_dims("Pool2d along H and W: (N, H, W) -> (N, H', W'), as (5, 8, 8)", 3)
    "Pool3d along D, H and W: (N, D, H, W) -> (N, D', H', W'), as (5, 8, 8, 8)"
    >>> in_dims("Pool2d along H and W: (N, kH, kW), as (5, 8, 8)", 1)
    'Pool1d along L: (N, kL), as (5, 8)'
    """
    letters = LETTERS[dims]
    text = text.replace("2d", f"{dims}d")
    text = text.replace("H and W", ", ".join(letters).replace("H, W", "H and W"))
    text = re.sub(
        r"\b(k?)H('?), \1W\2(?!\w)",
        lambda found: ", ".join([found[1] + letter + found[2] for letter in letters]),
        text,
    )
    return re.sub(r"\b(\d+), \1(?=[)\]])", lambda found: ", ".join([found[1]] * dims), text)


def in_each_dim(function: Named, *examples: str) -> tuple[Named, Named, Named]:
    """`conv1d`, `conv2d` and `conv3d` of a function `conv`, whose last keyword is `_dims`.

    The examples are those of 1 and 3 dims, where that for planes does not become theirs.
    """
    planes: Any = function
    own = dict(zip((1, 3), examples, strict=False))
    shown = inspect.signature(function)
    shown = shown.replace(parameters=list(shown.parameters.values())[:-1])

    def in_so_many(dims: int) -> Any:
        copy: Any = copy_as(f"{planes.__name__}{dims}d", planes)
        hidden = "dims of windows"  # no name that a caller would give it by
        names = [hidden if name == "_dims" else name for name in copy.__code__.co_varnames]
        copy.__code__ = copy.__code__.replace(co_varnames=tuple(names))
        copy.__kwdefaults__ = {**copy.__kwdefaults__, hidden: dims}
        del copy.__kwdefaults__["_dims"]
        copy.__annotations__ = {k: v for k, v in copy.__annotations__.items() if k != "_dims"}
        copy.__signature__, copy.__doc__ = shown, own.get(dims)
        return told_as(function, dims)(copy)

    return in_so_many(1), in_so_many(2), in_so_many(3)


def give_name(name: str, doc: str) -> Callable[[Named], Named]:
    """Decorator of a function that another one makes: its name, and what it says of itself."""

    def add(function: Named) -> Named:
        function.__name__ = function.__qualname__ = name
        function.__doc__ = doc
        return function

    return add


def told_as(planes: Any, dims: int) -> Callable[[Named], Named]:
    """Decorator: the docstring of `planes`, in so many dims; the example is one's own, if any."""

    def add_text(thing: Named) -> Named:
        text, own = in_dims(planes.__doc__, dims), thing.__doc__
        thing.__doc__ = (
            text if own is None else text.partition(">>>")[0].rstrip() + "\n\n    " + own.lstrip()
        )
        return thing

    return add_text


def copy_as(name: str, function: FunctionType) -> FunctionType:
    """The same function under another name, or as `Class.method`, which Python's errors say."""
    copy = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__,
        function.__closure__,
    )  # fmt: skip
    update_wrapper(copy, function)
    del copy.__wrapped__  # type: ignore[attr-defined]
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__qualname__, copy.__name__ = name, name.rpartition(".")[2]
    return copy


def with_parameters(function: Any, name: str, doc: str | None, **names: str) -> Any:
    """The same function under another name, whose parameters have other names, too."""
    copy = copy_as(name, function)
    code = copy.__code__
    copy.__code__ = code.replace(co_varnames=tuple([names.get(n, n) for n in code.co_varnames]))
    copy.__annotations__ = {names.get(n, n): kind for n, kind in copy.__annotations__.items()}
    copy.__doc__ = doc
    return copy


EMPTY_CLASS = {*vars(type("Empty", (), {})), "__annotations__"}


def extend(cls: type, part: type) -> None:
    """Attaches the methods and attributes of the class `part` to another class."""
    for name in vars(part).keys() - EMPTY_CLASS:
        value = vars(part)[name]
        if isinstance(value, FunctionType):
            value.__qualname__ = f"{cls.__name__}.{value.__name__}"
        setattr(cls, name, value)


def own_methods(cls: type, *names: str) -> None:
    """Gives a class copies of methods that it inherits, under its own name."""
    for name in names:
        method, own = getattr(cls, name), f"{cls.__name__}.{name}"
        if isinstance(method, FunctionType) and method.__qualname__ != own:
            setattr(cls, name, copy_as(own, method))
