import numpy as np

from tiny_torch import from_numpy


def call(student, x, shape, strides):
    view = from_numpy(x).as_strided(shape, strides)
    out = view.clone() if view.is_contiguous() else view.contiguous()
    return np.array(out.numpy())
