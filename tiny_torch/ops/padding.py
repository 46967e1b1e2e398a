"""Padding with a constant: one op, whose gradient cuts off what was put on."""

from __future__ import annotations

from tiny_torch.autograd.graph import Op, run
from tiny_torch.layouts import ORDERS, suggested_format


class ConstantPadNd(Op):
    """x in a larger array of `value`; `pad` is (left, right) of the last dim, of the one before...

    Negative numbers cut off. Channels of the result come last if x's do.
    """

    @staticmethod
    def forward(x, pad, value):
        shape, part, places = list(x.shape), x, []
        for i in range(0, len(pad), 2):
            dim = x.ndim - 1 - i // 2
            left, right = pad[i], pad[i + 1]
            first, last = max(-left, 0), shape[dim] - max(-right, 0)
            if first > last:
                raise RuntimeError(
                    f"[pad] ({left}, {right}) cuts off more than the {shape[dim]} elements of dim "
                    f"{dim}"
                )
            part = part.slice(dim, first, last, 1)
            places.append((dim, max(left, 0), max(left, 0) + last - first, 1))
            shape[dim] += left + right
        if max(pad, default=0) <= 0:
            return part.clone(), (pad,)
        order = ORDERS.get(suggested_format(x), range(x.ndim)[::-1])  # innermost dim first
        y = x.new_full([shape[dim] for dim in reversed(order)], value)
        y = y.permute([x.ndim - 1 - order.index(dim) for dim in range(x.ndim)])
        inside = y
        for place in places:
            inside = inside.slice(*place)
        inside.copy_(part)
        return y, (pad,)

    @staticmethod
    def backward(saved, grad, needs):
        return run(ConstantPadNd, grad, tuple([-n for n in saved[0]]), 0.0)
