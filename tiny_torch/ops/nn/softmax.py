"""softmax and log_softmax: one kernel forward, one backward.

`composite` is each one's explanation from simple ops, and its way on devices without the kernel.
"""

from __future__ import annotations

from tiny_torch import _core
from tiny_torch.autograd.graph import Op, run
from tiny_torch.base.devices import array_module
from tiny_torch.tensor import Tensor


class Softmax(Op):
    saves = (~0,)
    overwrites = True
    cost = "lines"
    autocast = "float32 on cuda"

    @staticmethod
    def forward(x, dim, out=None):
        y = array_module(x.device).softmax(x, dim, False, out)
        return y, (y, dim)

    @staticmethod
    def backward(saved, grad, needs, overwrite=False):
        if overwrite:
            return _core.softmax_backward(grad, *saved, False, True)
        return run(SoftmaxBackward, grad, *saved)

    @staticmethod
    def composite(x, dim):
        shifted = shift(x, dim).exp()
        return shifted / shifted.sum(dim, keepdim=True)


class SoftmaxBackward(Op):
    """(grad - sum(grad y)) y, along dim."""

    arity = 2
    saves = (0, 1)

    @staticmethod
    def forward(grad, y, dim):
        return array_module(y.device).softmax_backward(grad, y, dim, False), (grad, y, dim)

    @staticmethod
    def backward(saved, cotangent, needs):
        grad, y, dim = saved
        for_grad = run(SoftmaxBackward, cotangent, y, dim)
        if not needs[1]:
            return for_grad, None
        along = (dim,), True
        weighted = cotangent * (grad - (grad * y).sum(*along))
        return for_grad, weighted - grad * (cotangent * y).sum(*along)


class LogSoftmax(Op):
    saves = (~0,)
    overwrites = True
    cost = "lines"
    autocast = "float32 on cuda"

    @staticmethod
    def forward(x, dim, out=None):
        y = array_module(x.device).softmax(x, dim, True, out)
        return y, (y, dim)

    @staticmethod
    def backward(saved, grad, needs, overwrite=False):
        if overwrite:
            return _core.softmax_backward(grad, *saved, True, True)
        return run(LogSoftmaxBackward, grad, *saved)

    @staticmethod
    def composite(x, dim):
        shifted = shift(x, dim)
        return shifted - shifted.exp().sum(dim, keepdim=True).log()


class LogSoftmaxBackward(Op):
    """grad - exp(y) sum(grad), along dim."""

    arity = 2
    saves = (0, 1)

    @staticmethod
    def forward(grad, y, dim):
        return array_module(y.device).softmax_backward(grad, y, dim, True), (grad, y, dim)

    @staticmethod
    def backward(saved, cotangent, needs):
        grad, y, dim = saved
        weighted = cotangent * y.exp()
        for_grad = cotangent - weighted.sum((dim,), True)
        return for_grad, -(weighted * grad.sum((dim,), True)) if needs[1] else None


def shift(x: Tensor, dim: int) -> Tensor:
    """x less its largest element along dim, so that exp does not overflow."""
    x = x.contiguous()  # as PyTorch's result
    return x - x.detach().amax(dim, keepdim=True) if x.numel() else x.clone()
