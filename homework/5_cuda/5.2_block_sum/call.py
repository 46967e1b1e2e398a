import numpy as np

THREADS = 256


def call(student, x):
    y = np.full(x.shape[0], np.nan, np.float32)
    sums = student(x, y, *x.shape)[1]
    enough = 4 * -(-x.shape[1] // THREADS) + 512
    return {"y": sums, "bytes_of_a_thread": max(student.count("bytes_of_a_thread"), enough)}
