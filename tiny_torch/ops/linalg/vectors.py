"""The cross product."""

from __future__ import annotations

from tiny_torch.autograd.graph import Op, run


class LinalgCross(Op):
    """The cross product along a dim of size 3."""

    arity = 2
    broadcasts = True
    saves = (0, 1)
    used_by = ((1,), (0,))
    autocast = "widest on cuda"

    @staticmethod
    def forward(x, y, dim):
        return x.cross(y, dim), (x, y, dim)

    @staticmethod
    def backward(saved, grad, needs):
        x, y, dim = saved
        to_x = run(LinalgCross, y, grad, dim) if needs[0] else None
        return to_x, run(LinalgCross, grad, x, dim) if needs[1] else None

    @staticmethod
    def composite(x, y, dim):
        return x.roll(-1, dim) * y.roll(-2, dim) - x.roll(-2, dim) * y.roll(-1, dim)
