import numpy as np

from tiny_torch import from_numpy


def call(student, a, b, h):
    given = [from_numpy(x.copy()).requires_grad_() for x in (a, b, h)]
    pair = student(*given, None)
    if not isinstance(pair, tuple) or len(pair) != 2:
        return f"a {type(pair).__name__}"
    pair[0].sum().backward()
    gradients = [None if x.grad is None else np.array(x.grad.numpy()) for x in given]
    kept = np.array(given[2].detach().numpy())
    new = np.array(pair[0].detach().numpy())
    return {"h": new, "no cell": pair[1] is None, "gradients": gradients, "old h": kept}
