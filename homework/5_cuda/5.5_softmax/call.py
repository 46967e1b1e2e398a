import numpy as np

THREADS = 256


def call(student, x):
    y = student(x, np.full_like(x, np.nan), *x.shape)[1]
    enough = 32 * -(-x.shape[1] // THREADS) + 1024
    return {"y": y, "bytes_of_a_thread": max(student.count("bytes_of_a_thread"), enough)}
