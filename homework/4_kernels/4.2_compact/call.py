import numpy as np


def call(student, x, shape, strides):
    count = int(np.prod(shape))
    y = np.frombuffer(b"\x63" * count * x.itemsize, x.dtype)
    facts = len(shape), np.array(shape, np.int64), np.array(strides, np.int64)
    return student(f"compact_{x.itemsize}", x, y, *facts)[1].reshape(shape)
