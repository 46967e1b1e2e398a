"""How much work a recorded op is: floating point operations, and bytes that it moves at least.

An op says its kind (`cost`); COSTS has the formulas of each kind. An op without one tells nothing:
views move nothing, and what indices reach is not known from shapes.
Operations: a multiplication and an addition count as two. A bias, activations and sums count as
none, as in PyTorch's profiler. In backward, products and attention count; PyTorch's profiler counts
matrix products alone there (events.py).
Bytes: each input is read once, each result is written once. Caches may keep a part away from
memory, and a kernel may need several passes.
https://pytorch.org/docs/stable/profiler.html (with_flops)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

# An op's arguments as recorded: (shape, dtype) of a tensor, another value as it is.


def is_tensor_argument(argument: Any) -> bool:
    return isinstance(argument, tuple) and len(argument) == 2 and isinstance(argument[0], tuple)


def shape(argument: Any) -> tuple[int, ...]:
    return argument[0] if is_tensor_argument(argument) else ()


def width(x: Any) -> int:
    """Bytes of an element."""
    return x[1].itemsize if is_tensor_argument(x) else 0


def size(*arguments: Any) -> int:
    """The bytes of all tensors."""
    return sum(math.prod(shape(x)) * width(x) for x in arguments if is_tensor_argument(x))


# ---- operations ---------------------------------------------------------------------------------


def product(x: Any, y: Any) -> int:
    """(..., m, k) @ (..., k, n); either may be a vector."""
    k = shape(x)[-1] if shape(x) else 0
    return 2 * math.prod(product_shape(x, y)) * k


def product_shape(x: Any, y: Any) -> tuple[int, ...]:
    """That of the result of (..., m, k) @ (..., k, n); (0,) where there is none."""
    a, b = shape(x), shape(y)
    if not a or not b:
        return (0,)
    return *np.broadcast_shapes(a[:-2], b[:-2]), *a[-2:-1], *(b[-1:] if len(b) > 1 else ())


def linear(x: Any, weight: Any, *rest: Any) -> int:
    """(..., k) with a weight of (n, k)."""
    return 2 * math.prod(shape(x)) * (shape(weight)[0] if len(shape(weight)) > 1 else 1)


def convolution(x: Any, weight: Any, bias: Any, settings: Any, *rest: Any) -> int:
    """Per pixel of the result and channel of it: its taps in the channels of its group."""
    return 2 * math.prod(result_of_convolution(x, weight, settings)) * math.prod(shape(weight)[1:])


def result_of_convolution(x: Any, weight: Any, settings: Any) -> tuple[int, ...]:
    """(N, channels of the result, *pixels)."""
    stride, padding, dilation, _ = settings
    pixels = [
        (size + 2 * pad - far * (tap - 1) - 1) // step + 1
        for size, tap, step, pad, far in zip(
            shape(x)[2:], shape(weight)[2:], stride, padding, dilation, strict=True
        )
    ]
    return shape(x)[0], shape(weight)[0], *pixels


def transposed_convolution(x: Any, weight: Any, *rest: Any) -> int:
    """Per pixel of the source and channel of it: its taps in the channels of the result."""
    return 2 * math.prod(shape(x)) * math.prod(shape(weight)[1:])


def attention(q: Any, k: Any, v: Any, *rest: Any) -> int:
    """(..., t, d) of q, (..., s, d) of k, (..., s, e) of v: q @ k.T, and that @ v."""
    return 2 * math.prod(shape(q)[:-1]) * shape(k)[-2] * (shape(q)[-1] + shape(v)[-1])


def per_element(*operands: Any) -> int:
    """Those of the first tensor, as PyTorch counts them: broadcasting adds none."""
    return next((math.prod(shape(x)) for x in operands if is_tensor_argument(x)), 0)


# ---- bytes --------------------------------------------------------------------------------------


def elementwise(*operands: Any) -> int:
    """All are read, their broadcast shape is written in the widest dtype."""
    result = math.prod(np.broadcast_shapes(*map(shape, operands)))
    return size(*operands) + result * max(map(width, operands))


def elementwise_backward(wanted: int, *operands: Any) -> int:
    """The gradient is read, and per operand that wants one, another array; its own is written."""
    arrays = sum(map(is_tensor_argument, operands))
    result = elementwise(*operands) - size(*operands)
    return result * (1 + (2 if arrays > 1 or len(operands) == 1 else 1) * wanted)


def cast(x: Any, dtype: Any) -> int:
    return size(x) + math.prod(shape(x)) * dtype.itemsize


def twice(*arguments: Any) -> int:
    """All are read, as much is written."""
    return 2 * size(*arguments)


def first_twice(x: Any, *rest: Any) -> int:
    return twice(x) + size(*rest)


def three_times(wanted: int, x: Any, *rest: Any) -> int:
    """The gradient and x (or y) are read, x's gradient is written."""
    return 3 * size(x)


