"""What public functions share: kinds of arguments, and results written into `out`."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from operator import is_
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply, apply_many, compute, compute_into, edges_of, offer
from tiny_torch.autograd.graph import Op
from tiny_torch.base import return_types
from tiny_torch.base.arguments import wrong_kind
from tiny_torch.base.dtypes import HALVES, check_cast
from tiny_torch.base.modes import modes
from tiny_torch.ops.common import is_operand
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

# is_result_shape(out, operands): whether tensors (and numbers) broadcast to the shape of `out`.
is_result_shape = _core.is_result_shape
# check_tensor(function, argument, position, value): TypeError where it is no tensor.
check_tensor = _core.check_tensor
# check_tensors(function, {argument: value}): the same of several, the first at position 1.
check_tensors = _core.check_tensors
# require_float(function, input): TypeError where it is no tensor, NotImplementedError where that is
# of no float dtype.
require_float = _core.require_float


def check_kind(
    function: str, argument: str, position: int | None, value: Any, kind: str, types: Any
) -> None:
    """TypeError where a value is of none of the types that are PyTorch's kind."""
    if not isinstance(value, types):
        raise wrong_kind(function, argument, kind, value, position)


def check_given(function: str, argument: str, given: Any) -> None:
    if not given:
        raise TypeError(f'{function}() missing 1 required positional arguments: "{argument}"')


def rounded_once(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The function, computing what it is given in one half dtype in float32: no step is rounded.

    Under autocast its ops choose their dtypes, and so that of the result.
    """

    @functools.wraps(function)
    def wide(*args: Any, **kwargs: Any) -> Tensor:
        values = (*args, *kwargs.values())
        floats = {x.dtype for x in values if isinstance(x, Tensor) and x.is_floating_point()}
        if len(floats) != 1 or floats.isdisjoint(HALVES):
            return function(*args, **kwargs)
        if any(mode.casts for mode in modes.op_modes):
            return function(*args, **kwargs)
        args = tuple([x.float() if is_half(x) else x for x in args])
        kwargs = {name: x.float() if is_half(x) else x for name, x in kwargs.items()}
        return function(*args, **kwargs).to(floats.pop())

    return wide


def is_half(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dtype in HALVES


def check_operand(function: str, argument: str, position: int, value: Any) -> None:
    if not isinstance(value, Tensor) and not is_operand(value):
        raise wrong_kind(function, argument, "Tensor", value, position)


def check_elements(tensors: Sequence) -> None:
    for position, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"expected Tensor as element {position} in argument 0, but got "
                f"{_core.type_name(tensor)}"
            )


def check_listed(function: str, position: int, tensors: Sequence) -> None:
    """As check_elements, of an argument `tensors`: in the words of PyTorch's parser."""
    for i, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"{function}(): argument 'tensors' (position {position}) must be tuple of Tensors, "
                f"but found element of type {_core.type_name(tensor)} at pos {i}"
            )


def check_dim_exists(x: Tensor, dim: Any) -> None:
    """IndexError for a tensor without dims, of which `dim` would be one."""
    if not x.array.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")


def listed_tensors(function: str, tensors: Any) -> Sequence[Tensor]:
    """A list or tuple of tensors; RuntimeError where it is empty."""
    if not as_tensors(function, "tensors", tensors):
        raise RuntimeError(f"{function} expects a non-empty TensorList")
    return tensors


def as_tensors(function: str, argument: str, tensors: Any) -> Sequence[Tensor]:
    if not isinstance(tensors, (tuple, list)):
        raise wrong_kind(function, argument, "tuple of Tensors", tensors, 1)
    check_elements(tensors)
    return tensors


def write_out(op: type[Op], function: str, out: Tensor, *arguments: Any) -> Tensor:
    """The op's result, written into `out`, which records no history."""
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


def compute_for_out(out: Tensor, op: type[Op], inputs: Sequence, *constants: Any) -> Tensor:
    """The op's result. It lies in `out`'s own memory if `out` has its shape and dtype.

    `into`, to which the caller hands it, copies a result that lies elsewhere. Raises RuntimeError
    where `out` or an input has a history.
    """
    result = offer(op, (out,), inputs, constants)
    if result is not None:
        return result if result is out else wrap(result)
    arguments = (*inputs, *constants)
    check_tensor("out", "out", 1, out)
    if "out" not in op.unrecorded:
        refuse_history("", out, *inputs)
    if op.composite is not None and not isinstance(out.array, _core.NDArray):
        return op.composite(*arguments)
    return wrap(compute(op, arguments, out.array)[0])


def apply_out(op: type[Op], out: Any, input: Tensor, *constants: Any) -> Tensor:
    """The op's result; written into `out`, which may be of any dtype that holds it, if given."""
    if out is None:
        return apply(op, input, *constants)
    return into(out, compute_for_out(out, op, (input,), *constants), "out" not in op.unrecorded)


def applied_same(name: str, out: Any, op: type[Op], inputs: Sequence, *constants: Any) -> Tensor:
    """The op's result; written into `out`, which must be of its dtype, if there is one."""
    if out is None:
        return apply_many(op, inputs, *constants)
    return into_same(out, compute_for_out(out, op, inputs, *constants), name)


def check_outs(name: str, out: Any, count: int) -> None:
    """TypeError where `out` is no tuple of as many tensors."""
    check_kind(name, "out", None, out, "tuple of Tensors", (tuple, list))
    if len(out) != count:
        raise TypeError(f"expected tuple of {count} elements but got {len(out)}")
    for target in out:
        check_tensor(name, "out", 1, target)


def into(out: Tensor | None, result: Tensor, recorded: bool = True) -> Tensor:
    """The result, copied into `out` if there is one, which gets its shape.

    Raises RuntimeError if `out` cannot hold the result, or, if `recorded`, where one has a history.
    """
    if out is None or result is out:
        return result
    check_tensor("out", "out", 1, out)
    if recorded:
        refuse_history("", out, result)
    check_cast(result.dtype, out.dtype)
    if out.array.shape != result.array.shape:
        resize_out(out, result.array)
    out.array.copy_(result.array)
    return out


def into_same(out: Tensor | None, result: Tensor, function: str = "") -> Tensor:
    """`into`, for functions whose `out` must have the result's dtype: else RuntimeError."""
    if result is out:
        return result
    if isinstance(out, Tensor):
        check_out_dtype(out, result.array.dtype, f"{function}(): " if function else "")
    return into(out, result)


def check_out_dtype(out: Tensor, dtype: Any, where: str = "") -> None:
    if out.array.dtype is not dtype:
        raise RuntimeError(
            f"{where}Expected out tensor to have dtype {dtype}, but got {out.dtype} instead"
        )


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


def name_results(name: str, results: Any, out: Any = None) -> Any:
    """Results with the names that return_types has for `name`; copied into the tensors of `out`.

    Raises TypeError where those are not as many, RuntimeError where one is of another dtype.
    """
    if out is None:
        return tuple.__new__(getattr(return_types, name), results)  # without looking at them
    check_outs(name, out, len(results))
    if all(map(is_, results, out)):  # they are what was written
        return tuple.__new__(getattr(return_types, name + "_out"), results)
    for target, result in zip(out, results, strict=True):
        check_out_dtype(target, result.dtype)
    written = [into(target, result) for target, result in zip(out, results, strict=True)]
    return tuple.__new__(getattr(return_types, name + "_out"), written)


def standalone(x: Tensor) -> Tensor:
    """A view of what nobody else has: a tensor of its own, as PyTorch's functions answer it."""
    x._view = None
    return x
