import numpy as np

from tiny_torch import from_numpy


def call(student, x, weight, grad, needs):
    saved = from_numpy(x).array, from_numpy(weight).array
    answer = student(saved, from_numpy(grad).array, needs)
    if not isinstance(answer, tuple):
        return f"a {type(answer).__name__}"
    gradients = tuple(None if g is None else np.array(g.numpy()) for g in answer)
    return {"gradients": gradients, "x": x, "weight": weight, "grad": grad}
