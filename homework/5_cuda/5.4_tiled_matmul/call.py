import numpy as np

TILE = 16


def call(student, a, b):
    (m, k), n = a.shape, b.shape[1]
    c = student(a, b, np.full((m, n), np.nan, np.float32), m, k, n)[2]
    enough = 4 * k * (m * -(-n // TILE) + n * -(-m // TILE))
    share = 576 * -(-k // TILE) + 64
    return {
        "c": c,
        "bytes_read": max(student.count("global_bytes_read"), enough),
        "bytes_of_a_thread": max(student.count("bytes_of_a_thread"), share),
    }
