import numpy as np

from tiny_torch import _core


def call(student, y, dim, grad, overwrite):
    answer = student((_core.from_numpy(y), dim), _core.from_numpy(grad), (True,), overwrite)
    if not hasattr(answer, "numpy"):
        return f"a {type(answer).__name__}"
    found = {"gradient": np.array(answer.numpy()), "grad": grad}
    return found if overwrite else {**found, "y": y}
