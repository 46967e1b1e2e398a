"""Shapes and strides: all that RefArray knows about layout, as functions of tuples.

In C++: src/core/dims.cpp and the strides' part of iter.cpp. Not here: memory, elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from operator import index as to_int
from typing import Any

from tiny_torch.base.layouts import MAX_DIMS, contiguous_strides, packed_strides

LARGEST = 2**63 - 1  # C++ counts elements in 64 bits; Python's integers would never overflow


def without_out(function: Callable) -> Callable:
    """It, with one more argument: where the result may be written, which on ref it never is."""
    count = function.__code__.co_argcount
    return wraps(function)(lambda *arguments: function(*arguments[:count]))


def overlaps(x: Any, y: Any) -> bool:
    """Whether the elements of one may lie where some of the other's do: in one buffer."""
    return x.storage_id == y.storage_id


def dims_of(value: Any) -> tuple[int, ...]:
    if not isinstance(value, tuple | list):
        raise TypeError(f"expected a tuple of ints, got {type(value).__name__}")
    if len(value) > MAX_DIMS:
        raise RuntimeError(f"tiny_torch arrays have at most {MAX_DIMS} dimensions")
    return tuple(checked_int(n) for n in value)


def checked_int(value: Any) -> int:
    number = to_int(value)
    if not -LARGEST - 1 <= number <= LARGEST:
        raise ValueError("Overflow when unpacking long long")
    return number


def wrap_dim(dim: int, ndim: int) -> int:
    """Dims count from the end, too: -1 is the last. A 0-d array is taken as 1-d."""
    limit = max(ndim, 1)
    if not -limit <= to_int(dim) < limit:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], "
            f"but got {dim})"
        )
    return dim % limit


def checked_numel(shape: Sequence[int], op: str) -> int:
    if any(n < 0 for n in shape):
        bad = next(n for n in shape if n < 0)
        raise RuntimeError(f"[{op}] negative dimension {bad} in shape {list(shape)}")
    if math.prod(max(n, 1) for n in shape) > LARGEST:
        raise RuntimeError(f"[{op}] the number of elements of shape {list(shape)} overflows")
    return math.prod(shape)


def positions(shape: Sequence[int], strides: Sequence[int], offset: int = 0) -> list[int]:
    """Where every element lies in the flat buffer, in row-major order.

    Dim by dim: each place found so far becomes `size` places, `stride` apart. All that reads or
    writes elements walks these; copying from such a walk into a fresh buffer is `contiguous`.
    """
    places = [offset]
    for size, stride in zip(shape, strides, strict=True):
        places = [place + i * stride for place in places for i in range(size)]
    return places


