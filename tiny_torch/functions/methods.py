"""Loads the modules that say what is public; attaches methods and operators to Tensor."""

# ruff: noqa: F401

from __future__ import annotations

import sys
from collections.abc import Callable
from inspect import CO_VARARGS, unwrap
from types import FunctionType
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd import history, hooks, nodes
from tiny_torch.autograd.op_mode import plain_of
from tiny_torch.autograd.overrides import KEPT, KINDS, Kind, Property
from tiny_torch.base.docstrings import copy_as
from tiny_torch.functions import (
    comparisons,
    memory,
    operators,
    printing,
    refusals,
    sparse,
    storage,
)
from tiny_torch.functions.creation import dlpack, from_data, ranges, windows
from tiny_torch.functions.creation import fill as creation
from tiny_torch.functions.elementwise import (
    arithmetic,
    cast,
    conjugate,
    declared,
    floats,
    special,
)
from tiny_torch.functions.index import brackets, gather, masks, search, slices, sort, unique, within
from tiny_torch.functions.kinds import (
    ASK_MODES,
    ASK_NOBODY,
    IN_PYTHON,
    OPERATORS,
    PYTHON,
    QUICK,
    UNASKED,
)
from tiny_torch.functions.linalg import (
    distances,
    einsum,
    factor,
    lu,
    matmul,
    matrices,
    products,
    solve,
    vectors,
)
from tiny_torch.functions.nn import conv, dropout, pool, rectifiers, softmax
from tiny_torch.functions.outdated import accept_old_order
from tiny_torch.functions.public import FUNCTIONS, METHODS
from tiny_torch.functions.random import draws, samples
from tiny_torch.functions.reduce import histogram, moments, norms, numeric, scan, sums
from tiny_torch.functions.refusals import NUMPY
from tiny_torch.functions.shape import arrange, blocks, join, parts, split, views
from tiny_torch.tensor import Tensor

# PyTorch's second names of elementwise functions, methods and in-place methods.
ALIASES = dict(
    pair.split("=")
    for pair in """
    absolute=abs arccos=acos arccosh=acosh arcsin=asin arcsinh=asinh arctan=atan arctan2=atan2
    arctanh=atanh clip=clamp divide=div fix=trunc greater=gt greater_equal=ge less=lt
    less_equal=le multiply=mul negative=neg not_equal=ne subtract=sub true_divide=div
    """.split()
)

FUNCTIONS |= {alias: FUNCTIONS[name] for alias, name in ALIASES.items()}
METHODS |= {alias: METHODS[name] for alias, name in ALIASES.items()}
METHODS |= {f"{alias}_": METHODS[f"{name}_"] for alias, name in ALIASES.items()}

for _module in (
    history,
    hooks,
    nodes,
    operators,
    comparisons,  # whose __rpow__ replaces that of the other operators
):
    FUNCTIONS |= _module.FUNCTIONS
    METHODS |= _module.METHODS

PYTHON_MODULES = {
    f"tiny_torch.{name}"
    for name in (
        *("amp.state", "autograd.history", "autograd.hooks", "autograd.nodes", "base.devices"),
        *("base.switches", "functions.printing", "functions.storage"),
    )
}
# Methods so small that a Function's few nanoseconds show; they check their arguments themselves.
SMALL = {
    f"Tensor.{name}"
    for name in ("clone", "contiguous", "copy_", "fill_", "is_contiguous", "ravel", "t")
}
# Annotations of flags: whether None is one, too; and of tensors: their number in _core.Function.
FLAGS = {"bool": False, "bool | None": True}
TENSORS = {"Tensor": 1, "Tensor | None": 2}
INTS = {"int", "int | None", "int | tuple[int, ...]", "int | tuple[int, ...] | None", "Ints | None"}
# Flags that PyTorch's parser takes None for, whatever their default.
NULLABLE = {"pin_memory", "requires_grad"}
STRICT = {"tensor", "frombuffer", "Tensor.new_tensor"}  # whose are True or False even so
_core.explain_refusals(refusals.again, refusals.refusal)


