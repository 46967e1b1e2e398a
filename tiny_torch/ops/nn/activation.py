"""Activation functions: one pass forward, one backward, by records of ops.def.

`composite` is each one's explanation from simple ops, of which second derivatives are made. Where
two branches meet, its gradient is PyTorch's. The value of a branch that is not taken must stay
finite, since its zero gradient times infinity would be NaN: hence the clamps before exp.
"""

from __future__ import annotations

import math

from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.graph import Op, run
from tiny_torch.devices import array_module
from tiny_torch.ops.common import over
from tiny_torch.ops.elementwise.arithmetic import Mul, Where

SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946


class Gelu(Op):
    saves = (0,)
    overwrites = True

    @staticmethod
    def forward(x, out=None):
        return x.gelu(out), (x,)

    @staticmethod
    def backward(saved, grad, needs, overwrite=False):
        (x,) = saved
        return grad.gelu_backward(x, over(x, grad) if overwrite else None)

    @staticmethod
    def composite(x):
        return x * 0.5 * (1 + (x * math.sqrt(0.5)).erf())


class GeluTanh(Op):
    """Gelu by the approximation of Hendrycks & Gimpel."""

    saves = (0,)
    overwrites = True

    @staticmethod
    def forward(x, out=None):
        return x.gelu_tanh(out), (x,)

    @staticmethod
    def backward(saved, grad, needs, overwrite=False):
        (x,) = saved
        return grad.gelu_tanh_backward(x, over(x, grad) if overwrite else None)

    @staticmethod
    def composite(x):
        cubic = x + 0.044715 * (x * x * x)
        return 0.5 * x * (1 + (math.sqrt(2 / math.pi) * cubic).tanh())


class Silu(Op):
    saves = (0,)
    overwrites = True

    @staticmethod
    def forward(x, out=None):
        return x.silu(out), (x,)

    @staticmethod
    def backward(saved, grad, needs, overwrite=False):
        (x,) = saved
        return grad.silu_backward(x, over(x, grad) if overwrite else None)

    @staticmethod
    def composite(x):
        return x * x.sigmoid()


class Mish(Op):
    saves = (0,)
    overwrites = True

    @staticmethod
    def forward(x, out=None):
        return x.mish(out), (x,)

    @staticmethod
    def backward(saved, grad, needs, overwrite=False):
        (x,) = saved
        return grad.mish_backward(x, over(x, grad) if overwrite else None)

    @staticmethod
    def composite(x):
        return x * Softplus.composite(x, 1.0, 20.0).tanh()


class LogSigmoid(Op):
    saves = (0,)

    @staticmethod
    def forward(x, out=None):
        return x.log_sigmoid(out), (x,)

    @staticmethod
    def backward(saved, grad, needs):
        return grad.log_sigmoid_backward(saved[0])

    @staticmethod
    def composite(x):
        # At x = 0 minimum and abs give the gradients 1/2 and 0, the right sum.
        return x.minimum(x.new_zeros(())) - (-x.abs()).exp().log1p()


class Softplus(Op):
    saves = (0,)

    @staticmethod
    def forward(x, beta, threshold):
        return x.softplus(beta, threshold), (x, beta, threshold)

    @staticmethod
    def backward(saved, grad, needs):
        return grad.softplus_backward(*saved)

    @staticmethod
    def composite(x, beta, threshold):
        scaled = x * beta
        return run(Where, scaled > threshold, x, scaled.clamp_max(threshold).exp().log1p() / beta)


class LeakyRelu(Op):
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

    @staticmethod
    def forward(x, slope, out=None):
        y = x.leaky_relu(slope, out)
        return y, (y, slope)


class LeakyReluBackward(Op):
    """The gradient where x is positive, `slope` times it elsewhere."""

    arity = 2
    saves = (1,)

    @staticmethod
    def forward(grad, x, slope):
        return grad.leaky_relu_backward(x, slope), (x, slope)

    @staticmethod
    def backward(saved, grad, needs):
        # Zeros, not None, as in PyTorch: what lies behind x then has a gradient.
        zeros = grad.new_full(grad.shape, 0) if needs[1] else None
        return run(LeakyReluBackward, grad, *saved), zeros


class Elu(Op):
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
        return run(Where, x > 0, x, alpha * x.clamp_max(0).expm1())


class Selu(Op):
    saves = (0,)

    @staticmethod
    def forward(x, out=None):
        return x.selu(out), (x,)

    @staticmethod
    def backward(saved, grad, needs):
        return grad.selu_backward(saved[0])

    @staticmethod
    def composite(x):
        return SELU_SCALE * Elu.composite(x, SELU_ALPHA)


