from __future__ import annotations

import math
from typing import Any

OPS = {
    "neg": lambda a: -a,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
}


def is_zero(value: Any, sign: float) -> bool:
    return isinstance(value, float) and value == 0 and math.copysign(1.0, value) == sign


def fold(expression: Any) -> Any:
    if not isinstance(expression, tuple):
        return expression
    op, *args = expression
    args = [fold(arg) for arg in args]
    if all(isinstance(arg, float) for arg in args):
        return OPS[op](*args)
    if op == "neg" and isinstance(args[0], tuple) and args[0][0] == "neg":
        return args[0][1]
    for one, other in (args, args[::-1]) if op in ("add", "mul") else ():
        if op == "mul" and other == 1.0:
            return one
        if op == "add" and is_zero(other, -1.0):
            return one
    if op == "sub" and is_zero(args[1], 1.0):
        return args[0]
    return (op, *args)
