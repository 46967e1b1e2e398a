"""A small framework for task 8.6: arrays, a recording of what is done with them, scripts."""

from __future__ import annotations

from functools import partial
from types import FunctionType

import numpy as np

OPS = {
    "neg": lambda a: -a,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "sum": lambda a: np.asarray(a.sum()),
}
tape = []  # of the recording that goes on: lists of (op, operands, result)


class Array:
    """Elements, and whether a gradient is asked for."""

    def __init__(self, data, requires_grad=False):
        self.data, self.requires_grad = data, requires_grad

    @property
    def shape(self):
        return self.data.shape

    @property
    def dtype(self):
        return str(self.data.dtype)

    def fill(self, value):
        self.data[...] = value

    def __neg__(self):
        return apply("neg", self)

    def __add__(self, other):
        return apply("add", self, other)

    def __sub__(self, other):
        return apply("sub", self, other)

    def __mul__(self, other):
        return apply("mul", self, other)

    def sum(self):
        return apply("sum", self)


def apply(op, *operands):
    data = OPS[op](*[x.data if isinstance(x, Array) else x for x in operands])
    result = Array(data, any(x.requires_grad for x in operands if isinstance(x, Array)))
    for noted in tape[-1:]:
        noted.append((op, operands, result))
    return result


def array(*shape, dtype="float32", requires_grad=False):
    """Elements 1, 2, ..."""
    return Array(np.arange(1, np.prod(shape) + 1).reshape(shape).astype(dtype), requires_grad)


def leaves(value):
    """The arrays among arguments."""
    if isinstance(value, (list, tuple)):
        return [x for item in value for x in leaves(item)]
    if isinstance(value, dict):
        return leaves(list(value.values()))
    return [value] if isinstance(value, Array) else []


def copy_of(value):
    """Of arguments, with arrays that are nobody else's, over the same elements."""
    if isinstance(value, (list, tuple)):
        return type(value)(copy_of(item) for item in value)
    if isinstance(value, dict):
        return {key: copy_of(item) for key, item in value.items()}
    return Array(value.data, value.requires_grad) if isinstance(value, Array) else value


def record(function, args):
    """What the function answers, and a program that computes it without the function."""
    args = copy_of(args)
    noted, parameters = [], leaves(args)
    tape.append(noted)
    try:
        answer = function(*args)
    finally:
        tape.pop()

    def program(*args):
        values = {id(x): y.data for x, y in zip(parameters, leaves(args), strict=True)}
        for op, operands, result in noted:
            inputs = [values.get(id(x), x.data) if isinstance(x, Array) else x for x in operands]
            values[id(result)] = OPS[op](*inputs).astype(result.dtype)
        return Array(values[id(answer)], answer.requires_grad)

    return answer, program


def names_of(function):
    """What the names in a function's code stand for, and in that of functions that it calls."""
    found, queue = {}, [function]
    for each in queue:
        code, outer = each.__code__, each.__globals__
        values = {name: outer[name] for name in code.co_names if name in outer}
        for name, cell in zip(code.co_freevars, each.__closure__ or (), strict=True):
            values[name] = cell.cell_contents
        found.update({f"{each.__name__}: {name}": value for name, value in values.items()})
        for value in values.values():
            if (
                isinstance(value, FunctionType)
                and value not in queue
                and outer is value.__globals__
            ):
                queue.append(value)
    return found


def replace(names, name, text):
    """Gives a name another object, where the one before was, if that is gone."""
    make, made = eval(f"lambda: {text}", names), []
    address = id(names.pop(name))
    while len(made) < 2000 and id(names.get(name)) != address:
        names[name] = make()
        made.append(names[name])


def play(source, steps, compiled):
    """What each step `call(...)` gives; `compiled(function)` makes `call` of the source's f."""
    names = {"array": array}
    names["replace"] = partial(replace, names)
    exec(source, names)
    names["call"] = compiled(names["f"])
    found = []
    for step in steps:
        if not step.startswith("call("):
            exec(step, names)
            continue
        try:
            result = eval(step, names)
        except (ValueError, KeyError) as error:
            found.append(type(error).__name__)
        else:
            data = np.array(result.data)
            found.append({"elements": data, "requires_grad": bool(result.requires_grad)})
    return found
