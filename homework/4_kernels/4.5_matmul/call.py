import numpy as np

from tiny_torch import from_numpy


def call(student, a, b, transposed, bias):
    """transposed: of which of the two the transpose is multiplied."""
    x, y = (from_numpy(array) for array in (a, b))
    x = x.mT if "a" in transposed else x
    y = y.mT if "b" in transposed else y
    product = x @ y if bias is None else from_numpy(bias).addmm(x, y)
    return np.array(product.numpy())
