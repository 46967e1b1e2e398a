import numpy as np

from tiny_torch import Tensor, float32, float64, from_numpy

DTYPES = {"float32": float32, "float64": float64}


def call(student, gradient, kind, shape, dtype):
    given = from_numpy(gradient)
    given = given if kind == "tensor" else given.array
    answer = student(given, shape, DTYPES[dtype])
    if not hasattr(answer, "numpy"):
        return f"a {type(answer).__name__}"
    return {
        "sum": np.array(answer.numpy()),
        "kind": "tensor" if isinstance(answer, Tensor) else "array",
        "the gradient itself": answer is given,
        "gradient": gradient,
    }
