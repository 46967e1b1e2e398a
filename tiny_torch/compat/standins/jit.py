"""`torch.jit` without TorchScript: what is scripted or traced runs as the Python that it is.

Files of scripted modules are neither written nor read. https://pytorch.org/docs/stable/jit.html
"""

from __future__ import annotations

import functools
from collections import namedtuple
from collections.abc import Callable
from typing import Any, Final

from tiny_torch.base.pytree import tree_flatten
from tiny_torch.compat.refused import refusing, refusing_class, say_once
from tiny_torch.nn import Module
from tiny_torch.tensor import Tensor

__path__: list[str] = []  # below it stand names of paths.py
AS_PYTHON = "runs the program as Python: tiny_torch has no TorchScript"
NO_FILES = (
    "it neither writes nor reads programs in TorchScript; torch.save(module.state_dict(), f) keeps "
    "the parameters"
)
NO_PROGRAM = "what is scripted stays Python, without a graph or code of its own"

Attribute = namedtuple("Attribute", ["value", "type"])
builtin_isinstance = isinstance


class Error(Exception):
    """What PyTorch raises where a scripted program does; here that raises its own exception."""


class TracerWarning(Warning):
    """What PyTorch warns of where a trace may not hold for other inputs; here nothing does."""


class ScriptModule(Module):
    """What `script` and `trace` make of a module: its class, its attributes, its parameters."""

    save = refusing("torch.jit.ScriptModule.save", NO_FILES)
    save_to_buffer = refusing("torch.jit.ScriptModule.save_to_buffer", NO_FILES)
    graph = property(refusing("torch.jit.ScriptModule.graph", NO_PROGRAM))
    code = property(refusing("torch.jit.ScriptModule.code", NO_PROGRAM))

    @property
    def original_name(self) -> str:
        """The name of the module's class."""
        return type(self).__name__


class ScriptFunction:
    """What `script` and `trace` make of a function: a call of it."""

    save = refusing("torch.jit.ScriptFunction.save", NO_FILES)
    graph = property(refusing("torch.jit.ScriptFunction.graph", NO_PROGRAM))
    code = property(refusing("torch.jit.ScriptFunction.code", NO_PROGRAM))

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)


def as_script(obj: Any) -> Any:
    """A module under a class that is a ScriptModule too, or a function that is callable only."""
    if builtin_isinstance(obj, ScriptModule | ScriptFunction):
        return obj
    if not builtin_isinstance(obj, Module):
        return ScriptFunction(obj)
    kind = type(type(obj).__name__, (ScriptModule, type(obj)), {"__module__": type(obj).__module__})
    result: Any = object.__new__(kind)
    vars(result).update(vars(obj))  # the dicts of parameters, buffers and modules are the same ones
    return result


def script(
    obj: Any,
    optimize: None = None,
    _frames_up: int = 0,
    _rcb: Any = None,
    example_inputs: Any = None,
) -> Any:
    """A module, function or class as it is, under TorchScript's name for it; one warning says so.

    A module comes as a ScriptModule of the same parameters, whose `save` raises
    NotImplementedError. TypeError for what is none of these, RuntimeError for a class of modules.
    https://pytorch.org/docs/stable/generated/torch.jit.script.html

    >>> import warnings, tiny_torch as torch
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     net = torch.jit.script(torch.nn.ReLU())
    >>> net(torch.tensor([-1.0, 2.0])), isinstance(net, torch.jit.ScriptModule)
    (tensor([0., 2.]), True)
    """
    if builtin_isinstance(obj, list | dict):
        return obj.copy()
    if builtin_isinstance(obj, type) and issubclass(obj, Module):
        raise RuntimeError(
            f"Type '{obj}' cannot be compiled since it inherits from nn.Module, pass an instance "
            "instead"
        )
    if not callable(obj):
        raise TypeError(f"{type(obj)} is a built-in class")
    say_once("torch.jit.script", AS_PYTHON)
    return obj if builtin_isinstance(obj, type) else as_script(obj)


def trace(
    func: Any,
    example_inputs: Any = None,
    optimize: None = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    *,
    example_kwarg_inputs: dict[str, Any] | None = None,
) -> Any:
    """A module or function as it is, once it has run on the examples; one warning says so.

    Unlike PyTorch's trace, it still branches on values. The checks compare a trace with Python,
    which is all there is here. RuntimeError for examples that are not tensors or trees of them.
    https://pytorch.org/docs/stable/generated/torch.jit.trace.html
    """
    if not callable(func):
        raise RuntimeError("Could not get name of python class object")
    say_once("torch.jit.trace", AS_PYTHON)
    if example_kwarg_inputs is not None:
        check_examples(example_kwarg_inputs)
        func(**example_kwarg_inputs)
    else:
        func(*examples_of(example_inputs))
    return as_script(func)


