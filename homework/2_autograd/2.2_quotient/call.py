import numpy as np

from tiny_torch import from_numpy


def call(student, x, y, grad, needs):
    saved = from_numpy(x).array, from_numpy(y).array
    passed = from_numpy(grad).array
    answer = student(saved, passed, needs)
    if not isinstance(answer, tuple):
        return answer
    gradients = tuple(None if g is None else np.array(g.numpy()) for g in answer)
    return {"gradients": gradients, "x": x, "y": y, "grad": grad}  # which share saved's memory
