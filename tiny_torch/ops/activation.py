"""Activation functions: one pass forward, one backward, by records of ops.def.

`composite` is each one's explanation from simple ops, of which second derivatives are made. Where
two branches meet, its gradient is PyTorch's. The value of a branch that is not taken must stay
finite, since its zero gradient times infinity would be NaN: hence the clamps before exp.
"""

from __future__ import annotations

import math

from tiny_torch.autograd.graph import Op, run
from tiny_torch.ops.masks import where


class Gelu(Op):
    saves = (0,)

    @staticmethod
    def forward(x):
        return x.gelu(), (x,)

    @staticmethod
    def backward(saved, grad, needs):
        return grad.gelu_backward(saved[0])

    @staticmethod
    def composite(x):
        return x * 0.5 * (1 + (x * math.sqrt(0.5)).erf())


class GeluTanh(Op):
    """Gelu by the approximation of Hendrycks & Gimpel."""

    saves = (0,)

    @staticmethod
    def forward(x):
        return x.gelu_tanh(), (x,)

    @staticmethod
    def backward(saved, grad, needs):
        return grad.gelu_tanh_backward(saved[0])

    @staticmethod
    def composite(x):
        cubic = x + 0.044715 * (x * x * x)
        return 0.5 * x * (1 + (math.sqrt(2 / math.pi) * cubic).tanh())


class Silu(Op):
    saves = (0,)

    @staticmethod
    def forward(x):
        return x.silu(), (x,)

    @staticmethod
    def backward(saved, grad, needs):
        return grad.silu_backward(saved[0])

    @staticmethod
    def composite(x):
        return x * x.sigmoid()


class Mish(Op):
    saves = (0,)

    @staticmethod
    def forward(x):
        return x.mish(), (x,)

    @staticmethod
    def backward(saved, grad, needs):
        return grad.mish_backward(saved[0])

    @staticmethod
    def composite(x):
        return x * Softplus.composite(x, 1.0, 20.0).tanh()


class LogSigmoid(Op):
    saves = (0,)

    @staticmethod
    def forward(x):
        return x.log_sigmoid(), (x,)

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
        x, beta, threshold = saved
        scaled = x * beta
        return (scaled > threshold).where(grad, grad * scaled.sigmoid())

    @staticmethod
    def composite(x, beta, threshold):
        scaled = x * beta
        return where(scaled > threshold, x, scaled.clamp_max(threshold).exp().log1p() / beta)


class LeakyRelu(Op):
    saves = (0,)

    @staticmethod
    def forward(x, slope):
        return x.leaky_relu(slope), (x, slope)

    @staticmethod
    def backward(saved, grad, needs):
        return run(LeakyReluBackward, grad, *saved)


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

    @staticmethod
    def forward(x, alpha):
        return x.elu(alpha), (x, alpha)

    @staticmethod
    def backward(saved, grad, needs):
        return grad.elu_backward(*saved)

    @staticmethod
    def composite(x, alpha):
        return where(x > 0, x, alpha * x.clamp_max(0).expm1())


class Hardtanh(Op):
    """x limited to [low, high]; the gradient is 0 at the limits, unlike clamp's."""

    saves = (0,)

    @staticmethod
    def forward(x, low, high):
        return x.clamp(low, high), (x, low, high)

    @staticmethod
    def backward(saved, grad, needs):
        x, low, high = saved
        return ((x > low) & (x < high)).where(grad, 0.0)

    @staticmethod
    def composite(x, low, high):
        return where((x > low) & (x < high), x, x.detach().clamp(low, high))


class Hardsigmoid(Op):
    saves = (0,)

    @staticmethod
    def forward(x):
        return x.hardsigmoid(), (x,)

    @staticmethod
    def backward(saved, grad, needs):
        return grad.hardsigmoid_backward(saved[0])

    @staticmethod
    def composite(x):
        return Hardtanh.composite(x + 3, 0.0, 6.0) / 6


class Hardswish(Op):
    saves = (0,)

    @staticmethod
    def forward(x):
        return x.hardswish(), (x,)

    @staticmethod
    def backward(saved, grad, needs):
        return grad.hardswish_backward(saved[0])

    @staticmethod
    def composite(x):
        return x * Hardtanh.composite(x + 3, 0.0, 6.0) / 6
