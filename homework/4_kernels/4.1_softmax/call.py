import numpy as np

from tiny_torch import from_numpy


def call(student, x):
    return np.array(from_numpy(x).softmax(-1).numpy())