def product_bytes(x: Any, y: Any, *rest: Any) -> int:
    return size(x, y, *rest) + math.prod(product_shape(x, y)) * width(x)


def linear_bytes(x: Any, weight: Any, bias: Any) -> int:
    rows = math.prod(shape(x)[:-1])
    return size(x, weight, bias) + rows * math.prod(shape(weight)[:-1]) * width(x)


def convolution_bytes(x: Any, weight: Any, bias: Any, settings: Any, *rest: Any) -> int:
    result = math.prod(result_of_convolution(x, weight, settings))
    return size(x, weight, bias) + result * width(x)


def attention_bytes(q: Any, k: Any, v: Any, mask: Any, *rest: Any) -> int:
    """(..., t, d) of q, (..., s, e) of v: a result of (..., t, e)."""
    return size(q, k, v, mask) + math.prod(shape(q)[:-1]) * shape(v)[-1] * width(q)


def pool(x: Any, sizes: tuple[int, ...], windows: Any) -> int:
    """(..., *sizes of x) to the given sizes."""
    return size(x) + math.prod((*shape(x)[: -len(sizes)], *sizes)) * width(x)


def embedding(table: Any, index: Any, *rest: Any) -> int:
    """The rows that the index names are read and written."""
    return size(index) + 2 * math.prod(shape(index)) * shape(table)[-1] * width(table)


def embedding_backward(wanted: int, table: Any, index: Any, *rest: Any) -> int:
    """The rows' gradients are read, the whole table's is written."""
    return embedding(table, index) // 2 + size(table)


# ---- kinds --------------------------------------------------------------------------------------

Formula = Callable[..., int]


class Cost(NamedTuple):
    """Formulas of the arguments; in backward of how many inputs want their gradient, and those."""

    flops: Formula | None = None
    bytes: Formula | None = None
    bytes_backward: Formula | None = None
    flops_backward: Formula | None = None


def of_product(flops: Formula, bytes: Formula | None = None) -> Cost:
    """In backward, for each factor that wants its gradient, a product of the others."""

    def each(formula: Formula) -> Formula:
        return lambda wanted, *arguments: wanted * formula(*arguments)

    return Cost(flops, bytes, each(bytes) if bytes else None, each(flops))


COSTS = {
    "product": of_product(product, product_bytes),
    "sum of a product": of_product(
        lambda total, x, y, *rest: product(x, y), lambda total, x, y, *_: product_bytes(x, y, total)
    ),
    "linear": of_product(linear, linear_bytes),
    "convolution": of_product(convolution, convolution_bytes),
    "transposed convolution": of_product(transposed_convolution),
    # Backward: q, k, v, the result and its gradient are read, three gradients written; the scores
    # are computed once more, then the gradients of v, the scores, q and k: 5 products for 2.
    "attention": Cost(
        attention,
        attention_bytes,
        lambda wanted, *arguments: 2 * attention_bytes(*arguments),
        lambda wanted, *arguments: attention(*arguments) * 5 // 2,
    ),
    "elementwise": Cost(None, elementwise, elementwise_backward),
    "multiplication": Cost(per_element, elementwise, elementwise_backward),
    "sum": Cost(per_element, elementwise),  # whose gradient is passed on as it is
    "difference": Cost(None, elementwise),
    "lines": Cost(None, first_twice, three_times),  # softmax, norms
    "loss": Cost(None, size, lambda wanted, x, *rest: twice(x)),
    "read or write": Cost(None, size),
    "pool": Cost(None, pool, lambda wanted, *arguments: pool(*arguments)),
    "embedding": Cost(None, embedding, embedding_backward),
    "cast": Cost(None, cast),
    "copy": Cost(None, twice),  # scans, too
    "join": Cost(None, twice, lambda wanted, *parts: twice(*parts)),
}


def count(op: Any, field: str, arguments: Any, *wanted: int) -> int:
    """What a formula answers; 0 where none is known, and for arguments that the op has refused."""
    cost = COSTS.get(op.cost) if isinstance(op, type) else None  # type: ignore[attr-defined]
    formula = getattr(cost, field, None)
    if not formula or not arguments:
        return 0
    try:
        return formula(*wanted, *arguments)
    except (IndexError, TypeError, ValueError):
        return 0


def flops_of(op: Any, arguments: Any) -> int:
    return count(op, "flops", arguments)


def flops_of_backward(op: Any, arguments: Any, wanted: int) -> int:
    return count(op, "flops_backward", arguments, wanted)


def bytes_of(op: Any, arguments: Any) -> int:
    return count(op, "bytes", arguments)


def bytes_of_backward(op: Any, arguments: Any, wanted: int) -> int:
    return count(op, "bytes_backward", arguments, wanted)
