import numpy as np

from tiny_torch import from_numpy


def call(student, x, dim, grad):
    given = from_numpy(x.copy()).requires_grad_()
    y = student(given, dim)
    y.backward(from_numpy(grad))
    gradient = None if given.grad is None else np.array(given.grad.numpy())
    return {"y": np.array(y.detach().numpy()), "gradient": gradient, "x": given.detach().numpy()}
