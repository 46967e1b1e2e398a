import numpy as np

from tiny_torch import from_numpy, stack


def call(student, sequences, form, options):
    given = [from_numpy(s.copy()) for s in sequences]
    floats = [t.requires_grad_() for t in given if t.is_floating_point()]
    forms = {"list": list, "generator": lambda x: (s for s in x), "tensor": lambda x: stack(x)}
    padded = student(forms[form](given), **options)
    gradients = [None for _ in floats]
    if floats and padded.requires_grad:
        weights = np.arange(1, padded.numel() + 1, dtype=sequences[0].dtype)
        padded.backward(from_numpy(weights.reshape(tuple(padded.shape))))
        gradients = [None if t.grad is None else np.array(t.grad.numpy()) for t in floats]
    values = np.array(padded.detach().numpy())
    padded.detach().fill_(-1)  # which no sequence sees, if it shares no memory
    return {
        "padded": values,
        "gradients": gradients,
        "sequences": [np.array(t.detach().numpy()) for t in given],
    }
