"""Channels and pixels exchanged: pixel_shuffle and its kin."""

from __future__ import annotations

from typing import Any

from tiny_torch.autograd.apply import apply
from tiny_torch.base.arguments import as_int
from tiny_torch.functions.common import check_tensor
from tiny_torch.ops.nn.shuffle import ChannelShuffle, PixelShuffle, PixelUnshuffle
from tiny_torch.tensor import Tensor


def check_shuffle(function: str, name: str, x: Any, factor: Any) -> int:
    check_tensor(function, "input", 1, x)
    factor = as_int(function, name, 2, factor)
    if x.ndim < 3:
        raise RuntimeError(
            f"{function} expects input to have at least 3 dimensions, but got input with {x.ndim} "
            "dimension(s)"
        )
    if factor <= 0:
        raise RuntimeError(f"{function} expects a positive {name}, but got {factor}")
    return factor


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Channels become pixels, r x r of them: (*, C r r, H, W) -> (*, C, H r, W r).

    Raises RuntimeError where r is not positive or r r does not divide the channels.
    https://pytorch.org/docs/stable/generated/torch.nn.functional.pixel_shuffle.html

    >>> import tiny_torch as torch
    >>> torch.nn.functional.pixel_shuffle(torch.arange(4.0).reshape(4, 1, 1), 2)
    tensor([[[0., 1.],
             [2., 3.]]])
    """
    r = check_shuffle("pixel_shuffle", "upscale_factor", input, upscale_factor)
    if r * r >= 2**63:
        raise ValueError(
            f"upscale factor is too large, (upscale_factor)^2 overflowed: upscale_factor={r}"
        )
    if input.shape[-3] % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
            f"of upscale_factor, but input.size(-3)={input.shape[-3]} is not divisible by {r * r}"
        )
    return apply(PixelShuffle, input, r)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Pixels become channels: (*, C, H r, W r) -> (*, C r r, H, W). The reverse of pixel_shuffle.

    Raises RuntimeError where r is not positive or does not divide height and width.
    https://pytorch.org/docs/stable/generated/torch.nn.functional.pixel_unshuffle.html
    """
    r = check_shuffle("pixel_unshuffle", "downscale_factor", input, downscale_factor)
    for name, dim in (("height", -2), ("width", -1)):
        if input.shape[dim] % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
                f"input.size({dim})={input.shape[dim]} is not divisible by {r}"
            )
    return apply(PixelUnshuffle, input, r)


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The channels of all groups in turn: (N, groups k, *) -> (N, k groups, *).

    Raises RuntimeError where groups is not positive or does not divide the channels.
    https://pytorch.org/docs/stable/generated/torch.nn.ChannelShuffle.html

    >>> import tiny_torch as torch
    >>> torch.nn.functional.channel_shuffle(torch.arange(4.0).reshape(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    check_tensor("channel_shuffle", "input", 1, input)
    groups = as_int("channel_shuffle", "groups", 2, groups)
    if input.ndim < 3:
        raise RuntimeError(
            f"channel_shuffle expects input with > 2 dims, but got input with sizes "
            f"{list(input.shape)}"
        )
    if groups <= 0:
        raise RuntimeError(
            "channel_shuffle: Number of groups to divide channels in must be positive. Value of "
            f"groups:{groups}"
        )
    if input.shape[1] % groups:
        raise RuntimeError(
            "channel_shuffle: Number of channels must be divisible by groups. Got "
            f"{input.shape[1]} channels and {groups} groups."
        )
    return apply(ChannelShuffle, input, groups)
