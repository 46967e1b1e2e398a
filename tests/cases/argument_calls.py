"""Fitting calls of every family, and the same with one argument of another kind.

The calls are those of random_calls_cases.py and the expressions of the sweep that are one call.
"""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import io
import math
import operator
import pickle
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from programs.random_calls_cases import CALLS
from sweeps.sweep_cases import EXPRESSIONS, TENSORS

import tiny_torch

# Their effects outlive a call, their values are drawn, or they run what they are given.
EXCLUDED = (
    "seed", "set_", "num_workers", "DataLoader", "data_ptr", "gradcheck", "save", "load", "np.",
    "multiprocessing", "backends", "cuda", "hub", "compile", "jit", "profiler", "from_file",
    "share_memory", "id(", "onnx", "export", "datasets", "distributed", "fx.", "anomaly", "pdb",
    "memory_", "use_deterministic", "mkldnn", "init_num", "record_function", "get_", "Event",
    "hessian", "jacobian", "enable_grad", "no_grad", "inference_mode", "autocast", "is_", "func",
    "checkpoint", "bernoulli", "andom", "rand", "normal", "poisson", "multinomial", "dropout",
    "object", "print", "repr", "str(", "pickle", "Variable",
)  # fmt: skip


def drawn(shape: tuple, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.1, 0.9, shape).astype(np.float32)


class Package:
    """What calls see of a package."""

    def __init__(self, module: Any):
        self.module = module
        self.arrays = {name: drawn(TENSORS[name][0], i) for i, name in enumerate(TENSORS)}
        self.arrays |= {"f": drawn((3, 4, 4), 50), "b": drawn((3, 4, 5), 3) > 0.5}
        self.modules = {"torch": module, "nn": module.nn, "F": module.nn.functional, "np": np}
        self.modules |= {"copy": copy, "pickle": pickle, "io": io, "operator": operator}
        self.modules |= {"math": math, "inspect": inspect, "inf": math.inf, "nan": math.nan}

    def names(self) -> dict[str, Any]:
        """The names, with tensors that no earlier call has written to."""
        module = self.module
        module.manual_seed(0)

        def indices(high: int, *shape: int) -> Any:
            return module.from_numpy(np.random.default_rng(0).integers(0, high, shape))

        tensors = {name: module.from_numpy(array.copy()) for name, array in self.arrays.items()}
        return {
            **self.modules, **tensors, "I": indices, "k": indices(3, 4), "i": indices(2, 3),
            "T": lambda *shape: module.from_numpy(drawn(shape, len(shape))),
            "B": lambda *shape: module.from_numpy(drawn(shape, 3) > 0.5), "d": module.float32,
        }  # fmt: skip

    def run(self, call: str) -> tuple[str, Any]:
        """("taken", result) or (the exception's type, its text)."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return "taken", eval(call, self.names())
            except Exception as error:
                return type(error).__name__, str(error)


def texts() -> Iterator[str]:
    yield from (text for text in CALLS.splitlines() if text and "t =" not in text)
    for name, expressions in EXPRESSIONS.items():
        for text in expressions:
            if "\n" not in text and not any(word in f"{name} {text}" for word in EXCLUDED):
                yield text


@functools.cache
def calls() -> dict[str, ast.Call]:
    """The calls that we take, by their texts."""
    found = {}
    ours = Package(tiny_torch)
    for text in dict.fromkeys(texts()):
        try:
            tree = ast.parse(text, mode="eval").body
        except SyntaxError:
            continue
        if isinstance(tree, ast.Call) and ours.run(text)[0] == "taken":
            found[text] = tree
    return found


def changed(call: ast.Call, place: int | str, text: str) -> str:
    """The call with another argument in a place."""
    call = copy.deepcopy(call)
    value = ast.parse(text, mode="eval").body
    if isinstance(place, int):
        call.args[place] = value
    else:
        kept = [keyword for keyword in call.keywords if keyword.arg != place]
        call.keywords = [*kept, ast.keyword(place, value)]
    return ast.unparse(call)


def parameters(call: ast.Call) -> list[inspect.Parameter]:
    """Those of what is called; none where it does not tell."""
    function = Package(tiny_torch).run(ast.unparse(call.func))[1]
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


def arguments(call: ast.Call) -> Iterator[tuple[int | str, str, ast.expr]]:
    """(place, parameter's name, expression) of each argument."""
    known = parameters(call)
    for i, value in enumerate(call.args):
        if not isinstance(value, ast.Starred):
            yield i, known[i].name if i < len(known) else str(i), value
    for keyword in call.keywords:
        if keyword.arg:
            yield keyword.arg, keyword.arg, keyword.value


def flags() -> Iterator[tuple[ast.Call, int | str]]:
    """Each flag of a function once: where a call has it, or may have it."""
    seen = set()
    for call in calls().values():
        function = ast.unparse(call.func)
        given = {name: place for place, name, _ in arguments(call)}
        for parameter in parameters(call):
            is_flag = parameter.annotation == "bool" or isinstance(parameter.default, bool)
            if not is_flag or (function, parameter.name) in seen:
                continue
            seen.add((function, parameter.name))
            yield call, given.get(parameter.name, parameter.name)


def tensors() -> Iterator[tuple[ast.Call, int | str]]:
    """Each tensor that a function takes, once."""
    seen = set()
    for call in calls().values():
        for place, name, value in arguments(call):
            key = (ast.unparse(call.func), name)
            if key not in seen and isinstance(
                Package(tiny_torch).run(ast.unparse(value))[1], tiny_torch.Tensor
            ):
                seen.add(key)
                yield call, place


def number(value: ast.expr) -> Any:
    """The number, or the tuple or list of ints, that an expression is; None if it is neither."""
    try:
        found = ast.literal_eval(value)
    except ValueError:
        return None
    many = isinstance(found, tuple | list) and found and all(type(n) is int for n in found)
    return found if many or type(found) in (int, float) else None


def numbers() -> Iterator[tuple[ast.Call, int | str, Any]]:
    """Each number, or tuple of ints, that a function takes, once by kind."""
    seen = set()
    for call in calls().values():
        for place, name, value in arguments(call):
            given = number(value)
            key = (ast.unparse(call.func), name, type(given))
            if given is not None and key not in seen:
                seen.add(key)
                yield call, place, given
