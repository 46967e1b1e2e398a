"""Taking tensors apart: split, chunk, unbind and their family.

Each is one op with several outputs, all views of the input's memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tiny_torch.autograd.apply import apply_many
from tiny_torch.autograd.graph import Op, run
from tiny_torch.ops.shape.views import Part, Steps, empty, show, zeros_of
from tiny_torch.tensor import Tensor


class Pieces(Op):
    """The next sizes[0], sizes[1], ... positions along a dim, as views; see `several`."""

    @staticmethod
    def forward(x, dim, sizes):
        return x.split(dim, sizes), (x.shape, dim, sizes)

    @staticmethod
    def backward(saved, grad, needs):
        shape, dim, sizes = saved
        return place_parts(grad, shape, slices(dim, sizes))


class Rows(Op):
    """All positions along a dim, which is gone then, as views."""

    @staticmethod
    def forward(x, dim):
        return x.unbind(dim), (x.shape, dim)

    @staticmethod
    def backward(saved, grad, needs):
        shape, dim = saved
        return place_parts(grad, shape, [(("select", (dim, i)),) for i in range(shape[dim])])


def slices(dim: int, sizes: Sequence[int]) -> list[Steps]:
    parts: list[Steps] = []
    start = 0
    for size in sizes:
        parts.append((("slice", (dim, start, start + size, 1)),))
        start += size
    return parts


def place_parts(grad: Any, shape: tuple, parts: list[Steps]) -> Any:
    """The gradients of parts, of which some may be None, where each came from; else zeros."""
    grads = grad if isinstance(grad, tuple) else (grad,)  # an engine's gradient of one output
    given = [(g, steps) for g, steps in zip(grads, parts, strict=True) if g is not None]
    return run_many(PlaceParts, [g for g, _ in given], shape, [steps for _, steps in given])


class PlaceParts(Op):
    """Zeros, with each x where its steps lead: the transpose of Pieces and Rows."""

    @staticmethod
    def forward(*arguments):
        *arrays, shape, parts = arguments
        # Parts do not overlap.
        covered = sum([array.size for array in arrays]) == math.prod(shape)
        result = (empty if covered else zeros_of)(arrays[0], shape)
        for array, steps in zip(arrays, parts, strict=True):
            show(result, steps).copy_(array)
        return result, (parts,)

    @staticmethod
    def backward(saved, grad, needs):
        return tuple([run(Part, grad, steps) for steps in saved[0]])


def run_many(op: type[Op], operands: Sequence, *constants: Any) -> Any:
    """graph.run for an op of any number of inputs."""
    if isinstance(operands[0], Tensor):
        return apply_many(op, operands, *constants)
    return op.forward(*operands, *constants)[0]
