import numpy as np

from tiny_torch import from_numpy, optim


def call(student, param, grads, options):
    """The parameter after each step, as Adam steps with the student's method."""
    w = from_numpy(param.copy()).requires_grad_()
    optimizer = optim.Adam([w], foreach=False, **options)
    w.grad = from_numpy(np.zeros_like(param))
    steps = []
    for grad in grads:
        w.grad.copy_(from_numpy(grad))  # as backward does it: the same tensor each time
        optimizer.step()
        steps.append(np.array(w.detach().numpy()))
    names = [
        name for name in ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if name in optimizer.state[w]
    ]
    state = {name: np.array(optimizer.state[w][name].numpy()) for name in names}
    return {"steps": steps, "state": state, "grad": np.array(w.grad.numpy())}
