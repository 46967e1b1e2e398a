"""`Layer`: a module that keeps settings, and calls a function with them.

``class HingeEmbeddingLoss(_Loss, of=F.hinge_embedding_loss)`` is a whole layer: what the function's
definition says becomes its constructor, `forward`, `extra_repr` and docstring. Python compiles a
text, as it does for dataclasses, so that a call costs and says what any other function's does:

    def __init__(self, margin: 'float' = 1.0, ..., reduction: 'str' = 'mean') -> None:
        super().__init__(..., reduction=reduction); self.margin = margin
    def forward(self, input: 'Tensor', target: 'Tensor') -> 'Tensor':
        return of(input, target, self.margin, reduction=self.reduction)
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable, Sequence
from inspect import Parameter, Signature, signature, unwrap
from typing import Any

from tiny_torch.nn.modules.module import Module

OF_CALLS = {"_stacklevel", "dtype", "training"}  # no settings; passed if the class has them
LEGACY = {"size_average", "reduce"}  # which `reduction` is made of
SELF = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)


class Layer(Module):
    """A module whose class says which function it is the layer of.

    The function's tensors without a default are what `forward` takes. Its other parameters are
    settings, but for those in `without`; keywords are defaults in the place of the function's. A
    setting that the base's constructor takes goes there, any other becomes an attribute, a tensor
    a buffer. `__post_init__`, if there is one, ends the constructor. What a class or a base of it
    defines stays.

    >>> import tiny_torch as torch
    >>> class Slope(Layer, of=torch.nn.functional.leaky_relu, without=["inplace"]): ...
    >>> Slope(0.5), Slope(0.5)(torch.tensor([-2.0]))
    (Slope(negative_slope=0.5), tensor([-1.]))
    """

    def __init_subclass__(
        cls, of: Callable | None = None, without: Iterable[str] = (), **defaults: Any
    ) -> None:
        if of is None:
            super().__init_subclass__(**defaults)
            return
        inputs, settings = [], []
        whole = signature(of)
        for p in whole.parameters.values():
            if "Tensor" in p.annotation and p.default is p.empty:
                inputs.append(p)
            elif p.name not in OF_CALLS and p.name not in without:
                settings.append(p.replace(default=defaults.get(p.name, p.default)))
        base = cls.__init__.__code__
        own = [p for p in settings if p.name not in base.co_varnames[: base.co_argcount]]
        texts = {}
        if own and "__init__" not in vars(cls):
            texts["__init__"] = constructor(settings, own, hasattr(cls, "__post_init__"))
            if not cls._shown:
                cls._shown = tuple([p.name for p in own])
        if cls.forward is Module.forward:
            passed = {p.name for p in settings} | {n for n in OF_CALLS if hasattr(cls, n)}
            texts["forward"] = call(whole, inputs, passed - LEGACY | {"training"})
        for function in functions_of(texts, cls, of):
            function.__module__ = cls.__module__
            function.__qualname__ = f"{cls.__name__}.{function.__name__}"
            setattr(cls, function.__name__, function)
        cls.__doc__ = cls.__doc__ or of.__doc__


def constructor(settings: Sequence[Parameter], own: Sequence[Parameter], goes_on: bool) -> str:
    """The text of `__init__`, which keeps its own settings and hands the others to the base."""
    others = ", ".join([f"{p.name}={p.name}" for p in settings if p not in own])
    lines = [f"{Signature([SELF, *settings], return_annotation=None)}: super().__init__({others})"]
    for p in own:
        buffer = "Tensor" in p.annotation.partition("[")[0]
        keep = "self.register_buffer('{0}', {0})" if buffer else "self.{0} = {0}"
        lines.append(keep.format(p.name))
    return "; ".join([*lines, "self.__post_init__()"] if goes_on else lines)


def call(whole: Signature, inputs: Sequence[Parameter], passed: set[str]) -> str:
    """The text of `forward`: inputs and attributes by position, after a gap by keyword."""
    given, by_name = [p.name for p in inputs], False
    for name, p in list(whole.parameters.items())[len(inputs) :]:
        by_name |= p.kind is p.KEYWORD_ONLY
        if name in passed:
            given.append(f"{name}=self.{name}" if by_name else f"self.{name}")
        else:
            by_name = True
    return f"{whole.replace(parameters=[SELF, *inputs])}: return of({', '.join(given)})"


def functions_of(texts: dict[str, str], cls: type, of: Callable) -> list[Callable]:
    """The functions of these texts; their annotations are read where `of` is defined."""
    lines = [f"    def {name}{text}" for name, text in texts.items()]
    program = "\n".join(["def make(__class__, of):", *lines, f"    return [{', '.join(texts)}]"])
    made: dict[str, Any] = {}
    file = f"{__file__} for {cls.__name__}"
    linecache.cache[file] = len(program), None, program.splitlines(True), file  # for tracebacks
    exec(compile(program, file, "exec", dont_inherit=True), unwrap(of).__globals__, made)
    return made["make"](cls, of)
