"""Channels and pixels exchanged: each op is a permutation of x's elements, as its gradient is."""

from __future__ import annotations

from tiny_torch.autograd.graph import Op, run
from tiny_torch.base.devices import array_module


def arrange(x, split: tuple, groups: tuple):
    """x's three last dims split up, and joined in groups of these to three others: one copy.

    Channels of a result of four dims come last if x's do.
    """
    lead = x.ndim - 3
    sizes = []
    for group in groups:
        size = 1
        for d in group:
            size *= split[d]
        sizes.append(size)
    channels, rows, columns = groups
    last = lead == 1 and array_module(x.device).looks_channels_last(x)
    order = (*rows, *columns, *channels) if last else (*channels, *rows, *columns)
    y = x.reshape((*x.shape[:lead], *split))
    y = copy(y.permute((*range(lead), *[lead + d for d in order])))
    if last:
        return y.reshape((x.shape[0], *sizes[1:], sizes[0])).permute((0, 3, 1, 2))
    return y.reshape((*x.shape[:lead], *sizes))


def copy(x):
    """In order, and in memory of its own."""
    return x.clone() if x.is_contiguous() else x.contiguous()


class PixelShuffle(Op):
    """(*, C r r, H, W) -> (*, C, H r, W r)"""

    @staticmethod
    def forward(x, r):
        c, h, w = x.shape[-3:]
        return arrange(x, (c // (r * r), r, r, h, w), ((0,), (3, 1), (4, 2))), (r,)

    @staticmethod
    def backward(saved, grad, needs):
        return run(PixelUnshuffle, grad, *saved)


class PixelUnshuffle(Op):
    """(*, C, H r, W r) -> (*, C r r, H, W)"""

    @staticmethod
    def forward(x, r):
        c, h, w = x.shape[-3:]
        return arrange(x, (c, h // r, r, w // r, r), ((0, 2, 4), (1,), (3,))), (r,)

    @staticmethod
    def backward(saved, grad, needs):
        return run(PixelShuffle, grad, *saved)


class ChannelShuffle(Op):
    """(N, g k, *) -> (N, k g, *): the channels of g groups, one of each in turn."""

    @staticmethod
    def forward(x, groups):
        c = x.shape[1]
        last = array_module(x.device).looks_channels_last(x) and x.ndim == 4
        y = x.permute((0, *range(2, x.ndim), 1)) if last else x
        at = y.ndim - 1 if last else 1
        y = y.reshape((*y.shape[:at], groups, c // groups, *y.shape[at + 1 :]))
        y = copy(y.transpose(at, at + 1))
        y = y.reshape((*y.shape[:at], c, *y.shape[at + 2 :]))
        return y.permute((0, y.ndim - 1, *range(1, y.ndim - 1))) if last else y, (
            max(c // groups, 1),
        )

    @staticmethod
    def backward(saved, grad, needs):
        return run(ChannelShuffle, grad, *saved)
