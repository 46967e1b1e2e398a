import numpy as np


def call(student, x, dim):
    rows = np.ascontiguousarray(np.moveaxis(x, dim, -1))
    y = np.full(rows.shape[:-1], np.nan, np.float32)
    return student("sum_rows_entry", rows, y, y.size, rows.shape[-1])[1]
