import numpy as np

from tiny_torch import from_numpy, optim


def call(student, param, grads, options):
    """The parameter after each step, as SGD steps with the student's method."""
    w = from_numpy(param.copy()).requires_grad_()
    optimizer = optim.SGD([w], foreach=False, **options)
    w.grad = from_numpy(np.zeros_like(param))
    steps = []
    for grad in grads:
        w.grad.copy_(from_numpy(grad))  # as backward does it: the same tensor each time
        optimizer.step()
        steps.append(np.array(w.detach().numpy()))
    buffer = optimizer.state[w].get("momentum_buffer") if w in optimizer.state else None
    kept = None if buffer is None else np.array(buffer.numpy())
    return {"steps": steps, "momentum_buffer": kept, "grad": np.array(w.grad.numpy())}
