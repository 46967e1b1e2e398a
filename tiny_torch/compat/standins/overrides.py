"""`torch.overrides`: which functions ask for a `__torch_function__`, and helpers for those who have
one. The protocol itself: autograd/overrides.py.

https://pytorch.org/docs/stable/torch.overrides.html
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from functools import cache, wraps
from inspect import Signature, signature
from typing import Any

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.autograd import overrides
from tiny_torch.autograd.overrides import KEPT, BaseTorchFunctionMode, TorchFunctionMode
from tiny_torch.tensor import Tensor


def has_torch_function(relevant_args: Iterable) -> bool:
    """Whether an argument has a `__torch_function__` of its own, or a mode is on."""
    return _core.is_asked(*relevant_args)


def has_torch_function_unary(arg: Any) -> bool:
    """The same of one argument."""
    return _core.is_asked(arg)


has_torch_function_variadic = _core.is_asked


def handle_torch_function(
    public_api: Callable, relevant_args: Iterable, *args: Any, **kwargs: Any
) -> Any:
    """What the mode or one of `relevant_args` answers to ``public_api(*args, **kwargs)``.

    TypeError where all answer NotImplemented.

    >>> import tiny_torch as torch
    >>> from tiny_torch.overrides import handle_torch_function, has_torch_function_unary
    >>> def double(x):
    ...     if has_torch_function_unary(x):
    ...         return handle_torch_function(double, (x,), x)
    ...     return x + x
    >>> class Text:
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         return func.__name__
    >>> double(Text()), double(torch.ones(1))
    ('double', tensor([2.]))
    """
    asked = overrides.in_order(relevant_args, with_tensors=True)
    return overrides.answer_of_handlers(public_api, asked, (args, kwargs))


def wrap_torch_function(dispatcher: Callable) -> Callable:
    """Decorator: the function asks first; ``dispatcher(*args, **kwargs)`` names whom."""

    def decorate(func: Callable) -> Callable:
        @wraps(func)
        def asking(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(asking, relevant, *args, **kwargs)
            return func(*args, **kwargs)

        return asking

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """True for a Tensor, and for what has a `__torch_function__`."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def enable_reentrant_dispatch() -> Any:
    """A context that changes nothing: handlers may call what they like."""
    return contextlib.nullcontext()


# ------------------------------------------------------------------------------- which ask whom
def spaces() -> dict[Any, tuple[str, str]]:
    """Where functions that ask are public: {module or class: its name, how its names begin}."""
    modules = {
        torch: "torch", torch.nn.functional: "torch.nn.functional",
        torch.nn.init: "torch.nn.init", torch.linalg: "torch.linalg",
        torch.special: "torch.special",
    }  # fmt: skip
    return {
        Tensor: ("torch.Tensor", "torch.Tensor."),
        **{m: (n, n + ".") for m, n in modules.items()},
    }


NAMES_OF_TENSORS = {
    "args", "elements", "exponent", "input", "operands", "other", "tensor", "tensors",
}  # fmt: skip


def is_tensor(parameter: Any) -> bool:
    """Whether a parameter of a function, other than `out`, takes a tensor, or several."""
    if parameter.name in ("out", "generator"):
        return False
    return "Tensor" in str(parameter.annotation) or parameter.name in NAMES_OF_TENSORS


def asks_arguments(space: Any, name: str, value: Any) -> bool:
    """Whether a function asks tensors among its arguments: factories have none."""
    if not isinstance(value, _core.Function) or value.asks < 2:
        return False
    return space is Tensor or any(map(is_tensor, signature(value).parameters.values()))


def members() -> Iterator[tuple[Any, str, Any]]:
    """What is public: (module or class, name, function or property)."""
    for space in spaces():
        for name in sorted(vars(space)):
            dunder = space is Tensor and name.startswith("__")
            if (dunder or not name.startswith("_")) and name not in ("__dict__", "__weakref__"):
                yield space, name, vars(space)[name]
    for name in ("shape", "dtype", "ndim", "device"):
        yield Tensor, name, getattr(Tensor, name)


@cache
def overridable() -> tuple[dict[Any, list], dict[Callable, str]]:
    """({module or class: its functions that ask}, {function, of these or another: its name})."""
    found: dict[Any, list] = {space: [] for space in spaces()}
    names: dict[Callable, str] = {}
    for space, name, value in members():
        public = spaces()[space][1] + name
        if hasattr(value, "__set__") and space is Tensor:
            function, public = value.__get__, public + ".__get__"
            names.setdefault(value.__set__, public.replace("__get__", "__set__"))
        elif callable(value) and not isinstance(value, type):
            function = value
        else:
            continue
        names.setdefault(function, public)
        if function is not value or asks_arguments(space, name, value):
            found[space].append(function)
    return found, names


def get_overridable_functions() -> dict[Any, list[Callable]]:
    """{module or class: its functions, methods and getters of properties that ask arguments}."""
    return {space: list(functions) for space, functions in overridable()[0].items() if functions}


@cache
def get_ignored_functions() -> set[Callable]:
    """The public functions that ask no argument."""
    functions, names = overridable()
    return set(names).difference(*functions.values())


def dummy_of(function: Callable) -> Callable:
    """A function of the same signature that answers -1."""

    def dummy(*args: Any, **kwargs: Any) -> int:
        return -1

    try:
        dummy.__signature__ = signature(function)  # type: ignore[attr-defined]
    except ValueError:  # a property's
        dummy.__signature__ = Signature()  # type: ignore[attr-defined]
    return dummy


@cache
def get_testing_overrides() -> dict[Callable, Callable]:
    """{function that asks: another of its signature, which answers -1}."""
    return {f: dummy_of(f) for functions in overridable()[0].values() for f in functions}


def get_default_nowrap_functions() -> set[Callable]:
    """Functions whose tensors keep their class, because they belong to another tensor."""
    return set(KEPT)


def resolve_name(f: Callable) -> str | None:
    """How a function is called in public, as "torch.Tensor.add"; None where it is not."""
    return overridable()[1].get(f)


def is_tensor_method_or_property(func: Callable) -> bool:
    """Whether a handler was asked by a method of Tensor, or by a property."""
    return func in overridable()[0][Tensor] or getattr(func, "__name__", "") in (
        "__get__",
        "__set__",
        "__delete__",
    )


# ------------------------------------------------------------------------------------- modes
def _get_current_function_mode_stack() -> list[Any]:
    """This thread's modes, the innermost last."""
    return list(_core.function_modes())


def _get_current_function_mode() -> Any:
    """The innermost mode, or None."""
    return (*_core.function_modes(), None)[-2 if _core.function_modes() else -1]


@contextlib.contextmanager
def _pop_mode_temporarily() -> Iterator[Any]:
    """Within it the innermost mode, which ``as`` names, is off."""
    *outer, mode = _core.function_modes()
    with overrides.Modes(tuple(outer)):
        yield mode


__all__ = [
    "BaseTorchFunctionMode", "TorchFunctionMode", "enable_reentrant_dispatch",
    "get_default_nowrap_functions", "get_ignored_functions", "get_overridable_functions",
    "get_testing_overrides", "handle_torch_function", "has_torch_function",
    "is_tensor_like", "is_tensor_method_or_property", "resolve_name", "wrap_torch_function",
]  # fmt: skip
