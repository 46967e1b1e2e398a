"""Makes public functions and methods of elementwise ops: one decorator on the op's class.

``@public("hypot", "...")`` on an op of two inputs gives torch.hypot(input, other, *, out=None),
Tensor.hypot and Tensor.hypot_. Operands may be tensors or Python numbers; shapes broadcast, dtypes
promote; `out` is written into and returned.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from operator import is_
from typing import Any

import numpy as np

from tiny_torch import _core, return_types
from tiny_torch.arguments import check_int as check_int
from tiny_torch.autograd.apply import (
    apply,
    apply_inplace,
    apply_many,
    compute,
    compute_into,
    edges_of,
    offer,
)
from tiny_torch.autograd.graph import Op
from tiny_torch.dtypes import cannot_cast
from tiny_torch.tensor import Tensor, wrap

NO_HISTORY = (
    "functions with out=... arguments don't support automatic differentiation, but one of the "
    "arguments requires grad."
)
BOOL_OUT = {"isposinf", "isneginf", "signbit"}  # `out` has to be bool, though others' may be wider
SAME_OUT = {  # `out` has to be of the input's dtype
    *("abs", "bitwise_not", "ceil", "floor", "frac", "heaviside", "nan_to_num", "neg", "round"),
    *("sgn", "sign", "trunc"),
}
TWO_NUMBERS = {"mul", "floor_divide"}  # of two numbers they answer a tensor, too
# is_result_shape(out, operands): whether tensors (and numbers) broadcast to the shape of `out`.
is_result_shape = _core.is_result_shape
# check_tensor(function, argument, position, value): TypeError where it is no tensor.
check_tensor = _core.check_tensor
# check_tensors(function, {argument: value}): the same of several, the first at position 1.
check_tensors = _core.check_tensors
# fits(number, *tensors): whether they share float32 or float64, which surely holds a plain number.
fits = _core.fits
# refuse_overlap(out, apart, same=()): RuntimeError where `out` shares memory with a tensor of the
# tuple `apart`, or with one of `same`, unless the two are the same elements. None is left alone.
refuse_overlap = _core.refuse_overlap
FUNCTIONS: dict[str, Callable] = {}
METHODS: dict[str, Callable] = {}


def public(
    name: str, what: str, numbers: bool = True, left: bool = False, in_place: bool = True
) -> Callable[[type[Op]], type[Op]]:
    """Publishes an elementwise op of one or two inputs under `name`.

    The second may be a Python number if `numbers`, the first if `left`.
    """

    def publish(op: type[Op]) -> type[Op]:
        function = unary(name, op) if op.arity == 1 else binary(name, op, numbers, left)
        function.__name__ = function.__qualname__ = name
        function.__doc__ = f"{what}\n\nhttps://pytorch.org/docs/stable/generated/torch.{name}.html"
        FUNCTIONS[name] = METHODS[name] = function
        if in_place:
            method = inplace(op) if numbers else inplace_of_tensors(name, op)
            METHODS[name + "_"] = method
            method.__name__ = method.__qualname__ = name + "_"
        return op

    return publish


def unary(name: str, op: type[Op]) -> Callable[..., Tensor]:
    def function(input: Tensor, *, out: Tensor | None = None) -> Tensor:
        # Which op this is, and its kernels: `python -m tiny_torch where` with the function's name.
        if not isinstance(input, Tensor):
            check_tensor(name, "input", 1, input)
        return apply(op, input) if out is None else write_out(op, name, out, input)

    return function


def binary(name: str, op: type[Op], numbers: bool, left: bool) -> Callable[..., Tensor]:
    check = check_operand if numbers else check_tensor

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


def inplace(op: type[Op]) -> Callable[..., Tensor]:
    written = written_by(op)

    def unary(self: Tensor) -> Tensor:
        return apply_inplace(written, self)

    def binary(self: Tensor, other: Any) -> Tensor:
        return apply_inplace(written, self, other)

    return unary if op.arity == 1 else binary


def written_by(op: type[Op]) -> type[Op]:
    """The op as it is applied in place: what has no gradient leaves 0 to what it overwrites."""
    return op if op.backward is not None else forgetful(op)


def inplace_of_tensors(name: str, op: type[Op]) -> Callable[..., Tensor]:
    """As `inplace`, of an op of two inputs whose second may not be a number."""
    method = inplace(op)

    def checked(self: Tensor, other: Any) -> Tensor:
        check_tensor(name + "_", "other", 1, other)
        return method(self, other)

    return checked


def over(x: Any, grad: Any) -> Any:
    """x, where a gradient computed from it and `grad` may be written; None where it may not."""
    return x if x.strides == grad.strides and x.unless_like(grad) is None else None


def zeros(grad: Any) -> Any:
    """The gradient of a step, in an op's backward: 0 also where the incoming one is inf or NaN."""
    return grad.new_full(grad.shape, 0)


