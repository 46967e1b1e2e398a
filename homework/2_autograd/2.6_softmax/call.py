import numpy as np

from tiny_torch import from_numpy


def call(student, y, dim, grad, overwrite):
    answer = student((from_numpy(y).array, dim), from_numpy(grad).array, (True,), overwrite)
    if not hasattr(answer, "numpy"):
        return f"a {type(answer).__name__}"
    found = {"gradient": np.array(answer.numpy()), "grad": grad}
    return found if overwrite else {**found, "y": y}
