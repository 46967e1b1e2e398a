"""The ops behind pooling: the largest or the mean of every window, in one to three dims.

`windows` is (kernel, stride, padding, dilation) with a number per dim; without a kernel pooling is
adaptive. `last` says whether channels come last in memory.
"""

from __future__ import annotations

from typing import Any

from tiny_torch.autograd.graph import Op, run
from tiny_torch.base.devices import array_module


def kernels(x, dims: int, keeps_last: bool = True) -> tuple:
    """The module with the kernels, and whether the result's channels come last: if x's do."""
    module = array_module(x.device)
    if not hasattr(module, "max_pool"):
        raise NotImplementedError(f"[pool] is not implemented on {x.device}")
    return module, keeps_last and x.ndim == dims + 2 and module.looks_channels_last(x)


def by_sizes(kind: str, suffix: str = "") -> Any:
    """`node_name`; PyTorch adds a dim of size 1 to a single one, and takes it away."""

    def node_name(saved, node):
        size, settings = node.constants
        if len(size) == 1:
            return "SqueezeBackward1"
        if not settings[0]:
            return f"Adaptive{kind}Pool{len(size)}DBackward0"
        return f"{kind}Pool{len(size)}D{suffix}Backward0"

    return node_name


def of_volumes(x, size, settings):
    return "float32 on cpu" if len(size) == 3 else ""


class MaxPool(Op):
    """x -> y. Kept is which tap of its window each is: a byte, of more than 256 taps int32."""

    piecewise = True
    node_name = by_sizes("Max", "WithIndices")
    aten = "max_pool{second}d"
    words = "windows:kernel_size,stride,padding,dilation"
    cost = "pool"
    autocast = of_volumes

    @staticmethod
    def forward(x, size, windows):
        dims = len(size)
        module, last = kernels(x, dims, dims < 3 or bool(windows[0]))  # as PyTorch has it
        y, where = module.max_pool(x, size, *windows, last)
        return y, (where, x.shape[-dims:], windows, last)

    @staticmethod
    def backward(saved, grad, needs):
        return run(MaxPoolScatter, grad, *saved)


class MaxPoolWithIndices(MaxPool):
    """x -> y, and the position of each in its plane of x."""

    outputs = 2

    @staticmethod
    def forward(x, size, windows):
        y, saved = MaxPool.forward(x, size, windows)
        where, x_size = saved[:2]
        return (y, array_module(x.device).max_pool_indices(where, x_size, *windows)), saved

    @staticmethod
    def backward(saved, grads, needs):
        return run(MaxPoolScatter, grads[0], *saved)


class MaxPoolScatter(Op):
    """The gradient of y -> that of x."""

    arity = 2
    saves = (1,)

    @staticmethod
    def forward(grad, where, size, windows, last):
        x = array_module(grad.device).max_pool_scatter(grad, where, size, *windows, last)
        return x, (where, size, windows, last)

    @staticmethod
    def backward(saved, grad, needs):
        return run(MaxPoolGather, grad, *saved), None


class MaxPoolGather(Op):
    """Elements of x where the windows had their largest."""

    arity = 2
    saves = (1,)

    @staticmethod
    def forward(x, where, size, windows, last):
        y = array_module(x.device).max_pool_gather(x, where, size, *windows, last)
        return y, (where, size, windows, last)

    @staticmethod
    def backward(saved, grad, needs):
        return run(MaxPoolScatter, grad, *saved), None


class AvgPool(Op):
    """x -> y of sizes `size`; `settings` are (kernel, stride, padding, count_padding, divisor)."""

    once = True
    piecewise = True
    node_name = by_sizes("Avg")
    aten = "avg_pool{second}d"
    words = "settings:kernel_size,stride,padding,count_include_pad,divisor_override"
    cost = "pool"
    autocast = of_volumes

    @staticmethod
    def forward(x, size, settings):
        module, last = kernels(x, len(size), len(size) < 3)
        y = module.avg_pool(x, size, *settings, False, last)
        return y, (x.shape[-len(size) :], settings, last)

    @staticmethod
    def backward(saved, grad, needs):
        return run(AvgPoolTransposed, grad, *saved)


class AdaptiveAvgPool(AvgPool):
    """Windows that follow from the sizes."""

    aten = "adaptive_avg_pool{second}d"
    words = ""


class AvgPoolOfAll(AdaptiveAvgPool):
    """To size 1: in PyTorch it is the mean, which saves nothing."""

    once = False
    piecewise = False


AvgPoolOfAll.__name__ = "AdaptiveAvgPool"


class AvgPoolTransposed(Op):
    """The gradient of y -> that of x, of sizes `size`."""

    @staticmethod
    def forward(grad, size, settings, last):
        x = array_module(grad.device).avg_pool(grad, size, *settings, True, last)
        return x, (grad.shape[-len(size) :], settings)

    @staticmethod
    def backward(saved, grad, needs):
        return run(AvgPool, grad, *saved)
