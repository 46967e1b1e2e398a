"""`torch.library.custom_op`: a function as an operator that autograd does not look into.

An operator is a call of `autograd.Function` here: its backward is what `register_autograd` gave.
There is no compiler, so that nobody asks for its schema or for what it does to shapes.
https://pytorch.org/docs/stable/library.html
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tiny_torch.autograd import no_grad
from tiny_torch.autograd.function import Function

OPERATORS: dict[str, CustomOpDef] = {}


class CustomOpDef:
    """What `custom_op` makes of a function: called as the function is."""

    def __init__(self, name: str, function: Callable, mutates: bool) -> None:
        self._name, self._function, self._mutates = name, function, mutates
        self._signature = inspect.signature(function)
        self._operator = self._with_backward(None, None)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = self._signature.bind(*args, **kwargs)
        given.apply_defaults()
        values = (*given.args, *given.kwargs.values())
        if not self._mutates:
            return self._operator.apply(*values)
        with no_grad():
            return self._function(*values)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._name})>"

    def _with_backward(self, backward: Any, setup_context: Any) -> Any:
        name = self._name.replace("::", ".")

        def refuse(ctx: Any, *grads: Any) -> Any:
            raise RuntimeError(
                f"Trying to backward through {name}.default but no autograd formula was "
                "registered. Please use register_autograd to add one."
            )

        def save_nothing(ctx: Any, inputs: Any, output: Any) -> None:
            """Saves nothing."""

        members = {
            "forward": staticmethod(self._function),
            "setup_context": staticmethod(setup_context or save_nothing),
            "backward": staticmethod(backward or refuse),
        }
        return type(f"GeneratedBackwardFor_{name.replace('.', '_')}_default", (Function,), members)

    def register_fake(self, fn: Callable) -> Callable:
        """The function itself: what it says of shapes is for compilers."""
        return fn

    def register_autograd(
        self, backward: Callable, /, *, setup_context: Callable | None = None
    ) -> None:
        """`backward(ctx, *grads)` answers a gradient, or None, for each argument.

        `setup_context(ctx, inputs, output)` keeps for it what it needs.
        """
        self._operator = self._with_backward(backward, setup_context)


def custom_op(
    name: str,
    fn: Callable | None = None,
    /,
    *,
    mutates_args: Any,
    device_types: Any = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """A function as an operator; without one, a decorator.

    The name is "namespace::name". `mutates_args` names the arguments that the function writes to;
    () promises that there are none. NotImplementedError for `device_types`.
    """
    if fn is None:
        return lambda function: custom_op(
            name, function, mutates_args=mutates_args, device_types=device_types, schema=schema
        )
    if device_types is not None:
        raise NotImplementedError("custom_op: device_types is not supported")
    if name.count("::") != 1:
        raise ValueError(
            f"Expected the name of an operator to be 'namespace::name', but got {name!r}"
        )
    OPERATORS[name] = CustomOpDef(name, fn, bool(mutates_args))
    return OPERATORS[name]


def operator(op: Any) -> CustomOpDef:
    """An operator, or the one of that name."""
    if isinstance(op, CustomOpDef):
        return op
    if op not in OPERATORS:
        raise RuntimeError(f"operator {op} does not exist")
    return OPERATORS[op]


def register_fake(op: Any, func: Callable | None = None, /, *, lib: None = None) -> Any:
    """As `CustomOpDef.register_fake`; without a function, a decorator."""
    return operator(op).register_fake if func is None else operator(op).register_fake(func)


def register_autograd(
    op: Any, backward: Callable, /, *, setup_context: Callable | None = None, lib: None = None
) -> None:
    """As `CustomOpDef.register_autograd`."""
    operator(op).register_autograd(backward, setup_context=setup_context)
