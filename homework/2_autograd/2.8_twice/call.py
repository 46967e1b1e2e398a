import numpy as np

from tiny_torch import Tensor, from_numpy


def call(student, grad, y, grad_grad, kind):
    given = [from_numpy(x) for x in (grad, y, grad_grad)]
    if kind == "arrays":
        given = [x.array for x in given]
    answer = student((given[0], given[1]), given[2], (True, True))
    if not isinstance(answer, tuple):
        return f"a {type(answer).__name__}"
    kinds = {"tensors" if isinstance(x, Tensor) else "arrays" for x in answer}
    gradients = tuple([np.array(x.numpy()) for x in answer])
    inputs = {"grad": grad, "y": y, "grad_grad": grad_grad}
    return {"gradients": gradients, "kinds": sorted(kinds), **inputs}
