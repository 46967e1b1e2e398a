import numpy as np

from tiny_torch import reference


def call(student, shape, strides, offset, dims):
    memory = reference.from_numpy(np.arange(1000.0))
    x = memory.as_strided(shape, strides, offset)
    y = student(x, dims)
    if not isinstance(y, reference.RefArray):
        return f"a {type(y).__name__}"
    facts = {"shape": y.shape, "strides": y.strides, "offset": y.offset}
    return {**facts, "shares the memory": y.storage_id == x.storage_id}
