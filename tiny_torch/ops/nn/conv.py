"""Convolution, the transposed one, and the gradients of their inputs and weights.

The three are one sum of products of x, w and y, read in three directions; so each one's gradients
are the other two, and all of them can be differentiated any number of times.
"""

from __future__ import annotations

from tiny_torch.autograd.graph import Op, run
from tiny_torch.base.devices import array_module

# `settings` is (stride, padding, dilation, groups): three tuples of a number per dim, and a number.


def sum_of_channels(grad):
    """(N, C, *) -> (C,), the gradient of a bias."""
    return grad.sum((0, *range(2, grad.ndim)), False)


class Convolution(Op):
    """x (N, C, *), w (O, C / groups, *), bias (O,) or None -> y (N, O, *).

    As a gradient it is told the spatial sizes of y, and whether channels are last in memory.
    """

    arity = 3
    saves = (0, 1)
    used_by = ((1,), (0,))
    aten = "conv{spatial}d"
    words = "x:input settings:stride,padding,dilation,groups"
    cost = "convolution"

    @staticmethod
    def forward(x, w, bias, settings, size=None, last=None):
        module = array_module(x.device)
        if not hasattr(module, "conv_forward"):
            raise NotImplementedError(f"[conv] is not implemented on {x.device}")
        if last is None:
            last = module.conv_channels_last(x, w)
        y = module.conv_forward(x, w, bias, *settings, size, last)
        return y, (x, w, x.shape[2:], w.shape[2:], settings, last)

    @staticmethod
    def backward(saved, grad, needs):
        x, w, size, taps, settings, last = saved
        return (
            run(ConvolutionInput, grad, w, None, size, settings, last) if needs[0] else None,
            run(ConvolutionWeight, x, grad, taps, settings, last) if needs[1] else None,
            sum_of_channels(grad) if needs[2] else None,
        )


class ConvolutionInput(Op):
    """The transposed convolution: y (N, O, *), w, bias (C,) or None -> x, of sizes `size`."""

    arity = 3
    saves = (0, 1)
    used_by = ((1,), (0,))
    node_name = "ConvolutionBackwardBackward0"

    @staticmethod
    def forward(y, w, bias, size, settings, last):
        x = array_module(y.device).conv_input(y, w, bias, size, *settings, last)
        return x, (y, w, y.shape[2:], w.shape[2:], settings, last)

    @staticmethod
    def backward(saved, grad, needs):
        y, w, size, taps, settings, last = saved
        return (
            run(Convolution, grad, w, None, settings, size, last) if needs[0] else None,
            run(ConvolutionWeight, grad, y, taps, settings, last) if needs[1] else None,
            sum_of_channels(grad) if needs[2] else None,
        )


class ConvolutionTranspose(ConvolutionInput):
    """As called by a user: with the memory format that its arguments say."""

    node_name = "ConvolutionBackward0"
    aten = "conv_transpose{spatial}d"
    words = "y:input settings:stride,padding,dilation,groups"
    cost = "transposed convolution"

    @staticmethod
    def forward(y, w, bias, size, settings):
        module = array_module(y.device)
        if not hasattr(module, "conv_input"):
            raise NotImplementedError(f"[conv] is not implemented on {y.device}")
        last = module.conv_channels_last(y, w)
        return ConvolutionInput.forward(y, w, bias, size, settings, last)


class ConvolutionWeight(Op):
    """x, y -> w, of spatial sizes `taps`."""

    arity = 2
    saves = (0, 1)
    used_by = ((1,), (0,))
    node_name = "ConvolutionBackwardBackward0"

    @staticmethod
    def forward(x, y, taps, settings, last):
        w = array_module(x.device).conv_weight(x, y, taps, *settings, last)
        return w, (x, y, x.shape[2:], y.shape[2:], settings, last)

    @staticmethod
    def backward(saved, grad, needs):
        x, y, x_size, y_size, settings, last = saved
        return (
            run(ConvolutionInput, y, grad, None, x_size, settings, last) if needs[0] else None,
            run(Convolution, x, grad, None, settings, y_size, last) if needs[1] else None,
        )