def broadcast_shapes(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    """Shapes meet at their last dims; a size of 1, or none, stretches to the other's."""
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    lead = len(longer) - len(shorter)
    shape = list(longer)
    for d in range(len(longer) - 1, lead - 1, -1):  # the last that differs is named
        m, n = longer[d], shorter[d - lead]
        if m != n and m != 1 and n != 1:
            of_a, of_b = (m, n) if longer is a else (n, m)
            raise RuntimeError(
                f"The size of tensor a ({of_a}) must match the size of tensor b ({of_b}) at "
                f"non-singleton dimension {d} (shapes {list(a)} and {list(b)})"
            )
        shape[d] = n if m == 1 else m
    return tuple(shape)


def broadcast_stride(array: Any, shape: Sequence[int], dim: int) -> int:
    """The array's stride along a dim of a shape that it broadcasts to: 0 repeats one element."""
    own = dim - (len(shape) - array.ndim)
    if own < 0 or (array.shape[own] == 1 and shape[dim] != 1):
        return 0
    return array.strides[own]


def stride_order(shape: Sequence[int], arrays: Sequence[Any]) -> list[int]:
    """The dims of `shape`, fastest first, as the arrays' memory has them.

    The first array decides between two dims; a stride of 0 says nothing and leaves it to the next;
    of equal strides the larger dim goes outside; what is still tied keeps its position. That is no
    strict order, so the sort that PyTorch uses, by insertion, is part of the rule.
    """
    order = list(range(len(shape) - 1, -1, -1))

    def compare(a: int, b: int) -> int:
        for array in arrays:
            of_a, of_b = broadcast_stride(array, shape, a), broadcast_stride(array, shape, b)
            if of_a == 0 or of_b == 0:
                continue
            if of_a != of_b:
                return -1 if of_a < of_b else 1
            if shape[a] > shape[b]:
                return 1
        return 0

    for i in range(1, len(order)):
        current = i
        for j in range(i - 1, -1, -1):
            answer = compare(order[j], order[current])
            if answer > 0:
                order[j], order[current] = order[current], order[j]
                current = j
            elif answer < 0:
                break
    return order


def result_strides(shape: Sequence[int], arrays: Sequence[Any], numbers: int) -> tuple[int, ...]:
    """The strides of an elementwise result: it keeps the order in memory of its operands.

    All contiguous: contiguous. All channels last: channels last. All dense, with equal strides:
    those. Else the dims are sorted by stride and packed. A number among the operands counts as an
    array of another shape.
    """
    same_shape = numbers == 0 and all(x.shape == shape for x in arrays)
    if (same_shape or len(arrays) == 1) and all(x.is_contiguous() for x in arrays):
        return contiguous_strides(shape)
    channels_last = (1, 3, 2, 0)
    if same_shape and len(shape) == 4 and all(fills_block(x, channels_last) for x in arrays):
        return packed_strides(shape, channels_last, 0)
    same_strides = all(x.strides == arrays[0].strides for x in arrays)
    if same_shape and same_strides and arrays[0].is_dense():
        return arrays[0].strides
    order = stride_order(shape, arrays)
    return packed_strides(shape, order, 1 if order == list(range(len(shape) - 1, -1, -1)) else 0)


def fills_block(array: Any, order: Sequence[int]) -> bool:
    """Whether the elements fill one block without gaps, with dims nested in `order`.

    A dim of size 1 is never stepped over: its stride may be anything.
    """
    step = 1
    for dim in order:
        if array.shape[dim] != 1 and array.strides[dim] != step:
            return False
        step *= array.shape[dim]
    return True


def like_strides(array: Any) -> tuple[int, ...]:
    """The strides of a clone: a dense array's own, else sorted and packed."""
    if array.is_dense():
        return array.strides
    return packed_strides(array.shape, stride_order(array.shape, [array]))


def view_strides(
    old: Sequence[int], old_strides: Sequence[int], shape: Sequence[int]
) -> tuple[int, ...] | None:
    """The strides under which `shape` shows the elements of `old` in the same order, if any.

    Old dims lie in one piece, a run, where each stride is the next one's size * stride: along a
    run, elements are one step apart. Whole new dims must cut up each run, from the last one on.
    """
    if 0 in old:
        return tuple(old_strides) if tuple(old) == tuple(shape) else contiguous_strides(shape)
    strides = [1] * len(shape)
    to = len(shape) - 1
    step = old_strides[-1] if old else 1  # of the run
    run = made = 1  # elements in the run, and in the new dims that were cut from it
    for d in range(len(old) - 1, -1, -1):
        run *= old[d]
        if d > 0 and (old[d - 1] == 1 or old_strides[d - 1] == run * step):
            continue  # the run goes on
        while to >= 0 and (made < run or shape[to] == 1):
            strides[to] = made * step
            made *= shape[to]
            to -= 1
        if made != run:
            return None
        if d > 0:
            step = old_strides[d - 1]
            run = made = 1
    for d in range(to, -1, -1):  # old was 0-d
        strides[d] = step
    return tuple(strides)


def stride_of_step(stride: int, step: int, size: int) -> int:
    """The stride of every `step`th element, of which there are `size`.

    One that is never followed stays as it was if it would be huge: integers of C++ overflow.
    """
    return stride if size <= 1 and stride * step >= 2**40 else stride * step


def infer_shape(shape: Sequence[int], numel: int) -> tuple[int, ...]:
    """Replaces one size of -1 by what makes `numel` elements."""
    if shape.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    for i, n in enumerate(shape):
        if n < -1:
            raise RuntimeError(f"invalid shape dimension {n} at index {i} of shape {list(shape)}")
    known = math.prod(n for n in shape if n != -1)
    if -1 in shape and known == 0 and numel == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified "
            "dimension size -1 can be any value and is ambiguous"
        )
    if -1 in shape and known != 0 and numel % known == 0:
        return tuple(numel // known if n == -1 else n for n in shape)
    if -1 in shape or known != numel:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
    return tuple(shape)


def expand_layout(
    own: Sequence[int], own_strides: Sequence[int], wanted: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and strides of an array that is broadcast to the wanted sizes; -1 keeps a size."""
    lead = len(wanted) - len(own)
    call = f"expand({list(own)}, size={list(wanted)})"
    if lead < 0:
        raise RuntimeError(
            f"{call}: the number of sizes provided ({len(wanted)}) must be greater or equal to the "
            f"number of dimensions in the tensor ({len(own)})"
        )
    sizes, strides = list(wanted), [0] * lead + list(own_strides)
    for d, n in reversed(list(enumerate(wanted))):
        if d < lead and n == -1:
            raise RuntimeError(
                f"{call}: The expanded size of the tensor (-1) isn't allowed in a leading, "
                f"non-existing dimension {d}"
            )
        size = 1 if d < lead else own[d - lead]
        sizes[d] = size if n == -1 else n
        if sizes[d] < 0:
            raise RuntimeError(f"{call}: negative size {sizes[d]}")
        if sizes[d] == size:
            continue
        if size != 1:
            raise RuntimeError(
                f"The expanded size of the tensor ({sizes[d]}) must match the existing size "
                f"({size}) at non-singleton dimension {d}.  Target sizes: {list(wanted)}.  Tensor "
                f"sizes: {list(own)}"
            )
        strides[d] = 0
    for d in range(lead - 1, -1, -1):
        if sizes[d] == 1 and own:
            strides[d] = sizes[d + 1] * strides[d + 1]
    checked_numel(sizes, "expand")
    return tuple(sizes), tuple(strides)


def check_inside(
    shape: Sequence[int], strides: Sequence[int], offset: int, dtype: Any, capacity: int
) -> None:
    """Raises RuntimeError where an element would lie outside a buffer of `capacity` elements."""
    numel = checked_numel(shape, "as_strided")
    if len(shape) != len(strides):
        raise RuntimeError(
            "[as_strided] mismatch in length of strides and shape: "
            f"{list(strides)} and {list(shape)}"
        )
    if offset < 0:
        raise RuntimeError(f"[as_strided] negative storage offset {offset}")
    if any(step < 0 for step in strides):
        raise RuntimeError(
            "as_strided: Negative strides are not supported at the moment, got strides: "
            f"{list(strides)}"
        )
    pairs = list(zip(shape, strides, strict=True))
    last = offset + sum((n - 1) * step for n, step in pairs)
    bound = offset + sum(max(n, 1) * step for n, step in pairs)
    if bound * dtype.itemsize > LARGEST or (numel > 0 and last >= capacity):
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, strides {list(strides)}, storage offset {offset} "
            f"are out of bounds for storage of size {capacity * dtype.itemsize} bytes ({capacity} "
            f"elements of {dtype.name})"
        )


def without(values: Sequence[int], dim: int) -> tuple[int, ...]:
    return (*values[:dim], *values[dim + 1 :])


def replace(values: Sequence[int], dim: int, value: int) -> tuple[int, ...]:
    return (*values[:dim], value, *values[dim + 1 :])