class Celu(Op):
    saves = (0,)

    @staticmethod
    def forward(x, alpha, out=None):
        return x.celu(alpha, out), (x, alpha)

    @staticmethod
    def backward(saved, grad, needs):
        return grad.celu_backward(*saved)

    @staticmethod
    def composite(x, alpha):
        return run(Where, x > 0, x, alpha * (x.clamp_max(0) / alpha).expm1())


class Hardtanh(Op):
    """x limited to [low, high]; the gradient is 0 at the limits, unlike clamp's."""

    saves = (0,)
    overwrites = True

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

    @staticmethod
    def forward(x, low, high, out=None):
        y = x.clamp(low, high, out)
        return y, (y, low, high)


class HardtanhBackward(Op):
    """The gradient where low < x < high, or x is NaN; 0 elsewhere."""

    arity = 2
    saves = (1,)

    @staticmethod
    def forward(grad, x, low, high):
        return grad.hardtanh_backward(x, low, high), (x, low, high)

    @staticmethod
    def backward(saved, grad, needs):
        return run(HardtanhBackward, grad, *saved), None


class Threshold(Op):
    """x where it is above the threshold (or NaN), a constant elsewhere."""

    saves = (0,)

    @staticmethod
    def forward(x, threshold, value, out=None):
        return x.threshold(threshold, value, out), (x, threshold)

    @staticmethod
    def backward(saved, grad, needs):
        return run(ThresholdBackward, grad, *saved)


class ThresholdBackward(Op):
    arity = 2
    saves = (1,)

    @staticmethod
    def forward(grad, x, threshold):
        return grad.threshold_backward(x, threshold), (x, threshold)

    @staticmethod
    def backward(saved, grad, needs):
        return run(ThresholdBackward, grad, *saved), None


class Hardshrink(Op):
    """0 where -edge <= x <= edge, x elsewhere."""

    saves = (0,)

    @staticmethod
    def forward(x, edge):
        return x.hardshrink(edge), (x, edge)

    @staticmethod
    def backward(saved, grad, needs):
        return run(ShrinkBackward, grad, *saved)


class Softshrink(Op):
    """x moved towards 0 by `edge`, as far as that."""

    saves = (0,)

    @staticmethod
    def forward(x, edge):
        return x.softshrink(edge), (x, edge)

    @staticmethod
    def backward(saved, grad, needs):
        return run(ShrinkBackward, grad, *saved)


class ShrinkBackward(Op):
    """0 where -edge <= x <= edge, the gradient elsewhere."""

    arity = 2
    saves = (1,)

    @staticmethod
    def forward(grad, x, edge):
        return grad.shrink_backward(x, edge), (x, edge)

    @staticmethod
    def backward(saved, grad, needs):
        return run(ShrinkBackward, grad, *saved), None


class RreluWithNoise(Mul):
    """x slopes, the slopes being drawn where x <= 0 and 1 above."""


class Glu(Op):
    """The first half along a dim, times the sigmoid of the second."""

    saves = (0,)

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


class PreluKernel(Op):
    """leaky_relu whose slope is a tensor, with a gradient of its own."""

    arity = 2
    broadcasts = True
    saves = (0, 1)
    used_by = ((0, 1), (0,))

    @staticmethod
    def forward(x, weight):
        return x.leaky_relu(weight), (x, weight)

    @staticmethod
    def backward(saved, grad, needs):
        x, weight = saved
        return (
            grad.leaky_relu_backward(x, weight) if needs[0] else None,
            grad.prelu_weight_backward(x) if needs[1] else None,
        )

    @staticmethod
    def composite(x, weight):
        return run(Where, x > 0, x, weight * x)


class Hardsigmoid(Op):
    saves = (0,)

    @staticmethod
    def forward(x, out=None):
        return x.hardsigmoid(out), (x,)

    @staticmethod
    def backward(saved, grad, needs):
        return grad.hardsigmoid_backward(saved[0])

    @staticmethod
    def composite(x):
        return apply(Hardtanh, x + 3, 0.0, 6.0) / 6


class Hardswish(Op):
    saves = (0,)
    overwrites = True

    @staticmethod
    def forward(x, out=None):
        return x.hardswish(out), (x,)

    @staticmethod
    def backward(saved, grad, needs, overwrite=False):
        (x,) = saved
        return grad.hardswish_backward(x, over(x, grad) if overwrite else None)

    @staticmethod
    def composite(x):
        return x * apply(Hardtanh, x + 3, 0.0, 6.0) / 6
