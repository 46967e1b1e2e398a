import numpy as np

from tiny_torch import from_numpy


def call(student, x, y, transposed, into):
    a, b = (from_numpy(array) for array in (x, y))
    a = a.T if transposed else a
    if into == "every second of x":
        a[::2] += b
    elif into == "x":
        a += b
    else:
        a = a + b
    return np.array(a.numpy())
