"""Copies that rearrange: repeat, flip, roll, triangles and diagonals."""

from __future__ import annotations

from tiny_torch import _core
from tiny_torch.autograd.graph import Op, run
from tiny_torch.base.devices import array_module
from tiny_torch.ops.common import write_into
from tiny_torch.ops.index.brackets import fill_where, is_expanded
from tiny_torch.ops.shape.views import zeros_of


class Repeat(Op):
    """Each dim n of x, seen as (1, n), is expanded to (repeats, n) and copied."""

    @staticmethod
    def forward(x, repeats):
        shape = (1,) * (len(repeats) - x.ndim) + x.shape
        pairs = tuple([n for size in shape for n in (1, size)])
        spread = tuple([n for pair in zip(repeats, shape, strict=True) for n in pair])
        result = tuple([r * n for r, n in zip(repeats, shape, strict=True)])
        copy = x.reshape(pairs).expand(spread).clone() if spread else x.clone()
        return copy.reshape(result).contiguous(), (x.shape, spread)

    @staticmethod
    def backward(saved, grad, needs):
        shape, spread = saved
        if not spread:
            return grad
        return grad.reshape(spread).sum(tuple(range(0, len(spread), 2))).reshape(shape)


class Flip(Op):
    words = "dims:dims"

    @staticmethod
    def forward(x, dims):
        return x.flip(dims), (dims,)

    @staticmethod
    def backward(saved, grad, needs):
        return run(Flip, grad, saved[0])


class Roll(Op):
    words = "dims:dims"

    @staticmethod
    def forward(x, shifts, dims):
        return x.roll(shifts, dims), (shifts, dims)

    @staticmethod
    def backward(saved, grad, needs):
        shifts, dims = saved
        return run(Roll, grad, tuple([-shift for shift in shifts]), dims)


def triangle(x, diagonal, lower, out):
    if out is None or not is_expanded(out) or not out.overlaps(x):
        return write_into(x.triangle(diagonal, lower, out), out)
    everything = array_module(x.device).full(x.shape[-2:], True, _core.bool)
    other = everything.triangle(diagonal + (1 if lower else -1), not lower)
    fill_where(out, other, 0)
    return out


class Tril(Op):
    """Zeros right of a diagonal; its own transpose."""

    @staticmethod
    def forward(x, diagonal, out=None):
        return triangle(x, diagonal, True, out), (diagonal,)

    @classmethod
    def backward(cls, saved, grad, needs):
        return run(cls, grad, saved[0])


class Triu(Tril):
    """Zeros left of a diagonal; its own transpose."""

    @staticmethod
    def forward(x, diagonal, out=None):
        return triangle(x, diagonal, False, out), (diagonal,)


class DiagEmbed(Op):
    """Zeros, with x's last dim on the diagonal of two new dims."""

    @staticmethod
    def forward(x, offset, dim1, dim2):
        side = x.shape[-1] + abs(offset)
        shape = list(x.shape[:-1])
        for dim in sorted((dim1, dim2)):
            shape.insert(dim, side)
        result = zeros_of(x, tuple(shape))
        result.diagonal(offset, dim1, dim2).copy_(x)
        return result, (offset, dim1, dim2)

    @staticmethod
    def backward(saved, grad, needs):
        return grad.diagonal(*saved)
