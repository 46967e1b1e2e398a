"""What the classes of ops share: how one is declared public, and small parts of gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tiny_torch import _core
from tiny_torch.autograd.graph import Op
from tiny_torch.tensor import Tensor

# Method(name, saves=(), operate=None): a forward that is this method of arrays, called by C++ where
# no Python function is needed. With what `saves` names it answers (x.name(*rest, out), saved), or,
# without `out`, operate(x, y), which takes a number first, too.
Method = _core.Method
OPERANDS = (float, int, Tensor, np.number, np.bool_)


class Elementwise(Op):
    cost = "elementwise"


class Binary(Elementwise):
    """Of two inputs, broadcast."""

    arity = 2
    broadcasts = True


class Ternary(Elementwise):
    arity = 3
    broadcasts = True


class Declared(NamedTuple):
    """An elementwise op of one or two inputs that has a public function."""

    op: type[Op]
    what: str
    numbers: bool
    left: bool
    in_place: bool


DECLARED: dict[str, Declared] = {}  # functions/elementwise/declared.py makes functions of them


def public(
    name: str, what: str, numbers: bool = True, left: bool = False, in_place: bool = True
) -> Callable[[type[Op]], type[Op]]:
    """Gives an elementwise op a public function, a method and one in place, under `name`.

    ``@public("hypot", "...")`` on an op of two inputs gives torch.hypot(input, other, *, out=None),
    Tensor.hypot and Tensor.hypot_. The second input may be a Python number if `numbers`, the first
    if `left`.
    """

    def declare(op: type[Op]) -> type[Op]:
        DECLARED[name] = Declared(op, what, numbers, left, in_place)
        return op

    return declare


def with_name(op: type[Op], name: str, what: str, **options: bool) -> Any:
    """An op made by a function, named; public with these options if it is told what it answers."""
    op.__name__ = op.__qualname__ = name.title().replace("_", "")
    op.aten = name
    op.__doc__ = ""
    return public(name, what, **options)(op) if what else op


def by_operator(name: str, what: str, operate) -> Any:
    """An op without a gradient, whose first operand may be a number."""

    class ByOperator(Op):
        arity = 2
        forward = Method(name, (), operate)

    return with_name(ByOperator, name, what, left=True)


def without_gradient(
    name: str, what: str, inputs: int = 2, forms: tuple[str, ...] = ("out",), **options: bool
) -> Any:
    class WithoutGradient(Op):
        arity = inputs
        unrecorded = forms
        forward = Method(name)

    return with_name(WithoutGradient, name, what, **options)


def by_dims(name: str) -> Any:
    """`node_name` of a reduction: of all elements its number is 0, along dims 1."""
    return lambda saved, node: f"{name}Backward{int(node.constants[:1] not in ((), (None,)))}"


def by_number(name: str, with_number: int, *places: int) -> Any:
    """`node_name` whose number says whether no place of these in `saved` holds a tensor."""

    def node_name(saved, node):
        number = not any(hasattr(saved[place], "shape") for place in places if place < len(saved))
        return f"{name}Backward{with_number if number else 1 - with_number}"

    return node_name


def no_derivative(name: str) -> Any:
    """A `backward` that raises, of a gradient that PyTorch does not differentiate either."""

    def backward(saved, grad, needs):
        raise RuntimeError(f"derivative for aten::{name} is not implemented")

    return staticmethod(backward)


# fits(number, *tensors): whether they share float32 or float64, which surely holds a plain number:
# nothing is left to check then, which halves the time of add with alpha, addcmul and clamp.
fits = _core.fits
# refuse_overlap(out, apart, same=()): RuntimeError where `out` shares memory with a tensor of the
# tuple `apart`, or with one of `same`, unless the two are the same elements. None is left alone.
refuse_overlap = _core.refuse_overlap


def over(x: Any, grad: Any) -> Any:
    """x, where a gradient computed from it and `grad` may be written; None where it may not."""
    return x if x.strides == grad.strides and x.unless_like(grad) is None else None


def scale_by(x: Any, factor: Any) -> Any:
    return x if factor == 1 else x * factor


def zero_gradient(grad: Any) -> Any:
    """The gradient of a step, in an op's backward: 0 also where the incoming one is inf or NaN."""
    return grad.new_full(grad.shape, 0)


def write_into(result: Any, out: Any) -> Any:
    """`result`, in the array `out` if that has its shape and dtype: for ops used in place."""
    if out is None or out.unless_like(result) is not None:
        return result
    out.copy_(result)
    return out


def is_operand(value: Any) -> bool:
    """Whether ops take it as it is: a tensor or a number."""
    return isinstance(value, OPERANDS)


def forgetful(op: type[Op]) -> type[Op]:
    """The op as it is applied in place: what has no gradient leaves 0 to what it overwrites."""
    if op.backward is not None:
        return op

    def backward(saved, grad, needs):
        nothing = tuple([zero_gradient(grad) if need else None for need in needs])
        return nothing if op.arity > 1 else nothing[0]

    return type(op.__name__, (op,), {"broadcasts": True, "backward": staticmethod(backward)})
