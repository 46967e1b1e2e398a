import numpy as np

from tiny_torch import from_numpy


def call(student, grads, options, given):
    """The norm, and the gradients as those see them who hold them already."""
    params, held = [], []
    for grad in grads:
        shape = (2,) if grad is None else grad.shape
        dtype = np.float32 if grad is None else grad.dtype
        params.append(from_numpy(np.zeros(shape, dtype)).requires_grad_())
        if grad is not None:
            params[-1].grad = from_numpy(grad.copy())
            held.append(params[-1].grad)
    forms = {"list": list, "generator": lambda p: (x for x in p), "one": lambda p: p[0]}
    norm = student(forms[given](params), **options)
    return {"norm": np.array(norm.numpy()), "grads": [np.array(g.numpy()) for g in held]}
