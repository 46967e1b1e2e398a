import numpy as np


def call(student, a, b):
    (m, k), n = a.shape, b.shape[1]
    c = student(a, b, np.full((m, n), np.nan, np.float32), m, k, n)[2]
    return {"c": c, "mma_of_warps": student.count("products") / 32}
