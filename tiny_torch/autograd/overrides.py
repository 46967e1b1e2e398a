"""`__torch_function__`: how a class, or a mode, answers PyTorch's functions in their place.

A call of a public function, method, operator or property first looks at its arguments
(src/autograd/overrides.h). Those of Tensor and Parameter have nothing to say, and the call runs. An
argument of any other class that has a `__torch_function__` is asked instead:

    torch.add(x, y)  ->  type(y).__torch_function__(torch.add, types, (x, y), {})

Subclasses are asked before their bases, else from left to right, each class once; a mode that a
``with`` has entered comes before them all. Who answers NotImplemented leaves it to the next, and
TypeError says that nobody is left. A subclass of Tensor inherits `torch_function` below, which
computes and gives the results the subclass's type.

>>> import tiny_torch as torch
>>> class Metres(torch.Tensor): ...
>>> type(torch.ones(2).as_subclass(Metres) + 1).__name__
'Metres'

https://pytorch.org/docs/stable/notes/extending.html#extending-torch-python-api
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

from tiny_torch import _core
from tiny_torch.base.modes import Scope
from tiny_torch.tensor import Tensor

# Whom a thread does not ask: src/autograd/overrides.cpp.
NOBODY_OFF, ARGUMENTS_OFF, ALL_OFF = 0, 1, 2


# Modules whose functions PyTorch's parser knows by another place and name.
PARSED_AS = {
    "tiny_torch.functions.torch_linalg": ("torch.linalg", "linalg_"),
    "tiny_torch.functions.torch_special": ("torch.special", "special_"),
    "tiny_torch.nn.functional": ("torch.nn", ""),
}


class Property(_core.Property):
    """A property of Tensor, which asks before it reads or writes."""

    def __init__(self, name: str, plain: property) -> None:
        super().__init__(plain.fget, plain.fset, plain.fdel, plain.__doc__)
        self.__name__ = name


class Kind(NamedTuple):
    """How PyTorch has a function."""

    public: Any  # what handlers are told was called: `x + y` is torch.Tensor.add
    in_python: bool = False  # then classes of all tensors are named, and defaults come by keyword
    operator: bool = False  # then the other operand goes on where nobody answers


KINDS: dict[Any, Kind] = {}  # of functions whose kind is another than Kind(function)
# What these answer keeps its class: it belongs to another tensor.
KEPT: set[Any] = set()


# ------------------------------------------------------------------------------------ who is asked
class Switch(Scope):
    """What a thread does not ask, while its ``with`` lasts."""

    level = NOBODY_OFF

    def current(self) -> int:
        return _core.switched_off()

    def begin(self) -> None:
        _core.switch_off(max(self.level, _core.switched_off()))

    def restore(self, before: int) -> None:
        _core.switch_off(before)


class DisableTorchFunctionSubclass(Switch):
    """Within it no argument is asked; modes are."""

    level = ARGUMENTS_OFF


class DisableTorchFunction(Switch):
    """Within it neither arguments nor modes are asked."""

    level = ALL_OFF


def switched_on() -> bool:
    """Whether arguments are asked."""
    return _core.switched_off() == NOBODY_OFF


class Modes(Scope):
    """Within it these modes are asked, the last of them first."""

    def __init__(self, stack: tuple) -> None:
        self.stack = stack

    def current(self) -> tuple:
        return _core.function_modes()

    def begin(self) -> None:
        _core.use_function_modes(self.stack)

    def restore(self, before: tuple) -> None:
        _core.use_function_modes(before)


class TorchFunctionMode:
    """Answers every call of this thread while its ``with`` lasts; the innermost mode is first.

    Inside `__torch_function__` the mode is off, those outside of it are on.

    >>> import tiny_torch as torch
    >>> class Names(TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> with Names():
    ...     x = torch.ones(2) * 3
    ones
    mul

    https://pytorch.org/docs/stable/notes/extending.html#extending-all-torch-api-with-modes
    """

    def __torch_function__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        _core.use_function_modes((*_core.function_modes(), self))
        return self

    def __exit__(self, *error: Any) -> None:
        _core.use_function_modes(_core.function_modes()[:-1])

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        warnings.warn(
            "`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`",
            stacklevel=2,
        )
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


def in_order(values: Iterable, with_tensors: bool = False) -> list:
    """Those to ask, one of each class: subclasses before their bases, else as they come.

    `with_tensors`: tensors of no class of their own are among them.
    """
    found: list[Any] = []
    for value in values if not _core.switched_off() else ():
        if not _core.has_override(value) and not (with_tensors and type(value) is Tensor):
            continue
        kind = type(value)
        if any(type(other) is kind for other in found):
            continue
        later = [i for i, other in enumerate(found) if issubclass(kind, type(other))]
        found.insert(later[0] if later else len(found), value)
    return found


def flatten_once(values: Iterable) -> Iterable:
    """The values, and in the place of lists and tuples what these hold."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from value
        else:
            yield value


# ------------------------------------------------------------------------------------ how they are
def ask(function: Any, args: tuple, kwargs: dict) -> Any:
    """The answer to a call of which an argument or a mode is to be asked."""
    kind = KINDS.get(function) or Kind(function)
    in_python = kind.in_python
    overloaded = in_order(flatten_once((*args, *kwargs.values())), in_python)
    if in_python:
        args, kwargs = with_defaults(function, args, kwargs)
    given = (args, kwargs) if kwargs or in_python else (args,)
    try:
        return answer_of_handlers(kind.public, overloaded, given, in_python)
    except TypeError:
        if kind.operator:
            return NotImplemented
        raise


def answer_of_handlers(public: Any, overloaded: list, given: tuple, in_python: bool = True) -> Any:
    """The first answer of a mode or an argument: `given` is (args,) or (args, kwargs)."""
    types = tuple(map(type, overloaded))
    *outer, mode = _core.function_modes() or (None,)
    if mode is not None and _core.switched_off() < ALL_OFF:
        with Modes(tuple(outer)):
            answer = mode.__torch_function__(public, types, *given)
        if answer is not NotImplemented:
            return answer
    else:
        mode = None
    for value in overloaded:
        answer = value.__torch_function__(public, types, *given)
        if answer is not NotImplemented:
            return answer
    raise TypeError(nobody(public, list(types), mode, in_python))


def nobody(public: Any, types: list, mode: Any, in_python: bool) -> str:
    """PyTorch's words where all have answered NotImplemented."""
    owner = getattr(public, "__self__", None)  # of a property's __get__: the property
    name = public.__name__ if owner is None else f"{owner.__name__}.{public.__name__}"
    module = getattr(public, "__module__", None) or "tiny_torch"
    if not in_python and module in PARSED_AS:
        module, name = PARSED_AS[module][0], PARSED_AS[module][1] + name
    if owner is not None or getattr(public, "__qualname__", "").startswith("Tensor."):
        module += "._tensor" if in_python else ".Tensor"
    elif in_python and module == "tiny_torch":
        module += ".functional"
    name = f"{module.replace('tiny_torch', 'torch', 1)}.{name}"
    if in_python:
        end = "" if mode is None else f" nor in mode {mode}"
        return (
            f"no implementation found for '{name}' on types that implement __torch_function__: "
            f"{types}{end}"
        )
    asked = [] if mode is None else [f"  - mode object {mode!r}\n"]
    asked += [f"  - tensor subclass {kind!r}\n" for kind in types]
    return (
        f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned "
        f"NotImplemented:\n\n{''.join(asked)}\nFor more information, try re-running with "
        "TORCH_LOGS=not_implemented"
    )


def with_defaults(function: Any, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """A call as PyTorch's Python functions pass it on: what has a default comes by keyword."""
    plain = function.__wrapped__
    if plain.__name__.startswith("__"):  # which are passed on as they come
        return args, {**(plain.__kwdefaults__ or {}), **kwargs}
    code, defaults = plain.__code__, plain.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    required = len(names) - len(defaults)
    if len(args) < required or len(args) > len(names):
        return args, {**(plain.__kwdefaults__ or {}), **kwargs}
    given = dict(zip(names[required:], args[required:], strict=False))
    by_name = dict(zip(names[required:], defaults, strict=True))
    return args[:required], {**by_name, **(plain.__kwdefaults__ or {}), **given, **kwargs}


# ------------------------------------------------------------------------------ what Tensor answers
def torch_function(cls: Any, func: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
    """What `func` computes, as tensors of this class; NotImplemented beside unrelated classes."""
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    for value in args:  # whose functions ask our tensors, too
        _core.refuse_pytorchs(value)
    with DisableTorchFunctionSubclass():
        answer = func(*args, **(kwargs or {}))
    return answer if func in KEPT else of_class(answer, cls)


def of_class(answer: Any, cls: type) -> Any:
    """The tensors of an answer as tensors of a class, unless they are."""
    if cls is Tensor:
        return answer
    if isinstance(answer, Tensor):
        return answer if isinstance(answer, cls) else answer.as_subclass(cls)
    if isinstance(answer, (tuple, list)):
        return type(answer)(of_class(each, cls) for each in answer)
    return answer


_core.register_overrides(ask)
Tensor.__torch_function__ = classmethod(torch_function)  # type: ignore[attr-defined]
