import numpy as np


def call(student, a, b):
    (m, k), n = a.shape, b.shape[1]
    c = student(a, b, np.full((m, n), np.nan, np.float32), m, k, n)[2]
    wide = a.astype(np.float64), b.astype(np.float64)
    total = float((wide[0] @ wide[1]).sum())
    size = float((abs(wide[0]) @ abs(wide[1])).sum())
    added = student.count("sum_of_products")  # in any order, in float32
    enough = 5 * k + 64
    return {
        "c": c,
        "bytes_of_a_thread": max(student.count("bytes_of_a_thread"), enough),
        "mma_of_warps": student.count("products") / 32,
        "products are those of A and B": abs(added - total) <= 1e-4 * size,
    }