def trace_module(
    mod: Module,
    inputs: dict[str, Any],
    optimize: None = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
) -> Any:
    """As `trace`, of the methods that `inputs` names, with the examples for each.

    https://pytorch.org/docs/stable/generated/torch.jit.trace_module.html
    """
    if not builtin_isinstance(mod, Module):
        raise AttributeError("expected torch.nn.Module as the first argument")
    if not builtin_isinstance(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    say_once("torch.jit.trace", AS_PYTHON)
    for name, examples in inputs.items():
        (mod if name == "forward" else getattr(mod, name))(*examples_of(examples))
    return as_script(mod)


def examples_of(inputs: Any) -> tuple:
    """Examples as a tuple of arguments."""
    examples = (inputs,) if builtin_isinstance(inputs, Tensor | dict) else tuple(inputs)
    check_examples(examples)
    return examples


def check_examples(examples: Any) -> None:
    if not all(builtin_isinstance(leaf, Tensor) for leaf in tree_flatten(examples)[0]):
        raise RuntimeError(
            f"Type '{type(examples).__name__}' cannot be traced. Only Tensors and (possibly "
            "nested) Lists, Dicts, and Tuples of Tensors can be traced"
        )


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """The function itself, or a decorator that answers it; RuntimeError for another argument."""
    if callable(drop):
        return drop
    if not builtin_isinstance(drop, bool):
        raise RuntimeError(
            f"Argument to @torch.jit.ignore must be a bool or a function but got {drop}"
        )
    return lambda function: function


def unused(fn: Any) -> Any:
    """The function or property itself."""
    return fn


def _overload(func: Any) -> Any:
    """The function itself: its last definition, which Python calls."""
    return func


_overload_method = _overload


def export(fn: Any) -> Any:
    """The method itself."""
    return fn


def interface(obj: type) -> type:
    """The class itself; RuntimeError for what is no class."""
    if not builtin_isinstance(obj, type):
        raise RuntimeError("interface must be applied to a class")
    return obj


def script_method(fn: Any) -> Any:
    """The method itself, as Python; one warning says so."""
    say_once("torch.jit.script", AS_PYTHON)
    return fn


def script_if_tracing(fn: Any) -> Any:
    """The function itself: nothing is traced."""
    return fn


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value itself, whose type is for TorchScript."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Python's isinstance; of containers such as list[int], NotImplementedError."""
    kinds = target_type if builtin_isinstance(target_type, tuple) else (target_type,)
    if not all(builtin_isinstance(kind, type) for kind in kinds):
        raise NotImplementedError(f"torch.jit.isinstance: target_type {target_type} has parameters")
    return builtin_isinstance(obj, kinds)


def is_scripting() -> bool:
    """False: nothing is."""
    return False


def is_tracing() -> bool:
    """False: nothing is."""
    return False


def freeze(
    mod: Any, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True
) -> Any:
    """A scripted module in eval mode, as it is; RuntimeError for another."""
    check_scripted("Freezing", mod)
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() "
            "on your module before freezing."
        )
    return mod


def optimize_for_inference(mod: Any, other_methods: list[str] | None = None) -> Any:
    """A scripted module as it is; RuntimeError for another."""
    check_scripted("optimize_for_inference", mod)
    return mod


def check_scripted(name: str, mod: Any) -> None:
    if not builtin_isinstance(mod, ScriptModule):
        raise RuntimeError(
            f"{name} expects a ScriptModule as input. Please use torch.jit.script or "
            "torch.jit.trace to script your 'nn.Module'."
        )


_get_trace_graph = refusing("torch.jit._get_trace_graph", NO_PROGRAM)
save = refusing("torch.jit.save", NO_FILES)
load = refusing("torch.jit.load", NO_FILES)
fork = refusing("torch.jit.fork", "it runs one thing after the other; call the function")
wait = refusing("torch.jit.wait", "it runs one thing after the other; call the function")
CompilationUnit = refusing_class("torch.jit.CompilationUnit", NO_PROGRAM)

__all__ = [
    "Attribute", "CompilationUnit", "Error", "Final", "ScriptFunction", "ScriptModule",
    "TracerWarning", "annotate", "export", "fork", "freeze", "ignore", "interface", "is_scripting",
    "is_tracing", "isinstance", "load", "optimize_for_inference", "save", "script",
    "script_if_tracing", "script_method", "trace", "trace_module", "unused", "wait",
]  # fmt: skip
