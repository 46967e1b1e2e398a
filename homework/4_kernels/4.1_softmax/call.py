import numpy as np


def call(student, x):
    return student(f"softmax_{x.dtype}", x, np.full_like(x, np.nan), *x.shape)[1]
