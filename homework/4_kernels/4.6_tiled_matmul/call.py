import numpy as np


def call(student, a, b):
    (m, k), n = a.shape, b.shape[1]
    return student("matmul_entry", a, b, np.full((m, n), np.nan, np.float32), m, k, n)[2]
