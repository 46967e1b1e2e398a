import runpy
from pathlib import Path

import numpy as np

views = runpy.run_path(str(Path(__file__).parents[1] / "memory.py"))


def call(student, x, y, transposed, into):
    a = x.T if transposed else x
    if into == "every second of x":
        target, a = x.copy(), x[::2]
        out = target[::2]
    elif into == "x":
        target = out = np.full_like(x, np.nan)
    else:
        target = out = np.full(np.broadcast_shapes(a.shape, y.shape), np.nan, np.float32)
    operands = [np.broadcast_to(operand, out.shape) for operand in (a, y)]
    memories = [views["memory_of"](view) for view in (*operands, out)]
    steps = [views["strides_of"](view) for view in (*operands, out)]
    written = student("add_entry", *memories, out.ndim, views["shape_of"](out), *steps)[2]
    target.reshape(-1)[: written.size] = written  # and what lies between the elements of out
    return target
