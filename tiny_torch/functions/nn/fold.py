"""Windows as columns, and back: unfold and fold."""

from __future__ import annotations

from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply
from tiny_torch.base.arguments import is_int, wrong_kind
from tiny_torch.base.dtypes import FLOATING, check_implemented
from tiny_torch.functions.common import check_tensor, standalone
from tiny_torch.ops.nn.fold import Col2Im, Im2Col
from tiny_torch.tensor import Tensor

Sizes = int | tuple[int, ...]


def pair(function: str, name: str, least: int, value: Any) -> tuple[int, int]:
    values = tuple(value) if isinstance(value, tuple | list) else (value, value)
    if any(not is_int(n) for n in values):
        raise wrong_kind(function, name, "tuple of ints", value)
    if len(values) != 2:
        raise RuntimeError(
            f"{function}: It is expected {name} equals to 2, but got size {len(values)}"
        )
    if min(values) < least:
        bound = "greater than zero" if least else "non-negative"
        raise RuntimeError(f"{function}: {name} should be {bound}, but got: {values}")
    return values[0].__index__(), values[1].__index__()


def read_windows(function: str, *settings: Any) -> tuple:
    """(kernel, dilation, padding, stride)"""
    names = (("kernel_size", 1), ("dilation", 1), ("padding", 0), ("stride", 1))
    return tuple(
        [pair(function, *name, value) for name, value in zip(names, settings, strict=True)]
    )


def windows_of(size: tuple[int, ...], windows: tuple) -> list[int]:
    """How many fit, along both dims."""
    return [
        (size[d] + 2 * side[d] - gap[d] * (taps[d] - 1) - 1) // stride[d] + 1
        for d, (taps, gap, side, stride) in enumerate([windows] * 2)
    ]


def unfold(
    input: Tensor,
    kernel_size: Sizes,
    dilation: Sizes = 1,
    padding: Sizes = 0,
    stride: Sizes = 1,
) -> Tensor:
    """Windows of an image as columns: (N, C, H, W) -> (N, C * kH * kW, windows).

    Floating or bool; without N where the input has none. A convolution is a product of its weight
    with these. Raises RuntimeError where shapes or settings do not fit.
    https://pytorch.org/docs/stable/generated/torch.nn.functional.unfold.html

    >>> import tiny_torch as torch
    >>> torch.nn.functional.unfold(torch.arange(6.0).reshape(1, 2, 3), 2)
    tensor([[0., 1.],
            [1., 2.],
            [3., 4.],
            [4., 5.]])
    """
    check_tensor("unfold", "input", 1, input)
    windows = read_windows("unfold", kernel_size, dilation, padding, stride)
    shape = input.shape
    if len(shape) < 3:
        input.size(max(1, len(shape)))  # raises IndexError, as PyTorch does
    if len(shape) not in (3, 4) or 0 in shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(shape)}"
        )
    count = windows_of(shape[-2:], windows)
    if min(count) < 1:
        raise RuntimeError(
            f"[unfold] Given input with spatial size {tuple(shape[-2:])} and kernel_size "
            f"{windows[0]}, calculated shape of the array of sliding blocks as {count}, but its "
            "components must be at least one."
        )
    if input.dtype is _core.bool:
        return unfold(input.float(), kernel_size, dilation, padding, stride).bool()
    check_implemented("unfold", input.dtype, FLOATING)
    if len(shape) == 4:
        return apply(Im2Col, input, windows)
    return standalone(apply(Im2Col, input.unsqueeze(0), windows).squeeze(0))


def fold(
    input: Tensor,
    output_size: Sizes,
    kernel_size: Sizes,
    dilation: Sizes = 1,
    padding: Sizes = 0,
    stride: Sizes = 1,
) -> Tensor:
    """The image of `output_size` whose windows are these columns; where they overlap they add up.

    (N, C * kH * kW, windows) -> (N, C, H, W), floating or bool; without N where the input has none.
    Raises RuntimeError where shapes or settings do not fit.
    https://pytorch.org/docs/stable/generated/torch.nn.functional.fold.html

    >>> import tiny_torch as torch
    >>> torch.nn.functional.fold(torch.ones(4, 2), (2, 3), 2)
    tensor([[[1., 2., 1.],
             [1., 2., 1.]]])
    """
    check_tensor("fold", "input", 1, input)
    size = pair("fold", "output_size", 0, output_size)
    windows = read_windows("fold", kernel_size, dilation, padding, stride)
    shape = input.shape
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
            f"non-zero dimensions for input, but got: {list(shape)}"
        )
    taps = windows[0][0] * windows[0][1]
    if shape[-2] % taps:
        raise RuntimeError(
            "[fold] Expected size of input's dimension 1 to be divisible by the product of "
            f"kernel_size, but got {shape[-2]} and kernel_size={windows[0]}."
        )
    count = windows_of(size, windows)
    if shape[-1] != count[0] * count[1] or min(count) < 1:
        raise RuntimeError(
            f"[fold] Given output_size={size}, kernel_size={windows[0]}, expected size of input's "
            f"dimension 2 to match the calculated number of sliding blocks {count[0]} * "
            f"{count[1]} = {count[0] * count[1]}, but got input of shape {list(shape)}"
        )
    if input.dtype is _core.bool:
        return fold(input.float(), output_size, kernel_size, dilation, padding, stride).bool()
    check_implemented("fold", input.dtype, FLOATING)
    if len(shape) == 3:
        return apply(Col2Im, input, size, windows)
    return standalone(apply(Col2Im, input.unsqueeze(0), size, windows).squeeze(0))
