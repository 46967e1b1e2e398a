"""NumPy's views as a kernel sees them: memory, and strides in elements. For the tasks' call.py."""

import numpy as np
from numpy.lib.stride_tricks import as_strided


def memory_of(view):
    """The elements from a view's first to its last, as they lie; none of what is around them."""
    if not view.size:
        return np.empty(0, view.dtype)
    extent = 1 + sum((n - 1) * step for n, step in zip(view.shape, strides_of(view), strict=True))
    return as_strided(view, (extent,), (view.itemsize,)).copy()


def strides_of(view):
    """In elements, which they are a whole number of, and not negative."""
    return np.array([step // view.itemsize for step in view.strides], np.int64)


def shape_of(view):
    return np.array(view.shape, np.int64)
