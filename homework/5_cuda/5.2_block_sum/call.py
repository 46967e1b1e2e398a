import numpy as np


def call(student, x):
    y = np.full(x.shape[0], np.nan, np.float32)
    return student(x, y, *x.shape)[1]
