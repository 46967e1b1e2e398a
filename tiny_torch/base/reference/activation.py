"""Activation functions and their gradients (g is the incoming one), as NumPy formulas."""

from __future__ import annotations

import math

import numpy as np

from tiny_torch.base.reference import special

erf = special.each(math.erf)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gelu(x):
    return x * (1 + erf(x / math.sqrt(2))) / 2


def gelu_backward(g, x):
    density = np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    return g * ((1 + erf(x / math.sqrt(2))) / 2 + x * density)


def gelu_tanh(x):
    return x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2


def gelu_tanh_backward(g, x):
    t = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
    inner_slope = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x**2)
    return g * (1 + t + x * (1 - t * t) * inner_slope) / 2


def silu_backward(g, x):
    s = sigmoid(x)
    return g * s * (1 + x * (1 - s))


def mish_backward(g, x):
    t = np.tanh(np.logaddexp(0, x))
    return g * (t + x * sigmoid(x) * (1 - t * t))


def hardswish_backward(g, x):
    return np.where(x <= -3, 0, np.where(x >= 3, g, g * (x / 3 + 0.5)))


def softplus(x, beta, threshold):
    return np.where(x * beta > threshold, x, np.logaddexp(0, x * beta) / beta)


def softplus_backward(g, x, beta, threshold):
    return np.where(x * beta > threshold, g, g * sigmoid(x * beta))


SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946


def selu(x):
    return SELU_SCALE * np.where(x > 0, x, SELU_ALPHA * np.expm1(x))


def selu_backward(g, x):
    return SELU_SCALE * np.where(x > 0, g, g * SELU_ALPHA * np.exp(x))


def softshrink(x, edge):
    return np.where(x > edge, x - edge, np.where(x < -edge, x + edge, x * 0))


def glu_gate_backward(g, x, gate):
    return g * x * sigmoid(gate) * sigmoid(-gate)
