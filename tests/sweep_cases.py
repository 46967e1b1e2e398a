"""Samples of the sweep that are not calls of an op: expressions that both packages evaluate.

Their tensors (sweep_samples.TENSORS) come in every dtype and layout: x (3, 4, 5), y (4, 5), p
positive, u in [-1, 1], m and n (4, 4), v and w (5,), s 0-d, one (1,), e empty; f float32, k and i
indices, b bool; d is the dtype.
"""

# Names under which PyTorch's table of ops has another name's samples.
OPINFO_NAMES = {
    "slogdet": "linalg.slogdet",
    "Tensor.slogdet": "linalg.slogdet",
    "Tensor.matrix_power": "linalg.matrix_power",
}

# Statements before every expression of a name.
PREPARE: dict[str, str] = {}

EXPRESSIONS: dict[str, list[str]] = {}

# Operators: with a tensor that broadcasts, a 0-d one, numbers of three kinds, and what is wrong.
for name, sign in {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}.items():  # fmt: skip
    left = "p" if sign == "**" else "x"
    EXPRESSIONS[f"Tensor.__{name}__"] = [
        f"{left} {sign} {right}" for right in ("y", "w", "s", "e", "2", "1.5", "True", "'text'")
    ]
    EXPRESSIONS[f"Tensor.__r{name}__"] = [
        f"{number} {sign} {right}"
        for number in ("2", "1.5", "True", "None")
        for right in ("y", "s")
    ]
    EXPRESSIONS[f"Tensor.__i{name}__"] = [
        f"{left} {sign}= {right}\n{left}" for right in ("y", "w", "s", "e", "2", "1.5", "True")
    ]
EXPRESSIONS |= {
    "Tensor.__matmul__": ["x @ y.mT", "m @ n", "v @ w", "x @ v", "m @ v", "x @ 2", "s @ m"],
    "Tensor.__rmatmul__": ["x.__rmatmul__(y.mT)", "m.__rmatmul__(n)", "2 @ m"],
}