def forgetful(op: type[Op]) -> type[Op]:
    """An op without a gradient, to be used in place: what it overwrites has gradient zero."""

    def backward(saved, grad, needs):
        nothing = tuple([zeros(grad) if need else None for need in needs])
        return nothing if op.arity > 1 else nothing[0]

    return type(op.__name__, (op,), {"broadcasts": True, "backward": staticmethod(backward)})


def is_operand(value: Any) -> bool:
    """Whether ops take it as it is: a tensor or a number."""
    if isinstance(value, Tensor | np.number | np.bool_):
        return True
    # np.str_ has it, too
    return hasattr(type(value), "__float__") and not isinstance(value, np.ndarray | np.generic)


def check_operand(function: str, argument: str, position: int, value: Any) -> None:
    if not isinstance(value, Tensor) and not is_operand(value):
        raise TypeError(
            f"{function}(): argument '{argument}' (position {position}) must be Tensor, not "
            f"{_core.type_name(value)}"
        )


def write_out(op: type[Op], function: str, out: Tensor, *arguments: Any) -> Tensor:
    """The op's result, written into `out`, which records no history."""
    if not isinstance(out, Tensor):
        check_tensor(function, "out", len(arguments) + 1, out)
    if function in BOOL_OUT and out.dtype is not _core.bool:
        raise RuntimeError(f"{function} does not support non-boolean outputs.")
    if function in SAME_OUT and out.dtype is not arguments[0].dtype:
        raise RuntimeError(
            f"{function}(): found dtype {out.dtype} but expected {arguments[0].dtype}"
        )
    if is_result_shape(out.array, arguments) and compute_into(op, out, arguments):
        return out
    recorded = "out" not in op.unrecorded
    if recorded:
        refuse_history(f"{function}(): ", out, *arguments)
    return into(out, wrap(compute(op, arguments)[0]), recorded)


def refuse_history(function: str, *tensors: Any) -> None:
    """RuntimeError if one of what `out=` is computed from, or `out` itself, would be recorded."""
    if edges_of(None, *tensors) is not None:
        raise RuntimeError(function + NO_HISTORY)


def place_of(function: str, out: Any) -> Any:
    """The array that a result may be written to; None without `out`, which may have no history."""
    if out is None:
        return None
    check_tensor(function, "out", 1, out)
    refuse_history("", out)
    return out.array


def offered(out: Tensor, op: type[Op], inputs: Sequence, *constants: Any) -> Tensor:
    """The op's result: in `out`'s own memory, if it is of the result's shape and dtype there.

    To be passed on to `into`, which copies it where it is not. RuntimeError if it had a history.
    """
    result = offer(op, (out,), inputs, constants)
    if result is not None:
        return result if result is out else wrap(result)
    arguments = (*inputs, *constants)
    check_tensor("out", "out", 1, out)
    if "out" not in op.unrecorded:
        refuse_history("", out, *inputs)
    if op.composite is not None and out.array.device == "ref":
        return op.composite(*arguments)
    return wrap(compute(op, arguments, out.array)[0])


def applied_same(name: str, out: Any, op: type[Op], inputs: Sequence, *constants: Any) -> Tensor:
    """The op's result; written into `out`, which must be of its dtype, if there is one."""
    if out is None:
        return apply_many(op, inputs, *constants)
    return into_same(out, offered(out, op, inputs, *constants), name)


