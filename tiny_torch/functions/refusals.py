"""What PyTorch's argument parser would have said of a call that failed.

No call pays for this: `_core.Function` asks once one has raised. The function's signature is the
schema: names, defaults, and annotations, whose words are those of KINDS.
"""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Callable
from inspect import CO_VARARGS, CO_VARKEYWORDS, unwrap
from typing import Any

import numpy as np

from tiny_torch import _core
from tiny_torch.base.arguments import is_int, kind_of, wrong_kind
from tiny_torch.base.devices import device
from tiny_torch.functions.outdated import is_outdated
from tiny_torch.functions.random.generator import Generator
from tiny_torch.tensor import Tensor

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# What Python says where a function met something of another kind than it expects.
INTERNAL = re.compile(
    r"has no attribute|NDArray|not subscriptable|not iterable|unsupported operand|not callable"
    r"|not supported between|expected a (number|float|tuple|list|dtype)|has no len\(\)"
    r"|be interpreted as|must be real number|bad operand|incompatible function arguments"
    r"|\w+\(\) argument must be|indices must be|can't multiply|can only concatenate"
)


def is_float(value: Any) -> bool:
    if isinstance(value, Tensor):
        return value.ndim == 0 and not value.requires_grad
    return isinstance(value, (int, float, np.number, np.bool_))


def is_number(value: Any) -> bool:
    return isinstance(value, complex) or is_float(value)


def are_ints(value: Any) -> bool:
    """Whether it is an int, or a sequence of such."""
    return all(map(is_int, value)) if isinstance(value, (tuple, list)) else is_int(value)


def are_tensors(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and all(isinstance(x, Tensor) for x in value)


# A word of an annotation: (what PyTorch calls it, whether a value is one).
KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "Tensor": ("Tensor", lambda value: isinstance(value, Tensor)),
    "Tensors": ("tuple of Tensors", are_tensors),
    "Sequence": ("tuple of Tensors", lambda value: isinstance(value, (tuple, list))),
    "Out": ("Tensor", lambda value: isinstance(value, Tensor) or are_tensors(value)),
    "int": ("int", is_int),
    "Ints": ("tuple of ints", are_ints),
    "Sequence[int]": (
        "tuple of ints",
        lambda value: isinstance(value, (tuple, list)) and are_ints(value),
    ),
    "Sizes": ("tuple of ints", are_ints),
    "float": ("float", is_float),
    "bool": ("bool", lambda value: isinstance(value, bool)),
    "Number": ("Number", is_number),
    "str": ("str", lambda value: isinstance(value, str)),
    "dtype": ("torch.dtype", lambda value: isinstance(value, _core.dtype)),
    "Generator": ("torch.Generator", lambda value: isinstance(value, Generator)),
    "PackedSequence": ("PackedSequence", lambda value: type(value).__name__ == "PackedSequence"),
    "device": ("torch.device", lambda value: isinstance(value, (str, int, device))),
    "None": ("", lambda value: value is None),
}
# Those of numbers, and of tuples of such.
NUMBERS = {"Any", "int", "Ints", "Sizes", "float", "Number"}
# PyTorch's parser takes NumPy's names of arguments, too.
NUMPY = {
    "axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other",
}  # fmt: skip
# Functions that are Python in PyTorch, which speaks of their names; the parser stands behind them.
PYTHON_FIRST: set[Callable] = set()
# Flags that PyTorch reads in Python: anything has a truth there.
TRUTHS: dict[str, set[str]] = {
    "gaussian_nll_loss": {"full"},
    "gumbel_softmax": {"hard"},
    "interpolate": {"antialias"},
    "multi_head_attention_forward": {
        *("add_zero_attn", "average_attn_weights", "is_causal", "need_weights", "training"),
        "use_separate_proj_weight",
    },
    "triplet_margin_with_distance_loss": {"swap"},
}
# Kinds of the arguments that are annotated as Any, by their names.
BY_NAME = {
    "dtype": "dtype | None", "device": "device | None", "dim": "Ints | None", "keepdim": "bool",
    "out": "Out | None", "tensors": "Sequence",
    **dict.fromkeys(("input", "other", "exponent"), "Tensor | Number"),
    **dict.fromkeys(("min", "max", "value"), "Tensor | Number | None"),
}  # fmt: skip

