"""Activation functions: one pass forward, one backward, by records of ops.def.

`composite` is each one's explanation from simple ops, of which second derivatives are made. Where
two branches meet, its derivatives are PyTorch's, and those of a smooth function are its own: no
abs, minimum or clamp that it is made of may show. The value of a branch that is not taken must stay
finite, since its zero gradient times infinity would be NaN: hence the clamps before exp.
"""

from __future__ import annotations

import math

from tiny_torch import _core
from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.graph import run
from tiny_torch.base.devices import array_module
from tiny_torch.ops.common import Binary, Elementwise, Method, over, zero_gradient
from tiny_torch.ops.elementwise.arithmetic import Mul, Where

SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946


class Fused(Elementwise):
    """A function without settings: a record of ops.def each way, the second named ..._backward."""

    saves = (0,)

    def __init_subclass__(cls, record: str, overwrites: bool = False) -> None:
        gradient = getattr(_core.NDArray, record + "_backward")

        def backward(saved, grad, needs, overwrite=False):
            (x,) = saved
            return gradient(grad, x, over(x, grad) if overwrite else None)

        cls.forward, cls.backward = Method(record, cls.saves), staticmethod(backward)
        cls.overwrites = overwrites


class Gelu(Fused, record="gelu", overwrites=True):
    @staticmethod
    def composite(x):
        return x * 0.5 * (1 + (x * math.sqrt(0.5)).erf())


class GeluTanh(Fused, record="gelu_tanh", overwrites=True):
    """Gelu by the approximation of Hendrycks & Gimpel."""

    aten = "gelu"

    @staticmethod
    def composite(x):
        cubic = x + 0.044715 * (x * x * x)
        return 0.5 * x * (1 + (math.sqrt(2 / math.pi) * cubic).tanh())


class Silu(Fused, record="silu", overwrites=True):
    @staticmethod
    def composite(x):
        return x * x.sigmoid()


class Mish(Fused, record="mish", overwrites=True):
    @staticmethod
    def composite(x):
        return x * Softplus.composite(x, 1.0, 20.0).tanh()


class LogSigmoid(Fused, record="log_sigmoid"):
    @staticmethod
    def composite(x):
        # Of either sign exp stays finite. A `where` has one side's derivatives at 0, all of them
        # right, where minimum and abs would have a mean of both.
        small = run(Where, x > 0, -x, x).exp().log1p()
        return run(Where, x > 0, -small, x - small)


class Softplus(Elementwise):
    saves = (0,)
    autocast = "float32 on cuda"

    @staticmethod
    def forward(x, beta, threshold):
        return x.softplus(beta, threshold), (x, beta, threshold)

    @staticmethod
    def backward(saved, grad, needs):
        return grad.softplus_backward(*saved)

    @staticmethod
    def composite(x, beta, threshold):
        scaled = x * beta
        linear = scaled > threshold
        return run(Where, linear, x, run(Where, linear, 0.0, scaled).exp().log1p() / beta)


class LeakyRelu(Elementwise):
    saves = (0,)
    overwrites = True

    @staticmethod
    def forward(x, slope, out=None):
        return x.leaky_relu(slope, out), (x, slope)

    @staticmethod
    def backward(saved, grad, needs, overwrite=False):
        if overwrite:
            return grad.leaky_relu_backward(*saved, over(saved[0], grad))
        return run(LeakyReluBackward, grad, *saved)


class LeakyReluInPlace(LeakyRelu):
    """With a slope that is not negative the result says where x was positive: no copy of x."""

    saves = (~0,)
    node_name = "LeakyReluBackward0"
    aten = "leaky_relu"

    @staticmethod
    def forward(x, slope, out=None):
        y = x.leaky_relu(slope, out)
        return y, (y, slope)


class Gate(Elementwise):
    """A gradient, let through where x and the limits say: linear in it, so its own derivative."""

    arity = 2
    saves = (1,)
    record = ""

    @classmethod
    def forward(cls, grad, x, *limits):
        return getattr(grad, cls.record)(x, *limits), (x, *limits)

    @classmethod
    def backward(cls, saved, grad, needs):
        # Zeros, not None, as in PyTorch: what lies behind x then has a gradient.
        return run(cls, grad, *saved), zero_gradient(grad) if needs[1] else None


class LeakyReluBackward(Gate):
    """The gradient where x is positive, `slope` times it elsewhere."""

    record = "leaky_relu_backward"


class Elu(Elementwise):
    saves = (0,)
    overwrites = True

    @staticmethod
    def forward(x, alpha, out=None):
        return x.elu(alpha, out), (x, alpha)

    @staticmethod
    def backward(saved, grad, needs, overwrite=False):
        return grad.elu_backward(*saved, over(saved[0], grad) if overwrite else None)

    @staticmethod
    def composite(x, alpha):
        return exponential_unit(x, alpha, 1.0)


class Selu(Fused, record="selu"):
    node_name = "EluBackward0"

    @staticmethod
    def composite(x):
        return SELU_SCALE * Elu.composite(x, SELU_ALPHA)