def offered_pair(name: str, out: Any, op: type[Op], input: Tensor, *constants: Any) -> tuple:
    """`offered`, of an op that answers elements of its input and where they stand; for `named`."""
    check_outs(name, out, 2)
    values, positions = out
    found = None
    if values.array.dtype is input.array.dtype and positions.array.dtype is _core.int64:
        found = offer(op, (values, positions), (input,), constants)
    if found is None:
        refuse_history("", input, *out)
        found = compute(op, (input, *constants))[0]
    return tuple([x if isinstance(x, Tensor) else wrap(x) for x in found])


def check_outs(name: str, out: Any, count: int) -> None:
    """TypeError where `out` is no tuple of as many tensors."""
    if not isinstance(out, (tuple, list)):
        raise TypeError(f"{name}(): argument 'out' must be tuple of Tensors, not Tensor")
    if len(out) != count:
        raise TypeError(f"expected tuple of {count} elements but got {len(out)}")
    for target in out:
        check_tensor(name, "out", 1, target)


def written(result: Any, out: Any) -> Any:
    """`result`, in the array `out` if that has its shape and dtype: for ops used in place."""
    if out is None or out.unless_like(result) is not None:
        return result
    out.copy_(result)
    return out


def into(out: Tensor | None, result: Tensor, recorded: bool = True) -> Tensor:
    """The result, copied into `out` if there is one, which gets its shape.

    Raises RuntimeError if `out` cannot hold the result, or, if `recorded`, where one has a history.
    """
    if out is None or result is out:
        return result
    check_tensor("out", "out", 1, out)
    if recorded:
        refuse_history("", out, result)
    if not _core.can_cast(result.dtype, out.dtype):
        raise cannot_cast(result.dtype, out.dtype)
    if out.array.shape != result.array.shape:
        resize_out(out, result.array)
    out.array.copy_(result.array)
    return out


def into_same(out: Tensor | None, result: Tensor, function: str = "") -> Tensor:
    """`into`, for functions whose `out` must have the result's dtype: else RuntimeError."""
    if result is out:
        return result
    if isinstance(out, Tensor) and out.array.dtype is not result.array.dtype:
        where = f"{function}(): " if function else ""
        raise RuntimeError(
            f"{where}Expected out tensor to have dtype {result.dtype}, but got {out.dtype} instead"
        )
    return into(out, result)


def resize_out(out: Tensor, like: Any) -> None:
    """Gives `out` the shape and strides of an array; in its own storage, if that has the room."""
    array = out.array
    if array.size:
        warnings.warn(
            "An output with one or more elements was resized since it had shape "
            f"{list(array.shape)}, which does not match the required output shape "
            f"{list(like.shape)}. This behavior is deprecated, and in a future PyTorch release "
            "outputs will not be resized unless they have zero elements. You can explicitly reuse "
            "an out tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
            stacklevel=4,
        )
    if (array.offset + like.size) * array.itemsize <= array.storage_nbytes:
        out.array = array.as_strided(like.shape, like.strides, array.offset)
    else:
        out.array, out._view = like.empty_like(array.dtype), None


def named(name: str, results: Any, out: Any = None) -> Any:
    """Results with the names that return_types has for `name`; copied into the tensors of `out`.

    Raises TypeError where those are not as many, RuntimeError where one is of another dtype.
    """
    if out is None:
        return tuple.__new__(getattr(return_types, name), results)  # without looking at them
    check_outs(name, out, len(results))
    if all(map(is_, results, out)):  # they are what was written
        return tuple.__new__(getattr(return_types, name + "_out"), results)
    for target, result in zip(out, results, strict=True):
        if target.dtype is not result.dtype:
            raise RuntimeError(
                f"Expected out tensor to have dtype {result.dtype}, but got {target.dtype} instead"
            )
    written = [into(target, result) for target, result in zip(out, results, strict=True)]
    return tuple.__new__(getattr(return_types, name + "_out"), written)
