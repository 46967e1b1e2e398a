import numpy as np

from tiny_torch import Tensor, float32, from_numpy, tensor


def call(student, memories, parts, factor):
    """`parts`: which part of each memory is the gradient."""
    held = [from_numpy(memory) for memory in memories]
    rows = {"every second": slice(0, None, 2), "first row": slice(1)}
    grads = [
        one.T if part == "transposed" else one[rows.get(part, ...)]
        for one, part in zip(held, parts, strict=True)
    ]
    found = student(grads, tensor(factor, dtype=float32))
    if not isinstance(found, Tensor):
        found = f"a {type(found).__name__}"
    elif found.shape != () or found.dtype != float32:
        found = f"a tensor of {found.dtype} and shape {tuple(found.shape)}"
    else:
        found = found.item()
    return {"found": found, "memories": [np.array(one.numpy()) for one in held]}
