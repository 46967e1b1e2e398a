import numpy as np

from tiny_torch import _core


def call(student, x, y, dims, keepdim, grad):
    saved = _core.from_numpy(x), _core.from_numpy(y), dims, keepdim
    answer = student(saved, _core.from_numpy(grad), (True,))
    if not hasattr(answer, "numpy"):
        return f"a {type(answer).__name__}"
    return {"gradient": np.array(answer.numpy()), "x": x, "y": y, "grad": grad}
