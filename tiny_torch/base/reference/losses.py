"""Losses of one element and their gradients (g is the incoming one, t the target), by NumPy."""

from __future__ import annotations

import numpy as np

from tiny_torch.base.reference.activation import sigmoid


def binary_cross_entropy(x, t):
    loss = (t - 1) * np.maximum(np.log1p(-x), -100) - t * np.maximum(np.log(x), -100)
    return np.where((x >= 0) & (x <= 1) & (t >= 0) & (t <= 1), loss, np.nan)


def bce_backward(g, x, t):
    return g * (x - t) / np.maximum((1 - x) * x, 1e-12)


def bce_with_logits(x, t, weight):
    return (1 - t) * x + (1 + (weight - 1) * t) * np.logaddexp(0, -x)


def bce_with_logits_backward(g, x, t, weight):
    return g * ((1 - t) * sigmoid(x) - weight * t * sigmoid(-x))


def smooth_l1(x, t, beta):
    distance = np.abs(x - t)
    return np.where(distance < beta, 0.5 * distance * (distance / beta), distance - 0.5 * beta)


def smooth_l1_backward(g, x, t, beta):
    return g * np.clip((x - t) / beta, -1, 1)


def huber(x, t, delta):
    distance = np.abs(x - t)
    return np.where(distance <= delta, 0.5 * distance**2, delta * (distance - 0.5 * delta))
