"""The functions and methods of the elementwise ops that ops/elementwise declares public.

Operands may be tensors or Python numbers; shapes broadcast, dtypes promote; `out` is written into
and returned. Methods that write in place (`x.exp_()`) are made at the end; `torch.exp_(x)` and
other functions that only call a method are made in compat/twins.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply, apply_inplace, quick
from tiny_torch.autograd.graph import Op
from tiny_torch.functions.common import check_operand, check_tensor, into, write_out
from tiny_torch.functions.public import FUNCTIONS, METHODS
from tiny_torch.ops.common import forgetful
from tiny_torch.ops.elementwise import DECLARED
from tiny_torch.tensor import Tensor, wrap

TWO_NUMBERS = {"mul", "floor_divide"}  # of two numbers they answer a tensor, too


def unary(name: str, op: type[Op]) -> Callable[..., Tensor]:
    @quick(op)
    def function(input: Tensor, *, out: Tensor | None = None) -> Tensor:
        # Which op this is, and its kernels: `python -m tiny_torch where` with the function's name.
        return apply(op, input) if out is None else write_out(op, name, out, input)

    return function


def binary(name: str, op: type[Op], numbers: bool, left: bool) -> Callable[..., Tensor]:
    check = check_operand if numbers else check_tensor

    @quick(op, 2, numbers)
    def function(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
        # Which op this is, and its kernels: `python -m tiny_torch where` with the function's name.
        if not isinstance(input, Tensor):
            return of_number(op, name, input, other, out, left)
        if not isinstance(other, Tensor):
            check(name, "other", 2, other)
        return apply(op, input, other) if out is None else write_out(op, name, out, input, other)

    return function


def of_number(
    op: type[Op], name: str, input: Any, other: Any, out: Tensor | None, allowed: bool = True
) -> Tensor:
    """An op of two inputs whose first is a Python number; TypeError where that is not `allowed`."""
    check = check_operand if allowed else check_tensor
    check(name, "input", 1, input)
    if name in TWO_NUMBERS:
        check_operand(name, "other", 2, other)
    else:
        check_tensor(name, "other", 2, other)
    return into(out, apply(op, input if isinstance(other, Tensor) else scalar(input), other))


def scalar(number: Any) -> Tensor:
    """A number as a 0-d tensor."""
    dtype = _core.result_type(number)
    return wrap(_core.full((), number, dtype))


def inplace(op: type[Op], tensors_of: str = "") -> Callable[..., Tensor]:
    """The method; of the name `tensors_of`, if its other operand may not be a number."""
    written = forgetful(op)

    @quick(written, in_place=True)
    def unary(self: Tensor) -> Tensor:
        return apply_inplace(written, self)

    @quick(written, 2, numbers=True, in_place=True)
    def binary(self: Tensor, other: Any) -> Tensor:
        return apply_inplace(written, self, other)

    @quick(written, 2, in_place=True)
    def binary_of_tensors(self: Tensor, other: Any) -> Tensor:
        check_tensor(tensors_of, "other", 1, other)
        return apply_inplace(written, self, other)

    return unary if op.arity == 1 else binary_of_tensors if tensors_of else binary


for _name, (_op, _what, _numbers, _left, _in_place) in DECLARED.items():
    function = unary(_name, _op) if _op.arity == 1 else binary(_name, _op, _numbers, _left)
    function.__name__ = function.__qualname__ = _name
    function.__doc__ = f"{_what}\n\nhttps://pytorch.org/docs/stable/generated/torch.{_name}.html"
    FUNCTIONS[_name] = METHODS[_name] = function
    if _in_place:
        method = inplace(_op, "" if _numbers else _name + "_")
        METHODS[_name + "_"] = method
        method.__name__ = method.__qualname__ = _name + "_"
