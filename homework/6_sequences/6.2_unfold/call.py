import numpy as np

from tiny_torch import from_numpy


def call(student, x, settings, strided):
    base = from_numpy(x.swapaxes(-1, -2).copy() if strided else x.copy())
    given = (base.transpose(-1, -2) if strided else base).detach().requires_grad_()
    y = student(given, **settings)
    weights = np.arange(1, y.numel() + 1, dtype=x.dtype).reshape(tuple(y.shape)) % 7
    y.backward(from_numpy(weights))
    gradient = None if given.grad is None else np.array(given.grad.numpy())
    return {
        "columns": np.array(y.detach().numpy()),
        "gradient": gradient,
        "x": np.array(given.detach().numpy()),
    }
