import numpy as np

from tiny_torch import from_numpy
from tiny_torch.nn.functional import layer_norm


def call(student, x, weight, bias, eps):
    """The result, and the gradient of x for a gradient of 1, 2, 3, ... in each row."""
    size = x.shape[-1]
    given = from_numpy(x).requires_grad_()
    weight, bias = (None if a is None else from_numpy(a) for a in (weight, bias))
    y = layer_norm(given, (size,), weight, bias, eps)
    y.backward(from_numpy(np.broadcast_to(np.arange(size), x.shape).astype(x.dtype)))
    return {"y": np.array(y.detach().numpy()), "gradient of x": np.array(given.grad.numpy())}
