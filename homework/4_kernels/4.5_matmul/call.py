import runpy
from pathlib import Path

import numpy as np

views = runpy.run_path(str(Path(__file__).parents[1] / "memory.py"))


def call(student, a, b, transposed, bias):
    """transposed: of which of the two the transpose is multiplied."""
    x = a.swapaxes(-1, -2) if "a" in transposed else a
    y = b.swapaxes(-1, -2) if "b" in transposed else b
    if x.ndim == 2:
        product = multiplied(student, x, y)
    else:
        product = np.stack([multiplied(student, *pair) for pair in zip(x, y, strict=True)])
    return product if bias is None else product + bias


def multiplied(student, x, y):
    (m, k), n = x.shape, y.shape[1]
    c = np.full((m, n), np.nan, np.float32)
    memories = [views["memory_of"](view) for view in (x, y)]
    steps = [int(step) for view in (x, y) for step in views["strides_of"](view)]
    return student("matmul_entry", *memories, c, m, k, n, *steps)[2]
