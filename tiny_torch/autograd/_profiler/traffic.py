"""How many bytes a recorded op moves at least: each input read once, each result written once.

As flops.py, from the shapes and dtypes of the inputs, by one table. Caches may keep a part away
from memory, and a kernel may need several passes. An op that is not here tells nothing: views move
nothing, and what indices reach is not known from shapes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tiny_torch.autograd._profiler.flops import (
    ATTENTION,
    counted,
    is_tensor,
    result_of_convolution,
    shape,
)

# An op's arguments as recorded: (shape, dtype) of a tensor, another value as it is.


def width(x: Any) -> int:
    """Bytes of an element."""
    return x[1].itemsize if is_tensor(x) else 0


def size(*arguments: Any) -> int:
    """The bytes of all tensors."""
    return sum(math.prod(shape(x)) * width(x) for x in arguments if is_tensor(x))


def elementwise(*operands: Any) -> int:
    """All are read, their broadcast shape is written in the widest dtype."""
    result = math.prod(np.broadcast_shapes(*map(shape, operands)))
    return size(*operands) + result * max(map(width, operands))


def elementwise_backward(wanted: int, *operands: Any) -> int:
    """The gradient is read, and per operand that wants one, another array; its own is written."""
    arrays = sum(map(is_tensor, operands))
    result = elementwise(*operands) - size(*operands)
    return result * (1 + (2 if arrays > 1 or len(operands) == 1 else 1) * wanted)


def cast(x: Any, dtype: Any) -> int:
    return size(x) + math.prod(shape(x)) * dtype.itemsize


def twice(*arguments: Any) -> int:
    """All are read, as much is written: copies, softmax, norms, scans."""
    return 2 * size(*arguments)


def first_twice(x: Any, *rest: Any) -> int:
    return twice(x) + size(*rest)


def three_times(wanted: int, x: Any, *rest: Any) -> int:
    """The gradient and x (or y) are read, x's gradient is written."""
    return 3 * size(x)


def of_parts(wanted: int, *parts: Any) -> int:
    """A gradient is read and its parts are written."""
    return twice(*parts)


def product(x: Any, y: Any, *rest: Any) -> int:
    """(..., m, k) @ (..., k, n); either may be a vector."""
    a, b = shape(x), shape(y)
    if not a or not b:
        return 0
    batch = np.broadcast_shapes(a[:-2], b[:-2])
    sides = (a[-2] if len(a) > 1 else 1) * (b[-1] if len(b) > 1 else 1)
    return size(x, y, *rest) + math.prod(batch) * sides * width(x)


def of_sum(total: Any, x: Any, y: Any, *rest: Any) -> int:
    return product(x, y, total)


def linear(x: Any, weight: Any, bias: Any) -> int:
    """(..., k) with a weight of (n, k)."""
    rows = math.prod(shape(x)[:-1])
    return size(x, weight, bias) + rows * math.prod(shape(weight)[:-1]) * width(x)


def convolution(x: Any, weight: Any, bias: Any, settings: Any, *rest: Any) -> int:
    result = math.prod(result_of_convolution(x, weight, settings))
    return size(x, weight, bias) + result * width(x)


def attention(q: Any, k: Any, v: Any, mask: Any, *rest: Any) -> int:
    """(..., t, d) of q, (..., s, e) of v: a result of (..., t, e)."""
    return size(q, k, v, mask) + math.prod(shape(q)[:-1]) * shape(v)[-1] * width(q)


def attention_backward(wanted: int, *arguments: Any) -> int:
    """q, k, v, the result and its gradient are read, three gradients are written."""
    return 2 * attention(*arguments)


def for_each_factor(forward: Callable[..., int]) -> Callable[..., int]:
    """A product's backward: for each factor a product of the others."""
    return lambda wanted, *arguments: wanted * forward(*arguments)


def pool(x: Any, sizes: tuple[int, ...], windows: Any) -> int:
    """(..., *sizes of x) to the given sizes."""
    return size(x) + math.prod((*shape(x)[: -len(sizes)], *sizes)) * width(x)


def pool_backward(wanted: int, *arguments: Any) -> int:
    return pool(*arguments)


def loss_backward(wanted: int, x: Any, *rest: Any) -> int:
    """x is read, its gradient is written."""
    return twice(x)


def embedding(table: Any, index: Any, *rest: Any) -> int:
    """The rows that the index names are read and written."""
    return size(index) + 2 * math.prod(shape(index)) * shape(table)[-1] * width(table)


def embedding_backward(wanted: int, table: Any, index: Any, *rest: Any) -> int:
    """The rows' gradients are read, the whole table's is written."""
    return embedding(table, index) // 2 + size(table)


Formula = Callable[..., int]
# {op: of its forward, given the arguments; of its backward, given how many inputs want their
# gradient, and the arguments of the forward}
LINES = first_twice, three_times
FORMULAS: dict[str, tuple[Formula, Formula | None]] = {
    "Matmul": (product, for_each_factor(product)),
    "Mm": (product, for_each_factor(product)),
    "Bmm": (product, for_each_factor(product)),
    "Addmm": (of_sum, for_each_factor(of_sum)),
    "Baddbmm": (of_sum, for_each_factor(of_sum)),
    "Linear": (linear, for_each_factor(linear)),
    "Convolution": (convolution, for_each_factor(convolution)),
    ATTENTION: (attention, attention_backward),
    "Softmax": LINES,
    "LogSoftmax": LINES,
    "NativeLayerNorm": LINES,
    "RmsNorm": LINES,
    "NativeBatchNorm": LINES,
    "NativeGroupNorm": LINES,
    "Cumsum": (first_twice, None),
    "CrossEntropy": (size, loss_backward),
    "NllLoss": (size, loss_backward),
    "MseLoss": (size, loss_backward),
    "Sum": (size, None),
    "Mean": (size, None),
    "MaxPool": (pool, pool_backward),
    "AvgPool": (pool, pool_backward),
    "AdaptiveAvgPool": (pool, pool_backward),
    "Embedding": (embedding, embedding_backward),
    "Cast": (cast, None),
    "ToCopy": (cast, None),
    "ToInteger": (cast, None),
    "Clone": (twice, None),
    "Arranged": (first_twice, None),
    "Reshape": (first_twice, None),
    "Cat": (twice, of_parts),
    "Stack": (twice, of_parts),
    "Fill": (size, None),
    "Zero": (size, None),
    # that pass the gradient on as it is
    "Add": (elementwise, None),
    "Sub": (elementwise, None),
    "Glu": (size, None),
}
ELEMENTWISE = "tiny_torch.ops.elementwise.", "tiny_torch.ops.nn.activation"


def formulas_of(op: Any) -> tuple[Formula | None, Formula | None]:
    found = FORMULAS.get(getattr(op, "__name__", ""))
    if found is not None:
        return found
    is_elementwise = getattr(op, "__module__", "").startswith(ELEMENTWISE)
    return (elementwise, elementwise_backward) if is_elementwise else (None, None)


def bytes_of(op: Any, arguments: Any) -> int:
    """Bytes that an op moves; 0 where no formula is known."""
    formula, _ = formulas_of(op)
    return counted(formula, *arguments) if formula and arguments else 0


def bytes_of_backward(op: Any, arguments: Any, wanted: int) -> int:
    """Bytes that its backward moves for so many wanted gradients; 0 without a formula."""
    _, formula = formulas_of(op)
    return counted(formula, wanted, *arguments) if formula and arguments else 0
