"""An unpickler that can build data and nothing else.

Why not a subclass of `pickle.Unpickler` with `find_class` overridden: that one still lets a file
set attributes on any object it was given (BUILD on a class replaces its methods), call whatever
came out of an earlier call, and reserve gigabytes by one memo index. Here every opcode is a few
lines, and the three that could run code (REDUCE, NEWOBJ, BUILD) accept only what `find_global`
returned for a name.

Not here: tensors, and what the names mean (rebuild.py).
"""

from __future__ import annotations

import _compat_pickle
import pickle
import struct
from collections import Counter, OrderedDict
from collections.abc import Callable
from pickle import UnpicklingError
from typing import Any, NamedTuple

_MAX_KEY_SIZE = 1000  # elements; hashing a tuple recurses, and can take 2**depth steps


class Allowed(NamedTuple):
    """What a global name in a file stands for."""

    value: object  # goes on the stack
    call: Callable[..., object] | None = None  # what REDUCE runs; None: it cannot be called
    of_user: bool = False  # the user vouched for it: NEWOBJ and BUILD work as in pickle


class Unpickler:
    """Interprets one pickle of protocol 2 to 5.

    `find_global(name)` answers with an Allowed or raises; `persistent_load(id)` returns the object
    that is stored outside of the pickle; `encoding` is that of Python 2's strings. `load()` raises
    UnpicklingError for anything else.
    """

    def __init__(
        self,
        data: bytes,
        find_global: Callable[[str], Allowed],
        persistent_load: Callable[[object], object],
        encoding: str = "utf-8",
    ) -> None:
        self.data = data
        self.position = 0
        self.protocol = 0
        self.find_global = find_global
        self.persistent_load = persistent_load
        self.encoding = encoding
        self.stack: list[Any] = []
        self.marked: list[list[Any]] = []  # the stacks below each open MARK
        self.memo: dict[int, Any] = {}
        self.globals: dict[int, Allowed] = {}  # by id of the value
        self.copied = 0  # elements that were handed to calls
        self.calling_out = False

    def load(self) -> Any:
        """Runs the pickle to its STOP and returns what is on the stack."""
        try:
            while (code := self.take(1)[0]) != pickle.STOP[0]:
                handler = _HANDLERS.get(code)
                if handler is None:
                    raise UnpicklingError(f"Unsupported operand {code}")
                handler(self)
            return self.stack.pop()
        except _CORRUPT as error:
            if self.calling_out:  # not the file's fault
                raise
            raise UnpicklingError(
                f"corrupt at byte {self.position} of the pickle: {type(error).__name__}: {error}"
            ) from error

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        start, self.position = self.position, self.position + count
        if self.position > len(self.data):
            raise UnpicklingError("pickle data was truncated")
        return self.data[start : self.position]

    def take_int(self, layout: str) -> int:
        """The next integer, of a struct layout."""
        return struct.unpack(layout, self.take(struct.calcsize(layout)))[0]

    def take_line(self) -> str:
        """The text up to the next newline."""
        end = self.data.index(b"\n", self.position)
        line = self.take(end - self.position).decode()
        self.position += 1
        return line

    def pop_to_mark(self) -> list[Any]:
        """What was pushed since the last MARK."""
        items, self.stack = self.stack, self.marked.pop()
        return items

    def push_global(self, module: str, name: str) -> None:
        """Pushes what a global name stands for, under its Python 3 name."""
        if self.protocol < 3:
            module, name = _compat_pickle.NAME_MAPPING.get((module, name), (module, name))
            module = _compat_pickle.IMPORT_MAPPING.get(module, module)
        allowed = self.find_global(f"{module}.{name}")
        self.globals[id(allowed.value)] = allowed
        self.stack.append(allowed.value)

    def call_out(self, function: Callable[..., object], *args: object) -> Any:
        """Calls what the user answers for; its exceptions stay as they are."""
        self.calling_out = True
        result = function(*args)
        self.calling_out = False
        return result

    def permission(self, value: object) -> Allowed | None:
        """The Allowed of a value that this file has named as a global."""
        found = self.globals.get(id(value))
        return found if found is not None and found.value is value else None


# What damaged bytes make the handlers below run into.
_CORRUPT = (
    AttributeError,
    IndexError,
    KeyError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
    struct.error,
)

_HANDLERS: dict[int, Callable[[Unpickler], object]] = {}


def _opcode(
    *codes: bytes,
) -> Callable[[Callable[[Unpickler], object]], Callable[[Unpickler], object]]:
    def register(handler: Callable[[Unpickler], object]) -> Callable[[Unpickler], object]:
        _HANDLERS.update({code[0]: handler for code in codes})
        return handler

    return register


# ---- calls: the only opcodes that could run code --------------------------------------------


@_opcode(pickle.GLOBAL)
def _global(self: Unpickler) -> None:
    module = self.take_line()
    self.push_global(module, self.take_line())