def publish_function(
    module: str, name: str, function: Callable, second_names: dict[str, str] = NUMPY
) -> Callable:
    """The function as `module` shows it: with NumPy's names, and a method's without `out`.

    Its parameters of type `bool` take True and False alone, those of ints anything but these,
    those of type `Tensor` tensors.
    """
    inner = plain_of(function)
    if not isinstance(inner, FunctionType):
        return function
    code = unwrap(inner).__code__
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    method, operator = name.startswith("Tensor."), name.startswith("Tensor.__")
    names: dict[str, str | int | None] = {}
    if (name not in PYTHON or module != "tiny_torch") and not operator:
        names = {
            alias: name
            for alias, name in second_names.items()
            if name in arguments[method:] and alias not in arguments
        }
    if method and "out" in arguments:
        names["out"] = None
    many = bool(code.co_flags & CO_VARARGS)
    own = function.__module__ in PYTHON_MODULES
    own |= module == "tiny_torch" and name in SMALL | PYTHON
    if not names and second_names and (many or operator or len(arguments) <= method or own):
        return publish_unchecked(module, name, function)
    flags = nullable = ints = tensors = 0
    for i, argument in enumerate(arguments):
        kind = inner.__annotations__.get(argument)
        if kind == "Any":
            kind = refusals.BY_NAME.get(argument)
        if kind in TENSORS and second_names and i >= method and argument not in names:
            names[argument] = TENSORS[kind]
            if i < code.co_argcount:
                tensors |= 1 << i
                nullable |= (kind != "Tensor") << i
        if kind in INTS and "unbiased" not in arguments:
            names[argument] = 0
            ints |= (1 << i) * (i < code.co_argcount)
        if kind not in FLAGS or refusals.is_truth(name, argument):
            continue
        may_be_none = FLAGS[kind] or (argument in NULLABLE and name not in STRICT)
        names[argument] = may_be_none
        if i < code.co_argcount:
            flags |= 1 << i
            nullable |= may_be_none << i
    positional = sys.maxsize if many else code.co_argcount
    plain, as_one = accept_old_order(name, inner), inner is not function
    if not second_names:
        refusals.PYTHON_FIRST.add(plain)
    places = flags, nullable, ints, tensors
    given = plain, by_position(inner), names, module, name, positional, as_one, *places
    return of_kind(module, name, given)


def publish_unchecked(module: str, name: str, function: Callable) -> Callable:
    """The function as `module` shows it, where it checks its arguments itself."""
    inner = plain_of(function)
    if not isinstance(inner, FunctionType):
        return function
    as_one = inner is not function
    return of_kind(
        module, name, (inner, inner, None, module, name, sys.maxsize, as_one, 0, 0, 0, 0)
    )


def of_kind(module: str, name: str, given: tuple) -> Callable:
    """The function as PyTorch has it: from C++, where it becomes no method, or from Python."""
    method, plain = name.startswith("Tensor."), given[0]
    in_python = (module, name) in IN_PYTHON or module in IN_PYTHON
    unasked = name in ASK_NOBODY or plain.__module__ in ASK_NOBODY
    asks = 0 if unasked else 1 if name in ASK_MODES else 2
    kind = _core.Function if method or in_python else _core.Builtin
    made = kind(*given, asks, *QUICK.get(name, getattr(plain, "quick", ())))
    if in_python:
        KINDS[made] = Kind(made, True)
    return made


def by_position(function: FunctionType) -> FunctionType:
    """The same code, but that keyword-only arguments may come by position, if all have defaults."""
    code, defaults = function.__code__, function.__kwdefaults__ or {}
    if len(defaults) < code.co_kwonlyargcount or code.co_flags & CO_VARARGS:
        return function
    names = code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]
    flat = code.replace(co_argcount=code.co_argcount + len(names), co_kwonlyargcount=0)
    values = (function.__defaults__ or ()) + tuple([defaults[name] for name in names])
    name = function.__name__
    copy = FunctionType(flat, function.__globals__, name, values, function.__closure__)
    copy.__qualname__ = function.__qualname__  # the code may have another
    return copy


def publish(module: str, functions: dict[str, Any]) -> dict[str, Any]:
    return {n: publish_function(module, n, with_name(n, f)) for n, f in functions.items()}


def with_name(name: str, function: Any, public: str | None = None) -> Any:
    """The function; a copy where it is shown under another name than its own."""
    if not isinstance(function, FunctionType) or function.__name__ == name:
        return function
    return copy_as(public or name, function)


def attach(methods: dict[str, Any]) -> None:
    """Makes methods Tensor's."""
    for name, method in methods.items():
        made = "<locals>" in getattr(method, "__qualname__", "")
        if made or getattr(method, "__module__", "") in PYTHON_MODULES:  # Python's errors tell it
            method.__qualname__ = f"Tensor.{name}"
        public = f"Tensor.{name}" if f"Tensor.{name}" in PYTHON else name
        method = with_name(name, method, public)
        if isinstance(method, property):
            setattr(Tensor, name, Property(name, method))
        else:
            setattr(Tensor, name, publish_function("tiny_torch", f"Tensor.{name}", method))


def tell_operators() -> None:
    """What handlers are told of operators: that the method was called which does the same."""
    for name, public in OPERATORS.items():
        operator = vars(Tensor)[f"__{name}__"]
        in_python = operator in KINDS
        alone = name in ("abs", "neg", "pos")  # without an operand that may go on
        KINDS[operator] = Kind(vars(Tensor)[public or f"__{name}__"], in_python, not alone)


attach(METHODS)
own = {n: f for n, f in vars(Tensor).items() if type(f) in (FunctionType, property)}
attach({name: function for name, function in own.items() if name not in UNASKED})
tell_operators()
KEPT |= {vars(Tensor)[name].__get__ for name in ("grad", "_base")}
