"""The memory of task 8.5, and what its launches do to it, one after another."""

from __future__ import annotations

import numpy as np

BLOCK = 64
KERNELS = {
    "neg": np.negative,
    "relu": lambda a: a.clip(0),
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "sum": np.sum,
    "matmul": np.matmul,
}
WHOLE = ("sum", "matmul")  # not elementwise


def positions(shape, operand):
    """Of each element, row by row, in its buffer."""
    _, offset, strides = operand
    steps = [np.arange(size) * step for size, step in zip(shape, strides, strict=True)]
    return offset + sum(np.meshgrid(*steps, indexing="ij")).ravel()


def run_whole(memory, launch):
    """Runs a launch; how many elements it has read and written."""
    kernel, shape, (result, *inputs) = launch
    values = [memory[operand[0]][positions(shape, operand)] for operand in inputs]
    if kernel == "matmul":  # of square matrices
        values = [x.reshape(shape) for x in values]
    target = positions((1,) if kernel == "sum" else shape, result)
    memory[result[0]][target] = KERNELS[kernel](*values).ravel()
    return sum(x.size for x in values) + target.size
