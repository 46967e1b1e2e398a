"""How many floating point operations a recorded op takes: PyTorch's formulas, as one table.

A multiplication and an addition count as two. A bias, activations and sums count as none, as in
PyTorch's profiler. In backward, products and attention count; PyTorch's profiler counts matrix
products alone there (events.py).
https://pytorch.org/docs/stable/profiler.html (with_flops)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tiny_torch.autograd.record import PRODUCTS

# An op's arguments as recorded: (shape, dtype) of a tensor, another value as it is.


def is_tensor(argument: Any) -> bool:
    return isinstance(argument, tuple) and len(argument) == 2 and isinstance(argument[0], tuple)


def shape(argument: Any) -> tuple[int, ...]:
    return argument[0] if is_tensor(argument) else ()


def product(x: Any, y: Any) -> int:
    """(..., m, k) @ (..., k, n); either may be a vector."""
    a, b = shape(x), shape(y)
    if not a or not b:
        return 0
    a, b = (1, *a) if len(a) == 1 else a, (*b, 1) if len(b) == 1 else b
    return 2 * math.prod(np.broadcast_shapes(a[:-2], b[:-2])) * a[-2] * a[-1] * b[-1]


def of_sum(total: Any, x: Any, y: Any, *rest: Any) -> int:
    return product(x, y)


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
    return next((math.prod(shape(x)) for x in operands if is_tensor(x)), 0)


ATTENTION = "ScaledDotProductFlashAttentionForCpu"
FORMULAS: dict[str, Callable[..., int]] = {
    "Matmul": product,
    "Mm": product,
    "Bmm": product,
    "Addmm": of_sum,
    "Baddbmm": of_sum,
    "Linear": linear,
    "Convolution": convolution,
    "ConvolutionTranspose": transposed_convolution,
    ATTENTION: attention,
    "Add": per_element,
    "Mul": per_element,
}


def counted(formula: Callable[..., int], *arguments: Any) -> int:
    """What a formula answers; 0 for arguments that the op has refused, too."""
    try:
        return formula(*arguments)
    except (IndexError, TypeError, ValueError):
        return 0


def flops_of(op: Any, arguments: Any) -> int:
    """0 where no formula is known."""
    formula = FORMULAS.get(getattr(op, "__name__", ""))
    return counted(formula, *arguments) if formula and arguments else 0


def flops_of_backward(op: Any, arguments: Any, wanted: int) -> int:
    """Those of a product for each of the `wanted` factors; 5 products for attention's 2."""
    name = getattr(op, "__name__", "")
    if name == ATTENTION:  # the scores once more, then those of v, the scores, q and k
        return flops_of(op, arguments) * 5 // 2
    return flops_of(op, arguments) * wanted if name in PRODUCTS else 0
