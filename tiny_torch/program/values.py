"""Python's values and code, as guards see them: what can change, and what may be read of it."""

from __future__ import annotations

import array
import collections
import gc
import inspect
import io
import itertools
import opcode
import operator
import os
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tiny_torch import _core
from tiny_torch.tensor import Tensor

PACKAGE = str(Path(__file__).parent.parent) + os.sep
LIBRARY = str(Path(types.__file__).parent) + os.sep  # Python's own modules
PLAIN = (int, float, complex, str, bytes, bool, type(None), _core.dtype)
# What can change and stay the same object; a small block of memory is compared by its bytes.
MOST_BYTES = 1 << 16
CHANGEABLE = (np.ndarray, collections.deque, array.array, bytearray, memoryview)
CONTAINERS = (dict, list, tuple, set)
MISSING = NotImplemented  # in the place of a value: there is none of that name
MOST_VALUES = 10_000  # of a container that is compared
# What takes names as strings, what all of an object's, and what asks whether there is one.
BY_TEXT = {"getattr", "hasattr", "setattr", "vars", "__dict__", "attrgetter"}
OF_ALL = {"vars", "__dict__", "asdict", "astuple"}
ASKS = {"getattr", "hasattr", "AttributeError"}
MATCHES = opcode.opmap["MATCH_CLASS"]
IMPORTS = opcode.opmap["IMPORT_NAME"]
DEPTH = 8  # how far attributes of attributes are followed


def lookups_of(code: types.CodeType) -> tuple:
    """What the code looks up: also strings, where it has what takes names as such."""
    names = code.co_names
    by_text = BY_TEXT.intersection(names) or MATCHES in code.co_code[::2]
    if not by_text and "globals" not in names:
        return names
    return (*names, *[x for x in texts_of(code) if x not in names])


def texts_of(code: types.CodeType) -> list[str]:
    """The strings in it that may be names."""
    return [x for x in leaves_of(code.co_consts) if isinstance(x, str) and x.isidentifier()]


def modules_named(code: types.CodeType, package: str) -> list[str]:
    """What the code may import: names in `sys.modules`, also relative to its package."""
    if IMPORTS not in code.co_code[::2]:
        return []
    found = [name.partition(".")[0] for name in code.co_names] + [*code.co_names]
    while package:
        found += [f"{package}.{name}" for name in code.co_names] + [package]
        package = package.rpartition(".")[0]
    return [name for name in dict.fromkeys(found) if name in sys.modules]


def is_ours(code: types.CodeType) -> bool:
    return code.co_filename.startswith((PACKAGE, "<frozen"))


def is_of_python(file: str) -> bool:
    """Whether it is of Python's own modules, beside which what is installed may lie."""
    return file.startswith(LIBRARY) and "site-packages" not in file


def is_read(module: Any) -> bool:
    """Whether what a file defines may change: not of Python's, nor of this package."""
    file = getattr(module, "__file__", None) or PACKAGE
    return not (file.startswith(PACKAGE) or is_of_python(file))


def parameters_of(code: types.CodeType) -> tuple[str, ...]:
    """The names of all that it is given, ``*args`` and ``**kwargs`` too."""
    extra = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + extra]


def leaves_of(value: Any) -> Iterator[Any]:
    """The value, or what is in a container, and in the containers in that.

    A container with attributes is one, too.
    """
    values, seen = [value], set()
    for each in values:  # which grow
        if not isinstance(each, (tuple, list, dict, set, frozenset)):
            yield each
        elif id(each) not in seen:
            seen.add(id(each))
            values += [*each.keys(), *each.values()] if isinstance(each, dict) else each
            if hasattr(each, "__dict__"):
                yield each


def is_large(value: Any) -> bool:
    return sum(1 for _ in itertools.islice(leaves_of(value), MOST_VALUES + 1)) > MOST_VALUES


def is_new(value: Any) -> bool:
    """Whether it was made since the last collection of the young, while there was no other."""
    return any(map(operator.is_, gc.get_objects(generation=0), itertools.repeat(value)))


def is_of_package(value: Any) -> bool:
    return str(type(value).__module__).startswith(__name__.partition(".")[0] + ".")


def is_same(now: dict, before: dict) -> bool:
    """Whether the attributes are the same objects."""
    return [*map(id, now.values())] == [*map(id, before.values())]


def is_iterator(value: Any) -> bool:
    return hasattr(type(value), "__next__") and not isinstance(value, io.IOBase)


def is_data(found: Any) -> bool:
    """Whether what a class has is a value or an object, and not code of its own."""
    is_code = isinstance(
        found, (type, types.MethodType, types.BuiltinFunctionType, types.MappingProxyType)
    )
    return is_value(found) or not (found is MISSING or is_code or hasattr(type(found), "__get__"))


def is_value(found: Any) -> bool:
    """Whether a class or file has it as data, and not as code."""
    data = (*PLAIN, Tensor, tuple, list, dict, set, *CHANGEABLE)
    return isinstance(found, data) or is_iterator(found)


def copy_of(value: Any) -> Any:
    """A copy of a container or a block of memory, to be compared with it later; None of others."""
    is_copied = isinstance(value, (*CHANGEABLE, *CONTAINERS))
    return with_copies(value, DEPTH, set()) if is_copied else None


def memory_of(value: Any) -> bytes | None:
    """Its memory, if that is one small block of numbers."""
    try:
        memory = memoryview(value)
    except (TypeError, ValueError, BufferError):
        return None
    small = memory.c_contiguous and memory.nbytes <= MOST_BYTES and "O" not in memory.format
    return memory.tobytes() if small else None


def with_copies(value: Any, depth: int, seen: set[int]) -> Any:
    """The value; a container as a copy where it is seen first, a block of memory as its bytes."""
    if isinstance(value, CHANGEABLE):
        memory = memory_of(value)
        return value if memory is None else memory
    if not depth or not isinstance(value, CONTAINERS) or id(value) in seen:
        return value
    seen.add(id(value))
    if isinstance(value, dict):
        return {k: with_copies(v, depth - 1, seen) for k, v in value.items()}
    if isinstance(value, set):
        return set(value)
    parts = [with_copies(v, depth - 1, seen) for v in value]
    return parts if isinstance(value, list) else tuple(parts)


def cell_value(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # empty
        return MISSING
