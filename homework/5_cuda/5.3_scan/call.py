import numpy as np

THREADS = 256


def call(student, x):
    y, room, blocks = np.full_like(x, np.nan), 0, x.size
    while blocks > 1:
        blocks = -(-blocks // THREADS)
        room += blocks
    sums = student(x, y, np.full(max(room, 1), np.nan, np.float32), x.size)[1]
    return {"y": sums, "bytes_of_a_thread": max(student.count("bytes_of_a_thread"), 640)}