class Celu(Elementwise):
    saves = (0,)

    @staticmethod
    def forward(x, alpha, out=None):
        return x.celu(alpha, out), (x, alpha)

    @staticmethod
    def backward(saved, grad, needs):
        return grad.celu_backward(*saved)

    @staticmethod
    def composite(x, alpha):
        return exponential_unit(x, alpha, alpha)


def exponential_unit(x, alpha, width):
    """alpha (exp(x / width) - 1) below 0, x above; at 0 a line of the lower side's slope."""
    below = alpha * (run(Where, x > 0, 0.0, x) / width).expm1()
    line = run(Where, x > 0, x, x * (alpha / width))
    return run(Where, x >= 0, line, below)


class Hardtanh(Elementwise):
    """x limited to [low, high]; the gradient is 0 at the limits, unlike clamp's."""

    saves = (0,)
    overwrites = True
    words = "low:min_val high:max_val"

    @staticmethod
    def forward(x, low, high, out=None):
        return x.clamp(low, high, out), (x, low, high)

    @staticmethod
    def backward(saved, grad, needs, overwrite=False):
        if overwrite:
            return grad.hardtanh_backward(*saved, over(saved[0], grad))
        return run(HardtanhBackward, grad, *saved)


class HardtanhInPlace(Hardtanh):
    """The result says where x was within the limits: no copy of x."""

    saves = (~0,)
    node_name = "HardtanhBackward0"
    aten = "hardtanh"

    @staticmethod
    def forward(x, low, high, out=None):
        y = x.clamp(low, high, out)
        return y, (y, low, high)


class HardtanhBackward(Gate):
    """The gradient where low < x < high, 0 elsewhere and of NaN."""

    record = "hardtanh_backward"


class Threshold(Elementwise):
    """x where it is above the threshold (or NaN), a constant elsewhere."""

    saves = (0,)

    @staticmethod
    def forward(x, threshold, value, out=None):
        return x.threshold(threshold, value, out), (x, threshold)

    @staticmethod
    def backward(saved, grad, needs):
        return run(ThresholdBackward, grad, *saved)


class ThresholdBackward(Gate):
    record = "threshold_backward"


class Hardshrink(Elementwise):
    """0 where -edge <= x <= edge, x elsewhere."""

    saves = (0,)

    @staticmethod
    def forward(x, edge):
        return x.hardshrink(edge), (x, edge)

    @staticmethod
    def backward(saved, grad, needs):
        return run(ShrinkBackward, grad, *saved)


class Softshrink(Hardshrink):
    """x moved towards 0 by `edge`, as far as that."""

    @staticmethod
    def forward(x, edge):
        return x.softshrink(edge), (x, edge)


class ShrinkBackward(Gate):
    """0 where -edge <= x <= edge or x is NaN, the gradient elsewhere."""

    record = "shrink_backward"


class RreluWithNoise(Mul):
    """x slopes, the slopes being drawn where x <= 0 and 1 above."""

    piecewise = True
    cost = "elementwise"


class Glu(Elementwise):
    """The first half along a dim, times the sigmoid of the second."""

    saves = (0,)
    cost = "read or write"

    @staticmethod
    def forward(x, dim):
        value, gate = halves(x, dim)
        return value.glu(gate), (x, dim)

    @staticmethod
    def backward(saved, grad, needs):
        x, dim = saved
        value, gate = halves(x, dim)
        dx = array_module(x.device).empty(x.shape, x.dtype)
        to_value, to_gate = halves(dx, dim)
        grad.glu(gate, to_value)
        grad.glu_gate_backward(value, gate, to_gate)
        return dx

    @staticmethod
    def composite(x, dim):
        value, gate = x.chunk(2, dim)
        return value * gate.sigmoid()


def halves(x, dim):
    middle = x.shape[dim] // 2
    return x.slice(dim, 0, middle, 1), x.slice(dim, middle, 2 * middle, 1)


class PreluKernel(Binary):
    """leaky_relu whose slope is a tensor, with a gradient of its own."""

    saves = (0, 1)
    used_by = ((0, 1), (0,))
    piecewise = True
    aten = "prelu"

    @staticmethod
    def forward(x, weight):
        return x.leaky_relu(weight), (x, weight)

    @staticmethod
    def backward(saved, grad, needs):
        x, weight = saved
        if hasattr(grad, "array"):
            passes = x > 0
            return (
                run(Where, passes, grad, weight * grad) if needs[0] else None,
                run(Where, passes, 0.0, x * grad) if needs[1] else None,
            )
        return (
            grad.leaky_relu_backward(x, weight) if needs[0] else None,
            grad.prelu_weight_backward(x) if needs[1] else None,
        )

    @staticmethod
    def composite(x, weight):
        return run(Where, x > 0, x, weight * x)


class Hardsigmoid(Fused, record="hardsigmoid"):
    @staticmethod
    def composite(x):
        return apply(Hardtanh, x + 3, 0.0, 6.0) / 6


class Hardswish(Fused, record="hardswish", overwrites=True):
    @staticmethod
    def composite(x):
        return x * apply(Hardtanh, x + 3, 0.0, 6.0) / 6
