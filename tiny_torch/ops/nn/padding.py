"""Padding: with a constant, where the gradient cuts off what was put on, or with elements of the
input, where it adds what was made of an element.
"""

from __future__ import annotations

from tiny_torch.autograd.graph import Op, run
from tiny_torch.base.devices import array_module
from tiny_torch.base.layouts import ORDERS, suggested_format


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


REFLECT, REPLICATE, CIRCULAR = range(3)


class PadFromInput(Op):
    """x (N, C, *) or (C, *) extended by one of these; `plan` is (firsts, sizes, starts, lengths) of
    the spatial dims: the first element that is repeated, how many are, where the result begins
    counted from the first, how long it is. `last`: the result's channels come last."""

    once = True
    piecewise = True

    @staticmethod
    def forward(x, mode, plan, last):
        module = array_module(x.device)
        if not hasattr(module, "extend"):
            raise NotImplementedError(f"[pad] is not implemented on {x.device}")
        sizes = x.shape[-len(plan[0]) :]
        return module.extend(x, mode, sizes, *plan, False, last), (mode, sizes, plan, last)

    @staticmethod
    def backward(saved, grad, needs):
        return run(PadFromInputTransposed, grad, *saved)

    @staticmethod
    def node_name(saved, node):
        kind, plan, _ = node.constants
        name = ("ReflectionPad", "ReplicationPad", None)[kind]
        return f"{name}{len(plan[0])}DBackward0" if name else "torch::autograd::CopySlices"

    @staticmethod
    def autocast(x, mode, plan, last):
        listed = mode == REPLICATE or (mode == REFLECT and len(plan[0]) < 3)
        return "float32 on cpu" if listed else ""


class PadCircular(PadFromInput):
    """In PyTorch it is made of views and copies."""

    piecewise = False


PadCircular.__name__ = "PadFromInput"


class PadFromInputTransposed(Op):
    """The gradient of y -> that of x, of sizes `sizes`."""

    @staticmethod
    def forward(grad, mode, sizes, plan, last):
        x = array_module(grad.device).extend(grad, mode, sizes, *plan, True, last)
        return x, (mode, plan, last)

    @staticmethod
    def backward(saved, grad, needs):
        return run(PadFromInput, grad, *saved)
