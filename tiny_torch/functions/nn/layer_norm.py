"""Layer and RMS norm."""

from __future__ import annotations

from collections.abc import Sequence

from tiny_torch import _core
from tiny_torch.autograd.apply import apply
from tiny_torch.base.dtypes import finfo
from tiny_torch.base.layouts import contiguous_format, suggested_format
from tiny_torch.ops.nn.layer_norm import NativeLayerNorm, RmsNorm
from tiny_torch.tensor import Tensor


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """(x - mean) / sqrt(variance + eps) weight + bias over the last dims, of `normalized_shape`.

    Weight and bias have that shape. The result is contiguous. Raises RuntimeError where shapes or
    dtypes do not fit, NotImplementedError for integers.
    Source: PyTorch, nn.functional.layer_norm; Ba et al. 2016.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.layer_norm(torch.tensor([1.0, 3.0]), (2,))
    tensor([-1.0000,  1.0000])
    """
    dims = _core.normalized_dims(input.array.shape, normalized_shape)
    return apply(NativeLayerNorm, input, weight, bias, dims, eps)


def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """x / sqrt(mean(x^2) + eps) weight over the last dims, of `normalized_shape`, as weight is.

    `eps`: by default what separates 1 from the next number of the dtype. Raises RuntimeError where
    shapes do not fit, NotImplementedError for integers.
    Source: PyTorch, nn.functional.rms_norm; Zhang & Sennrich 2019.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.rms_norm(torch.tensor([3.0, 4.0]), (2,))
    tensor([0.8485, 1.1314])
    """
    dims = _core.normalized_dims(input.array.shape, normalized_shape)
    if eps is None:
        computed = _core.float64 if input.dtype is _core.float64 else _core.float32
        eps = finfo(computed).eps
    y = apply(RmsNorm, input, weight, None, dims, eps)
    form = suggested_format(input.array)
    return y if form is contiguous_format else y.contiguous(memory_format=form)
