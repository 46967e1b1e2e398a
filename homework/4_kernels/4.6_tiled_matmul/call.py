import numpy as np

from tiny_torch import from_numpy


def call(student, a, b):
    return np.array((from_numpy(a) @ from_numpy(b)).numpy())
