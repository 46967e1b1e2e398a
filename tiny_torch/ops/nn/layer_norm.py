"""Layer and RMS norm: the fewest passes forward and backward.

Forward reads x once from memory and writes y; the mean and 1 / sqrt(variance + eps) of each set of
elements are kept for backward, which finds two sums per set and writes the gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.graph import Op
from tiny_torch.base.devices import array_module
from tiny_torch.ops.elementwise.cast import narrow
from tiny_torch.tensor import Tensor


def normalise(x: Tensor, dims: Sequence[int], eps: float, centered: bool = True) -> Tensor:
    """x less its mean, over the root of its variance, both along dims; of halves, in float32."""
    if x.dtype.itemsize == 2:  # whose rsqrt has a derivative beyond float16
        return normalise(x.float(), dims, eps, centered).to(x.dtype)
    if centered:
        x = x - x.mean(dims, keepdim=True)
    return x * ((x * x).mean(dims, keepdim=True) + eps).rsqrt()


def scale_and_shift(y: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def check_on_meta(op: type[Op], arguments: tuple) -> None:
    """C++'s checks of a call on `ref`, which has no kernels: by a call on `meta`."""

    def on_meta(x: Any) -> Any:
        array = x.array if isinstance(x, Tensor) else x
        if not hasattr(array, "strides"):
            return x
        return _core.empty_strided(array.shape, array.strides, array.dtype, "meta")

    if not isinstance(arguments[0].array, _core.NDArray):
        op.forward(*map(on_meta, arguments))


class NativeLayerNorm(Op):
    arity = 3
    saves = (0, 1, 2)
    overwrites = True
    centered = True
    aten = "layer_norm"
    words = "x:input"
    cost = "lines"
    autocast = "float32 on cuda"

    @classmethod
    def forward(cls, x, weight, bias, dims, eps):
        module = array_module(x.device)
        y, stats = module.layer_norm(x, dims, weight, bias, eps, cls.centered)
        return y, (x, weight, bias, stats, dims)

    @classmethod
    def backward(cls, saved, grad, needs, overwrite=False):
        x, weight, bias, stats, dims = saved
        dx, of_weight, of_bias = array_module(x.device).layer_norm_backward(
            grad, x, weight, stats, dims, cls.centered, needs[1] or needs[2], overwrite
        )
        return dx, like(of_weight, weight, needs[1]), like(of_bias, bias, needs[2])

    @classmethod
    def composite(cls, x, weight, bias, dims, eps):
        check_on_meta(cls, (x, weight, bias, dims, eps))
        y = normalise(x, tuple(range(-dims, 0)), eps, cls.centered)
        return scale_and_shift(y, weight, bias)


class RmsNorm(NativeLayerNorm):
    centered = False
    node_name = "MulBackward0"
    aten = "rms_norm"
    words = ""


def like(grad: Any, weight: Any, needed: bool) -> Any:
    """A gradient in the shape and dtype of its weight."""
    if not needed:
        return None
    grad = grad if grad.shape == weight.shape else grad.view(weight.shape)
    return narrow(grad, weight.dtype)
