"""The order of arguments that PyTorch had before numbers came by name: torch.addmm(beta, x, a, b).

A call pays for it only where it has more positional arguments than the function takes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any

from tiny_torch.tensor import Tensor

PRODUCTS = ("addmm", "addmv", "addr", "addbmm", "baddbmm")
# The orders of a function, and of a method; what is no number's name stands for the next tensor.
ORDERS: dict[str, tuple[tuple[str, ...], ...]] = {
    "add": (("input", "alpha", "other"),),
    "sub": (("input", "alpha", "other"),),
    "addcmul": (("x", "value", "a", "b"),),
    "addcdiv": (("x", "value", "a", "b"),),
    **dict.fromkeys(PRODUCTS, (("beta", "x", "alpha", "a", "b"), ("beta", "x", "a", "b"))),
    **{
        f"Tensor.{name}": (("x", "beta", "alpha", "a", "b"), ("x", "beta", "a", "b"))
        for name in PRODUCTS
    },
}
NUMBERS = ("alpha", "beta", "value")


def orders_of(name: str) -> tuple[tuple[str, ...], ...]:
    """The old orders of a function or method, in place or not."""
    name = name.removesuffix("_")
    return ORDERS.get(name) or ORDERS.get(name.removeprefix("Tensor."), ())


def is_number(value: Any) -> bool:
    """Whether PyTorch takes it for a number: a tensor without dimensions and history, too."""
    if isinstance(value, Tensor):
        return value.ndim == 0 and not value.requires_grad
    return isinstance(value, int | float)


def values_of(order: tuple[str, ...], names: Any, arguments: tuple, keywords: dict) -> list | None:
    """The arguments in an old order, by keyword the last ones; None where the call is not of it.

    `names` are the function's own, of tensors.
    """
    rest = iter(names)
    keys = [word if word in NUMBERS else next(rest, word) for word in order][len(arguments) :]
    if keys != [key for key in keys if key in keywords] or keywords.keys() - {*keys, "out"}:
        return None
    values = [*arguments, *map(keywords.get, keys)]
    if len(values) != len(order) or not {*order[: len(arguments)]}.intersection(NUMBERS):
        return None

    def is_right(word: str, value: Any) -> bool:
        if word in ("input", "other"):
            return isinstance(value, Tensor | int | float)
        return is_number(value) if word in NUMBERS else isinstance(value, Tensor)

    return values if all(map(is_right, order, values)) else None


def warn(name: str, order: tuple[str, ...], function: FunctionType) -> None:
    code = function.__code__
    first = 1 if name.startswith("Tensor.") else 0
    tensors = [f"Tensor {n}" for n in code.co_varnames[: code.co_argcount]]
    named = code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]
    numbers = [f"Number {n} = 1" for n in named if n != "out"]
    out = ["Tensor out = None"] if "out" in named and not first else []
    rest = iter(tensors)
    old = [f"Number {word}" if word in NUMBERS else next(rest) for word in order]
    name = name.rpartition(".")[2]
    warnings.warn(
        f"This overload of {name} is deprecated:\n"
        f"\t{name}({', '.join([*old[first:], *(['*', *out] if out else [])])})\n"
        "Consider using one of the following signatures instead:\n"
        f"\t{name}({', '.join([*tensors[first:], '*', *numbers, *out])})",
        stacklevel=3,
    )


def accept_old_order(name: str, function: FunctionType) -> Callable[..., Any]:
    """The function, which takes its arguments in an old order, too."""
    orders = orders_of(name)
    if not orders:
        return function

    code = function.__code__
    names = code.co_varnames[: code.co_argcount]

    def in_order(arguments: tuple, keywords: dict) -> tuple[tuple[str, ...], list] | None:
        for order in orders:
            values = values_of(order, names, arguments, keywords)
            if values is not None:
                return order, values
        return None

    @wraps(function)
    def reorder(*arguments: Any, **keywords: Any) -> Any:
        found = in_order(arguments, keywords)
        if found is None:
            return function(*arguments, **keywords)  # which refuses as many
        warn(name, found[0], function)
        pairs = list(zip(*found, strict=True))
        numbers = {
            word: value.item() if isinstance(value, Tensor) else value
            for word, value in pairs
            if word in NUMBERS
        }
        others = [value for word, value in pairs if word not in NUMBERS]
        into = {"out": keywords["out"]} if "out" in keywords else {}
        return function(*others, **numbers, **into)

    reorder.in_order = in_order  # type: ignore[attr-defined]
    return reorder


def is_outdated(function: Any, arguments: tuple, keywords: dict) -> bool:
    """Whether a call of what `accept_old_order` answered has its arguments in an old order."""
    in_order = getattr(function, "in_order", None)
    return in_order is not None and in_order(arguments, keywords) is not None
