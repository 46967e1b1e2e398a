import numpy as np

from tiny_torch import from_numpy
from tiny_torch.optim import AdamW


def call(student, param, grads, lr, betas, eps, weight_decay):
    p = from_numpy(param).requires_grad_()
    optimizer = AdamW([p], lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)
    for grad in grads:
        p.grad = from_numpy(grad)
        optimizer.step()
    state = optimizer.state[p]
    return {
        "average": np.array(state["exp_avg"].numpy()),
        "square": np.array(state["exp_avg_sq"].numpy()),
        "param": np.array(p.detach().numpy()),
        "grads": grads,  # which share the gradients' memory
    }
