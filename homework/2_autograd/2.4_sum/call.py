import numpy as np

from tiny_torch import _core


def call(student, grad, order, shape, dims, keepdim):
    passed = _core.from_numpy(np.asarray(grad, order=order))
    answer = student(passed, shape, dims, keepdim)
    if not hasattr(answer, "numpy"):
        return f"a {type(answer).__name__}"
    copied = answer.size > 0 and not answer.overlaps(passed)
    return {"gradient": np.array(answer.numpy()), "copied": copied}
