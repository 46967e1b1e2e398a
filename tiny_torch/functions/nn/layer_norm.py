"""Layer and RMS norm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply
from tiny_torch.base.arguments import wrong_kind
from tiny_torch.base.dtypes import finfo
from tiny_torch.base.layouts import contiguous_format, suggested_format
from tiny_torch.functions.nn.normalization import (
    _require_float,
    _require_parameter_dtypes,
    _require_tensors,
)
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
    if not _fits_rows(input, normalized_shape, weight, bias):
        _check_rows("layer_norm", input, normalized_shape, weight, bias)
        _require_float("LayerNormKernelImpl", input)
        _require_parameter_dtypes(input, weight, bias)
    return apply(NativeLayerNorm, input, weight, bias, len(normalized_shape), eps)


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
    if not _fits_rows(input, normalized_shape, weight, None):
        _check_rows("rms_norm", input, normalized_shape, weight, None)
        _require_float("rms_norm", input)
    if eps is None:
        computed = _core.float64 if input.dtype is _core.float64 else _core.float32
        eps = finfo(computed).eps
    y = apply(RmsNorm, input, weight, None, len(normalized_shape), eps)
    form = suggested_format(input.array)
    return y if form is contiguous_format else y.contiguous(memory_format=form)


def _fits(parameter: Any, shape: tuple, dtype: Any) -> bool:
    """What is usual: spares layer_norm 0.9 of 2.1 µs, batch_norm 1.3 of 3.4 in _check_channels."""
    if parameter is None:
        return True
    array = getattr(parameter, "array", None)
    return array is not None and array.dtype is dtype and array.shape == shape


def _fits_rows(input: Any, shape: Any, weight: Any, bias: Any) -> bool:
    if type(shape) is not tuple or not shape or not isinstance(input, Tensor):
        return False
    dtype = input.array.dtype
    return (
        dtype.is_floating_point
        and input.array.shape[-len(shape) :] == shape
        and _fits(weight, shape, dtype)
        and _fits(bias, shape, dtype)
    )


def _check_rows(
    name: str, input: Tensor, shape: Any, weight: Tensor | None, bias: Tensor | None
) -> None:
    _require_tensors(name, input=input, weight=weight, bias=bias)
    if not isinstance(shape, (list, tuple)):
        raise wrong_kind(name, "normalized_shape", "tuple of ints", shape, 2)
    shape = tuple(shape)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
            "element, but got normalized_shape = []"
        )
    for what, array in (("weight", weight), ("bias", bias)):
        if array is not None and array.array.shape != shape:
            raise RuntimeError(
                f"Expected {what} to be of same shape as normalized_shape, but got {what} of shape "
                f"{list(array.shape)} and normalized_shape = {list(shape)}"
            )
    if input.array.shape[-len(shape) :] != shape:
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape "
            f"[*, {str(list(shape))[1:-1]}], but got input of size{list(input.shape)}"
        )
