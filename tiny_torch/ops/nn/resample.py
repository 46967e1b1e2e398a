"""Interpolation: every dim resampled by a linear map, whose transpose is the gradient."""

from __future__ import annotations

from tiny_torch.autograd.graph import Op, run
from tiny_torch.base.devices import array_module

NEAREST, NEAREST_EXACT, LINEAR, CUBIC, LANCZOS = range(5)


# `settings` are (one of these, align_corners, antialias, a scale or None for each of three dims).


class Interpolate(Op):
    """x (N, C, *) -> y of spatial sizes `size`."""

    autocast = "float32 on cuda"

    @staticmethod
    def forward(x, size, settings):
        module = array_module(x.device)
        if not hasattr(module, "interpolate"):
            raise NotImplementedError(f"[interpolate] is not implemented on {x.device}")
        last = module.looks_channels_last(x)
        y = module.interpolate(x, size, *settings, False, last)
        return y, (x.shape[2:], settings)

    @staticmethod
    def backward(saved, grad, needs):
        return run(InterpolateTransposed, grad, *saved)

    @staticmethod
    def node_name(saved, node):
        size, (kind, _, antialias, *_) = node.constants
        linear = ("Linear", "Bilinear", "Trilinear")[len(size) - 1]
        name = ("Nearest", "NearestExact", linear, "Bicubic", "Lanczos")[kind]
        return f"Upsample{name}{len(size)}D{'Aa' if antialias else ''}Backward0"


class InterpolateTransposed(Op):
    """The gradient of y -> that of x, of sizes `size`; laid out as y's is, as PyTorch has it."""

    @staticmethod
    def forward(grad, size, settings):
        module = array_module(grad.device)
        x = module.interpolate(grad, size, *settings, True, module.looks_channels_last(grad))
        return x, (grad.shape[2:], settings)

    @staticmethod
    def backward(saved, grad, needs):
        return run(Interpolate, grad, *saved)
