"""The different elements of a tensor, or slices along a dim: unique and unique_consecutive.

NaN equals nothing: each is an element of its own. There is no gradient.
"""

from __future__ import annotations

from typing import Any

from tiny_torch.autograd.graph import Op


class Unique2(Op):
    """(different elements, which of them each element is, how often each occurs).

    The last two are empty where they are not wanted.
    """

    outputs = 3
    aten: Any = "_unique2"
    dynamic_shape = True

    @staticmethod
    def forward(x, consecutive, inverse, counts):
        return tuple(x.unique(consecutive, inverse, counts)), ()

    @classmethod
    def backward(cls, saved, grads, needs):
        raise NotImplementedError(f"the derivative for '{cls.__name__}' is not implemented.")


class UniqueConsecutive(Unique2):
    aten = None


class UniqueDim(Unique2):
    """The same for slices along a dim."""

    aten = None

    @staticmethod
    def forward(x, consecutive, inverse, counts, dim):
        order = (dim, *[d for d in range(x.ndim) if d != dim])
        n = x.shape[dim]
        slices = x.permute(order).contiguous()
        rows = slices.view((n, x.size // n if n else 0))
        firsts, *rest = rows.unique_rows(consecutive, inverse, counts)
        back = tuple([order.index(d) for d in range(x.ndim)])
        return (slices.index((firsts,)).contiguous().permute(back), *rest), ()


class UniqueDimConsecutive(UniqueDim):
    pass
