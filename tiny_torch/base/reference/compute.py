"""RefArray's computations: elementwise ops, reductions, matmul. `x` is always a RefArray.

Each gathers flat runs of elements by layout.positions, and hands them to a formula. In C++:
src/core/api/elementwise.cpp, reduce.cpp and matmul.cpp.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tiny_torch import _core
from tiny_torch.base.dtypes import (
    HALVES,
    check_range,
    cpp_name,
    not_implemented,
    other_type,
    scalar_type,
)
from tiny_torch.base.reference import layout
from tiny_torch.base.reference.formulas import (
    ELEMENTWISE,
    FLOATING,
    MASK,
    NUMBER,
    REDUCTIONS,
    SUM,
    can_cast,
    numpy_type,
    result_type,
)
from tiny_torch.base.reference.layout import broadcast_shapes, positions, without_out, wrap_dim

Shape = Sequence[int]
# The ops whose answer modulo 2**64 is that of the numbers themselves.
WRAPS = ("add", "sub", "mul", "bitwise_and", "bitwise_or", "bitwise_xor")


# ---------------------------------------------------------------------------------- operands
def is_array(value: Any) -> bool:
    return getattr(value, "device", None) == "ref"


def number_of(value: Any) -> Any:
    """A Python bool, int or float; None where the value is no number."""
    if isinstance(value, float | bool):
        return value
    if hasattr(type(value), "__index__"):
        number = operator.index(value)
        if not -(2**63) <= number < 2**64:
            raise OverflowError("int too big to convert")
        return number
    return float(value) if hasattr(type(value), "__float__") else None


def operand_of(value: Any) -> Any:
    """An array, or a number: which is never made an array, because it ranks below all of them."""
    if is_array(value):
        return value
    if isinstance(value, _core.NDArray):
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, ref "
            "and cpu!"
        )
    number = number_of(value)
    if number is None:
        raise TypeError(f"expected a RefArray or a number, got {type(value).__name__}")
    return number


def elements(operand: Any, shape: Shape, dtype: Any) -> np.ndarray:
    """An operand's elements in row-major order of `shape`, to which it broadcasts; one of a number.

    To broadcast is to walk the larger shape with strides of 0. Numbers wrap around in integers.
    """
    if is_array(operand):
        strides = [layout.broadcast_stride(operand, shape, d) for d in range(len(shape))]
        flat = operand._flat[positions(shape, strides, operand.offset)]
    else:
        flat = np.array([operand])
    with np.errstate(all="ignore"):
        return flat.astype(numpy_type(dtype))


def check_writable(out: Any) -> None:
    if out.size and any(n > 1 and s == 0 for n, s in zip(out.shape, out.strides, strict=True)):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location. Please clone() the tensor before performing the operation. "
            f"(shape {list(out.shape)}, strides {list(out.strides)})"
        )


def same_elements(a: Any, b: Any) -> bool:
    places = [(x.storage_id, x.offset, x.shape, x.strides, x.dtype) for x in (a, b)]
    return places[0] == places[1]


def check_overlap(out: Any, x: Any) -> None:
    """Refuses blocks that overlap in part. Other overlaps are harmless: we read all, then write."""
    if out.storage_id != x.storage_id or not out.size or not x.size:
        return
    if same_elements(out, x) or not (out.is_dense() and x.is_dense()):
        return
    if out.offset < x.offset + x.size and x.offset < out.offset + out.size:
        raise RuntimeError(
            "unsupported operation: some elements of the input tensor and the written-to tensor "
            "refer to a single memory location. Please clone() the tensor before performing the "
            "operation."
        )


# ------------------------------------------------------------------------------- elementwise
def elementwise(name: str, *values: Any, out: Any = None) -> Any:
    """The one way of an elementwise op: check, promote, broadcast, allocate, compute."""
    rule, dtypes, formula = ELEMENTWISE[name]
    operands = [operand_of(value) for value in values]
    promoted = result_type(*operands)
    check_arguments(name, operands, promoted)
    if name == "square" and promoted is _core.bool:  # as pow(x, 2)
        promoted = _core.int64
    compute = promoted
    if rule == FLOATING and not promoted.is_floating_point:
        compute = _core.get_default_dtype()
    result = _core.bool if rule == MASK else compute
    if out is not None:
        check_writable(out)
    shape: tuple[int, ...] = ()
    for x in operands:
        shape = broadcast_shapes(shape, x.shape) if is_array(x) else shape
    if out is not None:
        check_out(name, out, shape, result, operands)
    check_dtype(name, compute, dtypes)
    with np.errstate(all="ignore"):
        found = formula(*[elements(x, shape, compute) for x in operands])
    if out is None:
        strides = strides_of_result(shape, operands, compute)
        return next(filter(is_array, operands))._new(shape, result, strides)._store(found)
    out._store(found)
    out.mark_written()
    return out


def strides_of_result(shape: Shape, operands: Sequence[Any], compute: Any) -> tuple[int, ...]:
    """An array that has to be converted counts with the strides that its copy would have."""
    arrays = [x for x in operands if is_array(x)]
    copies = [x if x.dtype is compute else x.empty_like(compute) for x in arrays]
    return layout.result_strides(shape, copies, len(operands) - len(arrays))


def check_dtype(name: str, dtype: Any, dtypes: str) -> None:
    if numpy_type(dtype).kind not in dtypes:
        raise not_implemented(f"{name}_cpu", dtype)


def check_arguments(name: str, operands: Sequence[Any], promoted: Any) -> None:
    """What bool and integers cannot do, though floats can."""
    bools = [x for x in operands if isinstance(x, bool) or (is_array(x) and x.dtype is _core.bool)]
    if name == "sub" and len(list(filter(is_array, bools))) == 2:
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
            "`logical_xor()` operator instead."
        )
    if bools and name in ("sub", "neg"):
        word, rest = ("Subtraction", "with a") if name == "sub" else ("Negation", "on a")
        raise RuntimeError(
            f"{word}, the `-` operator, {rest} bool tensor is not supported. If you are trying to "
            "invert a mask, use the `~` or `logical_not()` operator instead."
        )
    if bools and name == "relu":
        raise RuntimeError("Boolean inputs not supported for relu")
    if name == "pow" and promoted in HALVES and not is_array(operands[1]):
        check_range(operands[1], promoted)
    if promoted.is_floating_point or promoted is _core.bool:
        return
    wide = any(type(x) is int and x >= 2**63 for x in operands)
    if wide and name not in WRAPS and ELEMENTWISE[name][0] != FLOATING:
        raise RuntimeError(f"value cannot be converted to type {promoted.name} without overflow")
    if name in ("floor_divide", "trunc_divide", "remainder", "fmod"):
        divisor = operands[1]
        shape = divisor.shape if is_array(divisor) else ()
        nothing = any(is_array(x) and x.size == 0 for x in operands)
        if not nothing and (elements(divisor, shape, promoted) == 0).any():
            raise RuntimeError("ZeroDivisionError")
    if name == "pow" and not is_array(operands[1]):
        if operands[1] < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        if operands[1] > np.iinfo(promoted.name).max:
            raise RuntimeError(
                f"value cannot be converted to type {promoted.name} without overflow"
            )


def check_out(name: str, out: Any, shape: Shape, result: Any, operands: Sequence[Any]) -> None:
    """In place, `out` is an operand. It never changes its dtype, nor its shape."""
    if out.shape != shape:
        raise RuntimeError(
            f"output with shape {list(out.shape)} doesn't match the broadcast shape {list(shape)}"
        )
    if not can_cast(result, out.dtype):
        raise RuntimeError(
            f"result type {result.scalar_type} can't be cast to the desired output type "
            f"{out.dtype.scalar_type}"
        )
    for x in operands:
        if is_array(x):
            check_overlap(out, x)


@without_out
def where(condition: Any, x: Any, y: Any) -> Any:
    """condition ? x : y"""
    if condition.dtype is not _core.bool:
        raise RuntimeError(
            "where expected condition to be a boolean tensor, but got a tensor with dtype "
            f"{condition.dtype.scalar_type}"
        )
    operands = [condition, operand_of(x), operand_of(y)]
    dtype = result_type(*operands[1:])
    shape = condition.shape
    for operand in operands[1:]:
        shape = broadcast_shapes(shape, operand.shape) if is_array(operand) else shape
    mask, *choices = [elements(operand, shape, dtype) for operand in operands]
    strides = strides_of_result(shape, operands, dtype)
    return condition._new(shape, dtype, strides)._store(np.where(mask != 0, *choices))


# -------------------------------------------------------------------------------- reductions
def reduce(name: str, x: Any, dims: Any = None, keepdim: Any = False, dtype: Any = None) -> Any:
    """Folds some dims away; None or () is all of them. The result is contiguous.

    An element's place is a sum over its dims, so it splits: where its row begins (the kept dims)
    plus where it lies in the row (the reduced ones).
    """
    rule, dtypes, empty, formula = REDUCTIONS[name]
    compute = dtype or x.dtype
    if rule == SUM and dtype is None and not compute.is_floating_point:
        compute = _core.int64
    if rule == FLOATING and not compute.is_floating_point:
        raise RuntimeError(
            f"{name}(): could not infer output dtype. Input dtype must be either a floating point "
            f"or complex dtype. Got: {scalar_type(compute)}"
        )
    check_dtype(name, compute, dtypes)
    reduced = reduced_dims(x.ndim, dims)
    kept = [d for d in range(x.ndim) if d not in reduced]
    shape = [1 if d in reduced else n for d, n in enumerate(x.shape) if keepdim or d in kept]
    as_mask = rule == MASK and compute is not _core.uint8  # any and all of uint8 answer uint8
    out = x._new(shape, _core.bool if as_mask else compute)
    if empty is None:
        check_not_empty(name, x, dims, reduced)
    if out.size == 0:
        return out
    if x.size == 0:
        return out._store(empty)
    inner = np.array(positions(*dims_at(x, sorted(reduced))))
    with np.errstate(all="ignore"):
        rows = (x._flat[begin + inner] for begin in positions(*dims_at(x, kept), x.offset))
        return out._store([formula(row.astype(numpy_type(compute))) for row in rows])


def check_not_empty(name: str, x: Any, dims: Any, reduced: set[int]) -> None:
    if x.size:
        return
    if not dims:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
            f"reduction dim with the 'dim' argument. (shape {list(x.shape)})"
        )
    for d in sorted(reduced):
        if x.shape[d] == 0:
            raise IndexError(
                f"{name}(): Expected reduction dim {d} to have non-zero size. (shape "
                f"{list(x.shape)})"
            )


def dims_at(x: Any, dims: Sequence[int]) -> tuple[list[int], list[int]]:
    return [x.shape[d] for d in dims], [x.strides[d] for d in dims]


def reduced_dims(ndim: int, dims: Any) -> set[int]:
    if dims is None or len(layout.dims_of(dims)) == 0:
        return set(range(ndim))
    reduced: set[int] = set()
    for dim in layout.dims_of(dims):
        d = wrap_dim(dim, ndim)
        if d in reduced:
            raise RuntimeError(f"dim {dim} appears multiple times in the list of dims")
        reduced.add(d)
    return reduced & set(range(ndim))


def arg_extreme(name: str, better: Callable, x: Any, dim: int, keepdim: Any = False) -> Any:
    """The index of the first largest or smallest element along `dim`; NaN counts as both."""
    d = wrap_dim(dim, x.ndim)
    kept = [k for k in range(x.ndim) if k != d]
    size, stride = (x.shape[d], x.strides[d]) if x.ndim else (1, 0)
    shape = [1 if k == d else n for k, n in enumerate(x.shape) if keepdim or k != d]
    out = x._new(shape, _core.int64)
    if out.size and size == 0:
        raise IndexError(
            f"{name}(): Expected reduction dim {dim} to have non-zero size. (shape {list(x.shape)})"
        )
    answers = []
    for begin in positions(*dims_at(x, kept), x.offset) if out.size else ():
        best = 0
        for i in range(1, size):
            value, record = x._flat[begin + i * stride], x._flat[begin + best * stride]
            if record == record and (better(value, record) or value != value):
                best = i
        answers.append(best)
    return out._store(answers)


@without_out
def argmax(x: Any, dim: int, keepdim: bool = False) -> Any:
    return arg_extreme("argmax", operator.gt, x, dim, keepdim)


@without_out
def argmin(x: Any, dim: int, keepdim: bool = False) -> Any:
    return arg_extreme("argmin", operator.lt, x, dim, keepdim)


# ------------------------------------------------------------------------------------ matmul
def mixed_product(a: Any, b: Any, other: Any, has_bias: bool) -> RuntimeError:
    if has_bias:
        return RuntimeError(
            f"mat1 and mat2 must have the same dtype, but got {scalar_type(a.dtype)} and "
            f"{scalar_type(other.dtype)}"
        )
    if b.ndim > 2:
        return other_type(a.dtype, b.dtype)
    return RuntimeError(
        "expected m1 and m2 to have the same dtype, but got: "
        f"{cpp_name(a.dtype)} != {cpp_name(b.dtype)}"
    )


def unfit_product(left: Any, right: Any, a: Any, b: Any) -> RuntimeError:
    """The error where a (..., m, k) meets b (..., other than k, n); left, right: as matrices."""
    k, other = a.shape[-1], right.shape[-2]
    if a.ndim == b.ndim == 1:
        return RuntimeError(
            f"inconsistent tensor size, expected tensor [{k}] and src [{other}] to have the same "
            f"number of elements, but got {k} and {other} elements respectively"
        )
    stack = math.prod(broadcast_shapes(left.shape[:-2], right.shape[:-2]))
    if b.ndim > 2:
        return RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{stack}, {k}] but "
            f"got: [{stack}, {other}]."
        )
    m = math.prod(left.shape[:-1])
    if b.ndim == 1:
        return RuntimeError(f"size mismatch, got input ({m}), mat ({m}x{k}), vec ({other})")
    return RuntimeError(
        f"mat1 and mat2 shapes cannot be multiplied ({m}x{k} and {other}x{b.shape[1]})"
    )


@without_out
def matmul(x: Any, y: Any, bias: Any = None) -> Any:
    """Matrix products with torch.matmul's rules of shape. In plain loops:

        for i in range(m):
            for j in range(n):
                for p in range(k):
                    out[i, j] += x[i, p] * y[p, j]

    Below, the loop over p is the outer one, and the loops over i and j are NumPy's outer product
    of a column of x and a row of y: plain loops would take minutes in our tests.
    """
    a, b = x, y
    if a.ndim == 0 or b.ndim == 0:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {a.ndim}D and {b.ndim}D"
        )
    for other in (b, bias):
        if other is not None and other.dtype is not a.dtype:
            raise mixed_product(a, b, other, bias is not None)
    left = a.unsqueeze(0) if a.ndim == 1 else a  # a vector is a row on the left,
    right = b.unsqueeze(1) if b.ndim == 1 else b  # a column on the right
    m, k, n = left.shape[-2], left.shape[-1], right.shape[-1]
    if k != right.shape[-2]:
        raise unfit_product(left, right, a, b)
    batch = broadcast_shapes(left.shape[:-2], right.shape[:-2])
    if bias is not None and bias.shape != (n,):
        rows = math.prod(left.shape[:-1])
        raise RuntimeError(
            f"The expanded size of the tensor ({n}) must match the existing size "
            f"({bias.shape[-1] if bias.ndim else 1}) at non-singleton dimension 1.  Target sizes: "
            f"[{rows}, {n}].  Tensor sizes: {list(bias.shape)}"
        )
    out = a._new((*batch, m, n), a.dtype)
    has_terms = out.size and (k or bias is not None)  # even bool has sums of nothing
    if has_terms and numpy_type(a.dtype).kind not in NUMBER:
        raise not_implemented("addmm_impl_cpu_", a.dtype)
    left, right = left.expand((*batch, m, k)), right.expand((*batch, k, n))
    column, row = positions((m,), left.strides[-2:-1]), positions((n,), right.strides[-1:])
    starts = [positions(batch, stack.strides[:-2], stack.offset) for stack in (left, right, out)]
    for a0, b0, c0 in zip(*starts, strict=True) if out.size else ():
        total = np.zeros((m, n), numpy_type(a.dtype))
        for p in range(k):
            a_column = left._flat[np.array(column) + a0 + p * left.strides[-1]]
            b_row = right._flat[np.array(row) + b0 + p * right.strides[-2]]
            total += np.outer(a_column, b_row)
        if bias is not None:
            total += elements(bias, (n,), a.dtype)
        out._flat[c0 : c0 + m * n] = total.reshape(-1)
    result = (*batch, *((m,) if a.ndim > 1 else ()), *((n,) if b.ndim > 1 else ()))
    return out.view(result)


def variance(x: Any, dims: Any, keepdim: bool, freedom: float, root: bool, centered: bool) -> Any:
    """Squared distances from the mean (or 0), over `freedom`, or the root of that; in float64."""
    wide = x.astype(_core.float64)
    distance = wide - wide.mean(dims, True) if centered else wide
    result = distance.square_sum(dims, keepdim) / freedom
    return (result.sqrt() if root else result).astype(x.dtype)
