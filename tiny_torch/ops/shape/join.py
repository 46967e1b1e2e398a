"""Joining tensors: cat and stack."""

from __future__ import annotations

from typing import Any

from tiny_torch.autograd.graph import Op, run
from tiny_torch.base.devices import array_module
from tiny_torch.base.size import Size
from tiny_torch.ops.elementwise.cast import Cast
from tiny_torch.ops.shape.views import Part


class Cat(Op):
    cost = "join"
    autocast = "widest on cpu"

    @staticmethod
    def forward(*arguments, out=None):
        *arrays, dim = arguments
        result = array_module(arrays[0].device).cat(arrays, dim, out)
        return result, (dim, [(x.shape, x.dtype) for x in arrays])

    @staticmethod
    def backward(saved, grad, needs):
        dim, origins = saved
        grads = []
        start = 0
        for (shape, dtype), need in zip(origins, needs, strict=True):
            part = None
            if len(shape) == grad.ndim:  # else a 1-d empty array, beside others of more dims
                size = shape[dim]
                if need:
                    part = run(Part, grad, (("slice", (dim, start, start + size, 1)),))
                start += size
            grads.append(part if part is None or part.dtype is dtype else run(Cast, part, dtype))
        return tuple(grads)


class Stack(Op):
    cost = "join"
    autocast = "widest on cpu"

    @staticmethod
    def forward(*arguments, out=None):
        *arrays, dim = arguments
        result = array_module(arrays[0].device).stack(arrays, dim, out)
        return result, (dim, [x.dtype for x in arrays])

    @staticmethod
    def backward(saved, grad, needs):
        dim, dtypes = saved
        grads = []
        for i, (dtype, need) in enumerate(zip(dtypes, needs, strict=True)):
            part = run(Part, grad, (("select", (dim, i)),)) if need else None
            grads.append(part if part is None or part.dtype is dtype else run(Cast, part, dtype))
        return tuple(grads)


def broadcast_shapes(*shapes: Any) -> Any:
    """The shape that all shapes broadcast to; an int is a shape of one dim.

    Raises RuntimeError where there is none, ValueError for a negative size.
    https://pytorch.org/docs/stable/generated/torch.broadcast_shapes.html

    >>> import tiny_torch as torch
    >>> torch.broadcast_shapes((2, 1), (3,))
    torch.Size([2, 3])
    """
    shapes = tuple([(shape,) if isinstance(shape, int) else shape for shape in shapes])
    ndim = max([len(shape) for shape in shapes], default=0)
    result = [1] * ndim
    for shape in shapes:
        if min(shape, default=0) < 0:
            raise ValueError(f"Attempting to broadcast a dimension of size {min(shape)}")
        for i, size in reversed(list(enumerate(shape, ndim - len(shape)))):  # the last is named
            if size != 1 and result[i] not in (1, size):
                raise RuntimeError(
                    f"The size of tensor a ({result[i]}) must match the size of tensor b ({size}) "
                    f"at non-singleton dimension {i} (shapes {list(map(tuple, shapes))})"
                )
            result[i] = size if result[i] == 1 else result[i]
    return Size(result)
