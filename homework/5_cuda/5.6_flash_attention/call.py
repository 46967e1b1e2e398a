import numpy as np

BLOCK = 64


def call(student, q, k, v, scale):
    (heads, queries, size), keys = q.shape, k.shape[1]
    out = student(q, k, v, np.full_like(q, np.nan), heads, queries, keys, scale)[3]
    enough = 4 * heads * size * (queries + 2 * keys * -(-queries // BLOCK))
    share = 1088 * keys + 2048
    return {
        "out": out,
        "bytes_read": max(student.count("global_bytes_read"), enough),
        "bytes_of_a_thread": max(student.count("bytes_of_a_thread"), share),
    }
