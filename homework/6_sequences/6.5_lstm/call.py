import numpy as np

from tiny_torch import from_numpy


def call(student, a, b, h, c):
    given = [from_numpy(x.copy()).requires_grad_() for x in (a, b, h, c)]
    new_h, new_c = student(*given)
    (new_h + 2 * new_c).sum().backward()
    told = (given[0], given[3])
    gradients = [None if x.grad is None else np.array(x.grad.numpy()) for x in told]
    state = {"h": np.array(new_h.detach().numpy()), "c": np.array(new_c.detach().numpy())}
    return {**state, "gradients": gradients, "old c": np.array(given[3].detach().numpy())}