@_opcode(pickle.STACK_GLOBAL)
def _stack_global(self: Unpickler) -> None:
    name, module = self.stack.pop(), self.stack.pop()
    if type(name) is not str or type(module) is not str:
        raise UnpicklingError("the name of a global must be text")
    self.push_global(module, name)


@_opcode(pickle.REDUCE)
def _reduce(self: Unpickler) -> None:
    args, function = self.stack.pop(), self.stack.pop()
    allowed = self.permission(function)
    if allowed is None or allowed.call is None or type(args) is not tuple:
        raise UnpicklingError(f"Trying to call reduce for unrecognized function {_name(function)}")
    if allowed.of_user:
        self.stack.append(self.call_out(allowed.call, *args))
        return
    # set, Counter, … copy their argument: a short loop of such calls could fill the memory
    self.copied += sum(len(arg) for arg in args if type(arg) in (str, bytes, list, tuple, dict))
    if self.copied > 8 * len(self.data):
        raise UnpicklingError("the pickle copies more than it contains")
    self.stack.append(allowed.call(*args))


@_opcode(pickle.NEWOBJ)
def _new_object(self: Unpickler) -> None:
    args, cls = self.stack.pop(), self.stack.pop()
    allowed = self.permission(cls)
    if allowed is None or not allowed.of_user or not isinstance(cls, type):
        raise UnpicklingError(
            "Can only create new object for classes allowlisted via `add_safe_globals`, "
            f"but got {_name(cls)}"
        )
    self.stack.append(self.call_out(cls.__new__, cls, *args))


@_opcode(pickle.BUILD)
def _build(self: Unpickler) -> None:
    state = self.stack.pop()
    target = self.stack[-1]
    allowed = self.permission(type(target))
    if allowed is not None and allowed.of_user:
        self.call_out(_build_user_object, target, state)
    elif type(target) is OrderedDict:  # a state_dict's _metadata
        set_attributes(target, state)
    else:
        raise UnpicklingError(
            "Can only build OrderedDict or types allowlisted via `add_safe_globals`, "
            f"but got {type(target)}"
        )


def _name(value: object) -> str:
    # not the repr of what a file built: lists that repeat each other print for ever
    return value[:200] if isinstance(value, str) else getattr(value, "__name__", str(type(value)))


def _build_user_object(target: Any, state: Any) -> None:
    if hasattr(target, "__setstate__"):
        target.__setstate__(state)
        return
    attributes, slots = state if type(state) is tuple and len(state) == 2 else (state, None)
    if attributes:
        target.__dict__.update(attributes)
    for name, value in (slots or {}).items():
        setattr(target, name, value)


def set_attributes(target: Any, state: Any) -> None:
    """Gives `target` plain attributes; none may hide what its class defines."""
    for name, value in state.items():
        if type(name) is not str or hasattr(type(target), name):
            raise UnpicklingError(f"cannot set {_name(name)} on a {type(target).__name__}")
        target.__dict__[name] = value


@_opcode(pickle.BINPERSID)
def _persistent_id(self: Unpickler) -> None:
    self.stack.append(self.call_out(self.persistent_load, self.stack.pop()))


# ---- constants ------------------------------------------------------------------------------


def _push(code: bytes, make: Callable[[], object]) -> None:
    """An opcode that pushes what `make` answers."""

    @_opcode(code)
    def handler(self: Unpickler) -> None:
        self.stack.append(make())


_push(pickle.NONE, lambda: None)
_push(pickle.NEWTRUE, lambda: True)
_push(pickle.NEWFALSE, lambda: False)
_push(pickle.EMPTY_LIST, list)
_push(pickle.EMPTY_DICT, dict)
_push(pickle.EMPTY_SET, set)
_push(pickle.EMPTY_TUPLE, tuple)


# ---- containers -----------------------------------------------------------------------------


@_opcode(pickle.MARK)
def _mark(self: Unpickler) -> None:
    self.marked.append(self.stack)
    self.stack = []


@_opcode(pickle.POP)
def _pop(self: Unpickler) -> None:
    if self.stack:
        self.stack.pop()
    else:
        self.pop_to_mark()


_opcode(pickle.POP_MARK)(Unpickler.pop_to_mark)


@_opcode(pickle.TUPLE)
def _tuple(self: Unpickler) -> None:
    items = tuple(self.pop_to_mark())
    self.stack.append(items)


@_opcode(pickle.TUPLE1)
def _tuple1(self: Unpickler) -> None:
    self.stack[-1] = (self.stack[-1],)


@_opcode(pickle.TUPLE2)
def _tuple2(self: Unpickler) -> None:
    self.stack[-2:] = [(self.stack[-2], self.stack[-1])]


@_opcode(pickle.TUPLE3)
def _tuple3(self: Unpickler) -> None:
    self.stack[-3:] = [(self.stack[-3], self.stack[-2], self.stack[-1])]


