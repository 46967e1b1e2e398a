import numpy as np


def call(student, a, b):
    """C, and the loads and products that the unit has counted where they are asked for."""
    (m, k), n = a.shape, b.shape[1]
    c, done = np.full((m, n), np.nan, np.float32), np.zeros(2, np.int64)
    c, (loads, products) = student("matmul_entry", a, b, c, done, m, k, n)[2:4]
    few = products == 48 and loads <= 1.1 * products
    return {"c": c, "the unit does as little as it can": bool(few or (m, k, n) != (64, 96, 64))}
