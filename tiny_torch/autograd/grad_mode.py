"""Whether ops are recorded: context managers that are decorators, too.

Entering a class costs a quarter of a generator. `may_record` (autograd/tensor.cpp) reads the bit.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

from tiny_torch import _core
from tiny_torch.base.arguments import check_bool
from tiny_torch.base.modes import INFERENCE, NO_GRAD, Scope, modes

C = TypeVar("C", bound=Callable)
new = _core.ModeScope.__new__


class Decorator:
    """A scope that may stand above a function, too, and then holds while that runs."""

    def clone(self) -> Any:
        return type(self)()

    def __call__(self, function: C) -> C:
        if inspect.isclass(function):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You "
                "should only decorate functions or methods. To preserve the current behavior of "
                "class decoration, you can directly decorate the `__init__` method and nothing "
                "else.",
                FutureWarning,
                stacklevel=2,
            )
        if inspect.isgeneratorfunction(function):
            return self.wrap_generator(function)

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return _core.within(self.clone(), function, *args, **kwargs)

        return cast("C", wrapper)

    def wrap_generator(self, function: C) -> C:
        """The mode holds while the generator runs, not while its caller does."""

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            generator = function(*args, **kwargs)
            step, argument = generator.send, None
            while True:
                try:
                    value = _core.within(self.clone(), step, argument)
                except StopIteration as stop:
                    return stop.value
                try:
                    step, argument = generator.send, (yield value)
                except GeneratorExit:
                    _core.within(self.clone(), generator.close)
                    raise
                except BaseException as error:
                    step, argument = generator.throw, error

        return cast("C", wrapper)


class no_grad(Decorator, _core.ModeScope):
    """Ops are not recorded. https://pytorch.org/docs/stable/generated/torch.no_grad.html

    >>> import tiny_torch as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    bits_on, bits_off = NO_GRAD, 0

    def __new__(cls, function: Callable | None = None) -> Any:
        mode = new(cls)
        return mode if function is None else mode(function)

    def __init__(self) -> None:
        """Takes nothing: of a function, __new__ answers another."""


class enable_grad(no_grad):
    """Ops are recorded. https://pytorch.org/docs/stable/generated/torch.enable_grad.html"""

    bits_on, bits_off = 0, NO_GRAD


# Around what may be a user's code in a backward, and around formulas that are to be recorded.
UNRECORDED, RECORDING = no_grad(), enable_grad()


def recording(wanted: bool) -> Any:
    """`enable_grad()` or `no_grad()`; unlike `set_grad_enabled`, nothing before the ``with``."""
    return enable_grad() if wanted else no_grad()


class set_grad_enabled(Decorator, Scope):
    """Recording on or off, at once and until the ``with`` ends, if it is used in one.

    https://pytorch.org/docs/stable/generated/torch.autograd.grad_mode.set_grad_enabled.html
    """

    def __init__(self, mode: bool) -> None:
        check_bool("set_grad_enabled", "enabled", 1, mode)
        self.mode = mode
        self.before = modes.bits & NO_GRAD
        self.begin()

    def current(self) -> int:
        return self.before

    def begin(self) -> None:
        modes.bits = (modes.bits & ~NO_GRAD) | (0 if self.mode else NO_GRAD)

    def restore(self, before: int) -> None:
        modes.bits = (modes.bits & ~NO_GRAD) | before

    def __call__(self, function: C) -> C:
        self.restore(self.before)  # as a decorator it holds inside the function only
        return super().__call__(function)

    def clone(self) -> Any:
        return recording(self.mode)


class inference_mode(Decorator, _core.ModeScope):
    """Ops are not recorded, and what they make are inference tensors.

    Outside, these may not be written, require grad, or be saved for backward: RuntimeError. Their
    clones may. Views made inside of other tensors may not be written outside.
    https://pytorch.org/docs/stable/generated/torch.autograd.grad_mode.inference_mode.html
    """

    def __new__(cls, mode: Any = True) -> Any:
        instance = new(cls)
        if isinstance(mode, bool):
            return instance
        instance.__init__(True)  # type: ignore[misc]
        return instance(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode
        self.bits_on = NO_GRAD | INFERENCE if mode else 0
        self.bits_off = 0 if mode else NO_GRAD | INFERENCE

    def clone(self) -> inference_mode:
        return type(self)(self.mode)


is_grad_enabled = _core.is_grad_enabled  # whether this thread records ops


def is_inference_mode_enabled() -> bool:
    return bool(modes.bits & INFERENCE)
