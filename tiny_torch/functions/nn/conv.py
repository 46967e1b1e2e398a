"""torch.conv1d and its kin, whose settings C++ reads and checks (api/spatial/pool_windows.h)."""

from __future__ import annotations

import warnings
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply
from tiny_torch.base.docstrings import in_each_dim
from tiny_torch.base.dtypes import FLOATING, check_implemented
from tiny_torch.functions.public import function
from tiny_torch.functions.shape.join import cat
from tiny_torch.ops.nn.conv import Convolution, ConvolutionTranspose
from tiny_torch.tensor import Tensor


def padded_as(
    padding: str, x: Tensor, weight: Tensor, stride: Any, dilation: Any, dims: int
) -> tuple[Tensor, Any]:
    """The input, for "same" widened by zeros where both sides differ, and what else to pad."""
    if padding not in ("same", "valid"):
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if padding == "valid":
        return x, 0
    stride, _, dilation, _ = _core.conv_settings(dims, stride, 0, dilation, 1)
    if max(stride) > 1:
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    totals = [step * (size - 1) for step, size in zip(dilation, weight.shape[2:], strict=False)]
    if any(total % 2 for total in totals):
        warnings.warn(
            "Using padding='same' with even kernel lengths and odd dilation may require a "
            "zero-padded copy of the input be created",
            stacklevel=3,
        )
    for dim, total in enumerate(totals):
        if total % 2:
            shape = list(x.shape)
            shape[dim - dims] = 1
            x = cat([x, x.new_zeros(shape)], dim - dims)
    return x, tuple([total // 2 for total in totals])


def conv(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] | str = 0,
    dilation: int | tuple[int, ...] = 1,
    groups: int = 1,
    *,
    _dims: int = 2,
) -> Tensor:
    """Every output is a weighted sum of a window of the input, the same for all windows.

    input (N, C, H, W) or (C, H, W), weight (O, C / groups, kH, kW), bias (O,) ->
    (N, O, H', W'), all of one dtype. `padding` zeros go on both sides; "same" keeps the size,
    "valid" is 0. Raises RuntimeError where shapes, dtypes or settings do not fit.
    https://pytorch.org/docs/stable/generated/torch.nn.functional.conv2d.html

    >>> import tiny_torch as torch
    >>> torch.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 3, 3), padding=1).shape
    torch.Size([1, 1, 3, 3])
    """
    if isinstance(padding, str):
        input, padding = padded_as(padding, input, weight, stride, dilation, _dims)
    settings = _core.conv_settings(_dims, stride, padding, dilation, groups)
    if input.array.ndim != _dims + 1:
        return apply(Convolution, input, weight, bias, settings)
    return apply(Convolution, input.unsqueeze(0), weight, bias, settings).squeeze(0)


conv1d, conv2d, conv3d = in_each_dim(conv)


def conv_transpose(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] = 0,
    output_padding: int | tuple[int, ...] = 0,
    groups: int = 1,
    dilation: int | tuple[int, ...] = 1,
    *,
    _dims: int = 2,
) -> Tensor:
    """Every input adds a window of weights to the output: the gradient of conv2d by its input.

    input (N, C, H, W) or (C, H, W), weight (C, O / groups, kH, kW), bias (O,) ->
    (N, O, H', W'),
    where each size is (size - 1) * stride - 2 * padding + dilation * (k - 1) + output_padding + 1.
    Raises RuntimeError where shapes, dtypes or settings do not fit.
    https://pytorch.org/docs/stable/generated/torch.nn.functional.conv_transpose2d.html

    >>> import tiny_torch as torch
    >>> torch.conv_transpose2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 3, 3), stride=2).shape
    torch.Size([1, 1, 7, 7])
    """
    alone = input.array.ndim == _dims + 1
    batch = input.unsqueeze(0) if alone else input
    settings = _core.transposed_conv_settings(
        batch.array.shape, weight.array.shape, _dims,
        stride, padding, output_padding, groups, dilation,
    )  # fmt: skip
    check_implemented(f"conv_transpose{_dims}d", input.dtype, (*FLOATING, _core.int64))
    y = apply(ConvolutionTranspose, batch, weight, bias, *settings)
    return y.squeeze(0) if alone else y


conv_transpose1d, conv_transpose2d, conv_transpose3d = in_each_dim(conv_transpose)


for _conv in (conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d):
    function(_conv)
