import numpy as np

from tiny_torch import from_numpy


def call(student, x, y, dims, keepdim, grad):
    saved = from_numpy(x).array, from_numpy(y).array, dims, keepdim
    answer = student(saved, from_numpy(grad).array, (True,))
    if not hasattr(answer, "numpy"):
        return f"a {type(answer).__name__}"
    return {"gradient": np.array(answer.numpy()), "x": x, "y": y, "grad": grad}