# Functions that take arrays of one dim for a tuple.
SHAPED = ("fold", "unfold", "adaptive_")


def is_truth(name: str, argument: str) -> bool:
    """Whether a flag of a function may be anything, which then has a truth."""
    return argument in ("size_average", "reduce", "return_indices") or argument in TRUTHS.get(
        name, ()
    )


def expectation(annotation: str, value: Any) -> str | None:
    """What PyTorch would have wanted in a value's place; None where it is right, or unknown."""
    words = annotation.replace("int | tuple[int, ...]", "Ints").split(" | ")
    if not all(word in KINDS for word in words) or any(KINDS[word][1](value) for word in words):
        return None
    return KINDS[words[0]][0]


def too_large(name: str, argument: str, value: Any, annotation: str) -> Exception | None:
    """What PyTorch says of an int of more than 64 bits."""
    words = annotation.replace("int | tuple[int, ...]", "Ints").split(" | ")
    many = isinstance(value, (tuple, list))
    for position, number in enumerate(value if many else (value,), 1):
        if type(number) is not int or -(2**63) <= number < 2**63:
            continue
        if not many and {"int", "Ints", "Sizes", "device"}.intersection(words):
            return ValueError("Overflow when unpacking long long")
        if "Ints" in words or "Sizes" in words:
            return TypeError(
                f"{name}(): argument '{argument}' failed to unpack the object at pos {position} "
                'with error "Overflow when unpacking long long"'
            )
        if not many and {"Number", "Any"}.intersection(words) and not -(2**63) <= number < 2**64:
            return OverflowError("int too big to convert")
    return None


def parser_error(
    function: Any, name: str, arguments: tuple, keywords: dict, by_name: dict[str, str] = BY_NAME
) -> Exception | None:
    """The error of PyTorch's parser for a call; None where it has none."""
    function = unwrap(function)
    code = function.__code__
    method = name.startswith("Tensor.")
    name = name.rpartition(".")[2]
    takes = code.co_argcount
    names = code.co_varnames[: takes + code.co_kwonlyargcount]
    if len(arguments) > takes and not code.co_flags & CO_VARARGS:
        plural = "" if takes - method == 1 else "s"
        return TypeError(
            f"{name}() takes {takes - method} positional argument{plural} but "
            f"{len(arguments) - method} {'was' if len(arguments) - method == 1 else 'were'} given"
        )
    given = dict(zip(names[:takes], arguments, strict=False))
    required = names[: takes - len(function.__defaults__ or ())]
    missing = [n for n in required if n not in given and n not in keywords]
    if missing:
        listed = ", ".join(f'"{n}"' for n in missing)
        plural = "" if len(missing) > 1 else "s"  # as PyTorch has it
        return TypeError(
            f"{name}() missing {len(missing)} required positional argument{plural}: {listed}"
        )
    values = {**keywords, **given}
    overflow = None
    for position, argument in enumerate(names, not method):
        if argument not in values or not position:
            continue
        value = values[argument]
        annotation = function.__annotations__.get(argument, "Any")
        if annotation == "Any":
            annotation = by_name.get(argument, "Any")
        wanted = None if is_truth(name, argument) else expectation(annotation, value)
        if wanted is not None:
            place = position if argument in given else None
            return wrong_kind(name, argument, wanted, value, place)
        overflow = overflow or too_large(name, argument, value, annotation)
    for keyword in keywords:
        if keyword in given:
            return TypeError(f"{name}() got multiple values for argument '{keyword}'")
        if keyword not in names and not code.co_flags & CO_VARKEYWORDS:
            return TypeError(f"{name}() got an unexpected keyword argument '{keyword}'")
    return overflow


def as_plain(value: Any, annotation: str, many: bool) -> Any:
    """A number of Python in the place of another that PyTorch takes there: NumPy's, or a tensor of
    no dims; `many` if arrays of one dim stand for a tuple. Anything else as it is."""
    words = set(annotation.replace("int | tuple[int, ...]", "Ints").split(" | "))
    whole = words.isdisjoint(("float", "Number"))
    if words.isdisjoint(NUMBERS):
        return value
    if isinstance(value, np.number):
        return value.item() if not whole or is_int(value) or "Any" in words else value
    if isinstance(value, Tensor) and value.ndim == 0 and "Tensor" not in words:
        integer = not value.is_floating_point() and value.dtype is not _core.bool
        fits = is_float(value) and (integer or not whole)
        return value.item() if fits else value
    if isinstance(value, (tuple, list)):
        plain = all(type(x) is int for x in value) or not all(map(is_int, value))
        return value if plain else tuple(map(operator.index, value))
    if many and isinstance(value, (Tensor, np.ndarray)) and value.ndim == 1:
        return value.tolist() if are_ints(value.tolist()) else value
    return value


