import numpy as np

from tiny_torch import from_numpy


def call(student, x, weight, bias, settings):
    given = [
        None if a is None else from_numpy(a.copy()).requires_grad_() for a in (x, weight, bias)
    ]
    y = student(*given, **settings)
    passed = (np.arange(y.numel()) % 5 - 2).astype(x.dtype).reshape(tuple(y.shape))
    y.backward(from_numpy(passed))
    gradients = [None if t is None or t.grad is None else np.array(t.grad.numpy()) for t in given]
    return {"y": np.array(y.detach().numpy()), "gradients": gradients}
