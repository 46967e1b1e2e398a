import numpy as np

from tiny_torch import _core


def call(student, x, y, grad, needs):
    saved = _core.from_numpy(x), _core.from_numpy(y)
    passed = _core.from_numpy(grad)
    answer = student(saved, passed, needs)
    if not isinstance(answer, tuple):
        return answer
    gradients = tuple(None if g is None else np.array(g.numpy()) for g in answer)
    return {"gradients": gradients, "x": x, "y": y, "grad": grad}  # which share saved's memory