def again(function: Any, arguments: tuple, keywords: dict, error: BaseException) -> Any:
    """The result of a second call: in an old order, or with Python's own numbers for others."""
    if isinstance(error, TypeError) and is_outdated(function, arguments, keywords):
        return function.__wrapped__(*arguments, **keywords)
    if not isinstance(error, (TypeError, ValueError, AttributeError)) or not is_ours(error):
        return NotImplemented
    if not any(map(is_foreign, (*arguments, *keywords.values()))):
        return NotImplemented
    inner = unwrap(function)
    code = inner.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    def plain(argument: str, value: Any) -> Any:
        annotation = inner.__annotations__.get(argument, "Any")
        if annotation == "Any":
            annotation = BY_NAME.get(argument, "Any")
        return as_plain(value, annotation, inner.__name__.startswith(SHAPED))

    positional = [plain(*pair) for pair in zip(names[: code.co_argcount], arguments, strict=False)]
    positional += [as_plain(value, "Number", False) for value in arguments[len(positional) :]]
    named = {
        argument: plain(NUMPY.get(argument, argument), value)
        for argument, value in keywords.items()
    }
    both = zip((*arguments, *keywords.values()), (*positional, *named.values()), strict=True)
    if all(old is new for old, new in both):
        return NotImplemented
    try:
        return function(*positional, **named)
    except TypeError:  # something else was wrong
        return NotImplemented


def is_foreign(value: Any) -> bool:
    """Whether it may stand for a number, or a tuple of such, though it is none of Python's."""
    if isinstance(value, (tuple, list)):
        return any(map(is_foreign, value))
    return isinstance(value, (np.number, np.ndarray, Tensor))


def is_ours(error: BaseException) -> bool:
    """Whether it was raised here, not by a function that the caller gave."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is None or trace.tb_frame.f_code.co_filename.startswith(PACKAGE)


def refused_by_layer(
    layer: Any, arguments: tuple, keywords: dict, error: BaseException
) -> BaseException:
    """The error to raise in the place of the one that a layer of ours met inside its forward."""
    forward = unwrap(type(layer).forward)
    if not str(forward.__module__).startswith("tiny_torch.nn.modules."):  # None: made by exec
        return error
    if type(error).__module__ != "builtins" or not is_ours(error):
        return error
    found = parser_error(
        forward, f"Tensor.{type(layer).__name__}", (layer, *arguments), keywords, {}
    )
    return error if found is None else found.with_traceback(error.__traceback__)


def refusal(
    function: Any, name: str, arguments: tuple, keywords: dict, error: BaseException
) -> BaseException:
    """The error to raise in the place of the one that a call of `function` ended in."""
    if type(error).__module__ != "builtins" or not isinstance(error, Exception):
        return error
    if not is_ours(error) or re.search("Overflow when unpacking|without overflow", str(error)):
        return error
    if error.__traceback__ is None and function in PYTHON_FIRST:
        return error
    if is_outdated(function, arguments, keywords):
        return error
    found = parser_error(function, name, arguments, keywords)
    internal = isinstance(error, (AttributeError, TypeError)) and INTERNAL.search(str(error))
    if (
        function.__module__ == "tiny_torch.functions.creation.from_data"
    ):  # where PyTorch lets through Python's words
        internal = None
    if found is None and internal:
        kinds = [kind_of(value) for value in arguments[name.startswith("Tensor.") :]]
        kinds += [f"{keyword}={kind_of(value)}" for keyword, value in keywords.items()]
        found = TypeError(
            f"{name.rpartition('.')[2]}() received an invalid combination of arguments - got "
            f"({', '.join(kinds)})"
        )
    return error if found is None else found.with_traceback(error.__traceback__)
