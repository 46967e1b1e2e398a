import numpy as np

from tiny_torch import from_numpy


def call(student, x, dim):
    return np.array(from_numpy(x).sum(dim).numpy())