@_opcode(pickle.FROZENSET)
def _frozenset(self: Unpickler) -> None:
    self.stack.append(frozen_set(self.pop_to_mark()))


@_opcode(pickle.APPEND)
def _append(self: Unpickler) -> None:
    item = self.stack.pop()
    _top(self, list).append(item)


@_opcode(pickle.APPENDS)
def _appends(self: Unpickler) -> None:
    items = self.pop_to_mark()
    _top(self, list).extend(items)


@_opcode(pickle.ADDITEMS)
def _add_items(self: Unpickler) -> None:
    items = self.pop_to_mark()
    _top(self, set).update(map(hashable, items))


@_opcode(pickle.SETITEM)
def _set_item(self: Unpickler) -> None:
    value, key = self.stack.pop(), self.stack.pop()
    _top(self, dict, OrderedDict, Counter)[hashable(key)] = value


@_opcode(pickle.SETITEMS)
def _set_items(self: Unpickler) -> None:
    items = self.pop_to_mark()
    target = _top(self, dict, OrderedDict, Counter)
    for key, value in zip(items[::2], items[1::2], strict=True):
        target[hashable(key)] = value


def _top(self: Unpickler, *types: type) -> Any:
    target = self.stack[-1]
    if type(target) not in types:
        names = ", ".join(cls.__name__ for cls in types)
        raise UnpicklingError(f"Can only add items to {names}, but got {type(target)}")
    return target


def hashable(key: Any) -> Any:
    """`key`, unless hashing it could take forever or overflow the C stack."""
    tuples, size = [key] if isinstance(key, tuple) else [], 0
    for items in tuples:  # grows while it is walked
        size += len(items)
        if size > _MAX_KEY_SIZE:
            raise UnpicklingError("a dictionary key or set element is nested too deeply")
        tuples += [item for item in items if isinstance(item, tuple)]
    return key


def frozen_set(items: list[Any]) -> frozenset[Any]:
    """A frozenset of checked elements."""
    return frozenset(map(hashable, items))


# ---- numbers, text, bytes -------------------------------------------------------------------


@_opcode(pickle.BINFLOAT)
def _float(self: Unpickler) -> None:
    self.stack.append(struct.unpack(">d", self.take(8))[0])


def _define(code: bytes, layout: str, convert: Callable[[bytes], object] | None = None) -> None:
    """An integer of `layout`; with `convert`, that many bytes which follow, converted."""

    @_opcode(code)
    def handler(self: Unpickler) -> None:
        number = self.take_int(layout)
        self.stack.append(number if convert is None else convert(self.take(number)))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _long(data: bytes) -> int:
    return int.from_bytes(data, "little", signed=True)


_define(pickle.BININT, "<i")
_define(pickle.BININT1, "<B")
_define(pickle.BININT2, "<H")
_define(pickle.LONG1, "<B", _long)
_define(pickle.LONG4, "<I", _long)
_define(pickle.SHORT_BINUNICODE, "<B", _text)
_define(pickle.BINUNICODE, "<I", _text)
_define(pickle.BINUNICODE8, "<Q", _text)
_define(pickle.SHORT_BINBYTES, "<B", bytes)
_define(pickle.BINBYTES, "<I", bytes)
_define(pickle.BINBYTES8, "<Q", bytes)
_define(pickle.BYTEARRAY8, "<Q", bytearray)


def _define_python2_text(code: bytes, layout: str) -> None:
    """A string of Python 2, whose length is an integer of `layout`."""

    @_opcode(code)
    def handler(self: Unpickler) -> None:
        length = self.take_int(layout)
        if length < 0:
            raise UnpicklingError("a string of negative length")
        self.stack.append(self.take(length).decode(self.encoding))


_define_python2_text(pickle.SHORT_BINSTRING, "<B")
_define_python2_text(pickle.BINSTRING, "<i")


# ---- memo and framing -----------------------------------------------------------------------


def _define_memo(put: bytes, get: bytes, layout: str) -> None:
    """Opcodes that write the memo and read it, at a number of `layout`."""

    @_opcode(put)
    def write(self: Unpickler) -> None:
        self.memo[self.take_int(layout)] = self.stack[-1]

    @_opcode(get)
    def read(self: Unpickler) -> None:
        self.stack.append(self.memo[self.take_int(layout)])


_define_memo(pickle.BINPUT, pickle.BINGET, "<B")
_define_memo(pickle.LONG_BINPUT, pickle.LONG_BINGET, "<I")


@_opcode(pickle.MEMOIZE)
def _memoize(self: Unpickler) -> None:
    self.memo[len(self.memo)] = self.stack[-1]


@_opcode(pickle.PROTO)
def _protocol(self: Unpickler) -> None:
    self.protocol = self.take_int("<B")
    if not 2 <= self.protocol <= 5:
        raise UnpicklingError(f"unsupported pickle protocol {self.protocol}")


@_opcode(pickle.FRAME)
def _frame(self: Unpickler) -> None:
    self.take_int("<Q")
