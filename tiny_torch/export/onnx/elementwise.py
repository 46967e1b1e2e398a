"""What elementwise ops and reductions become in ONNX."""

from __future__ import annotations

import math
from typing import Any

import tiny_torch as torch
from tiny_torch.export.graph import ExportError, Node, Value
from tiny_torch.export.onnx.building import Builder, form, name_of
from tiny_torch.export.sizes import Size

UNARY = {
    "Relu": "Relu", "Exp": "Exp", "Log": "Log", "Sqrt": "Sqrt", "Tanh": "Tanh", "Erf": "Erf",
    "Sigmoid": "Sigmoid", "Abs": "Abs", "Neg": "Neg", "Floor": "Floor", "Ceil": "Ceil",
    "Round": "Round", "Sin": "Sin", "Cos": "Cos", "Tan": "Tan", "Asin": "Asin", "Acos": "Acos",
    "Atan": "Atan", "Sinh": "Sinh", "Cosh": "Cosh", "Asinh": "Asinh", "Acosh": "Acosh",
    "Atanh": "Atanh", "Sign": "Sign", "Reciprocal": "Reciprocal",
}  # fmt: skip
BINARY = {
    "Add": "Add", "Sub": "Sub", "Mul": "Mul", "Div": "Div", "Pow": "Pow", "Maximum": "Max",
    "Minimum": "Min", "RreluWithNoise": "Mul",
}  # fmt: skip
COMPARE = {
    "Eq": "Equal", "Lt": "Less", "Le": "LessOrEqual", "Gt": "Greater", "Ge": "GreaterOrEqual"
}  # fmt: skip
LOGIC = {"LogicalAnd": "And", "LogicalOr": "Or", "LogicalXor": "Xor"}
BITS = {"BitwiseAnd": "And", "BitwiseOr": "Or", "BitwiseXor": "Xor"}


@form(*UNARY)
def unary(b: Builder, node: Node, x: Value) -> str:
    return b.op(UNARY[node.op], b.name(x, node.outputs[0].dtype))


@form(*BINARY)
def binary(b: Builder, node: Node, x: Any, y: Any) -> str:
    dtype = node.outputs[0].dtype
    kind = BINARY[node.op]
    if dtype is torch.bool:  # sums and products of bools are logic
        kind = {"Add": "Or", "Mul": "And", "Max": "Or", "Min": "And"}[kind]
    return b.op(kind, b.name(x, dtype), b.name(y, dtype))


def promoted(x: Any, y: Any) -> Any:
    """The dtype in which two operands are compared."""
    kinds: list[Any] = [v.dtype if isinstance(v, Value) else None for v in (x, y)]
    if None in kinds:
        dtype = next(kind for kind in kinds if kind is not None)
        number = y if isinstance(x, Value) else x
        if isinstance(number, float) and not dtype.is_floating_point:
            return torch.get_default_dtype()
        return torch.int64 if dtype is torch.bool and type(number) is not bool else dtype
    if bool(x.shape) != bool(y.shape) and kinds[0].is_floating_point == kinds[1].is_floating_point:
        return kinds[0] if x.shape else kinds[1]
    return torch.promote_types(*kinds)


@form(*COMPARE, "Ne")
def compare(b: Builder, node: Node, x: Any, y: Any) -> str:
    dtype = promoted(x, y)
    if dtype is torch.bool and node.op not in ("Eq", "Ne"):
        dtype = torch.int32
    result = b.op(COMPARE.get(node.op, "Equal"), b.name(x, dtype), b.name(y, dtype))
    return b.op("Not", result) if node.op == "Ne" else result


@form(*LOGIC)
def logic(b: Builder, node: Node, x: Any, y: Any) -> str:
    return b.op(LOGIC[node.op], b.name(x, torch.bool), b.name(y, torch.bool))


@form("LogicalNot")
def logical_not(b: Builder, node: Node, x: Value) -> str:
    return b.op("Not", b.name(x, torch.bool))


@form(*BITS, "BitwiseNot")
def bits(b: Builder, node: Node, *operands: Any) -> str:
    dtype = node.outputs[0].dtype
    names = [b.name(x, dtype) for x in operands]
    if dtype is torch.bool:
        return b.op(BITS.get(node.op, "Not"), *names)
    if b.opset < 18:
        raise ExportError(f"{node.op} of integers needs opset_version=18 or more; {node.place}")
    return b.op(node.op, *names)


def compose(b: Builder, dtype: Any, x: Any) -> Any:
    """b.op with constants of a dtype in the place of numbers: f("Mul", name, 2.0)."""

    def call(kind: str, *operands: Any) -> str:
        return b.op(kind, *[b.name(v, dtype if not isinstance(v, str) else None) for v in operands])

    return call, b.name(x, dtype)


@form("Square", "Rsqrt", "Log2", "Log10", "Log1P", "Expm1", "Exp2", "Trunc", "Frac",
      "Deg2Rad", "Rad2Deg")  # fmt: skip
def composed(b: Builder, node: Node, x: Value) -> str:
    f, x_ = compose(b, node.outputs[0].dtype, x)
    match node.op:
        case "Square":
            return f("Mul", x_, x_)
        case "Rsqrt":
            return f("Reciprocal", f("Sqrt", x_))
        case "Log2" | "Log10":
            return f("Mul", f("Log", x_), 1 / math.log(2 if node.op == "Log2" else 10))
        case "Log1P":
            return f("Log", f("Add", x_, 1.0))
        case "Expm1":
            return f("Sub", f("Exp", x_), 1.0)
        case "Exp2":
            return f("Exp", f("Mul", x_, math.log(2)))
        case "Deg2Rad" | "Rad2Deg":
            return f("Mul", x_, math.pi / 180 if node.op == "Deg2Rad" else 180 / math.pi)
    whole = f("Mul", f("Sign", x_), f("Floor", f("Abs", x_)))
    return whole if node.op == "Trunc" else f("Sub", x_, whole)


@form("Isnan", "Isinf", "Isfinite")
def is_kind(b: Builder, node: Node, x: Value) -> str:
    dtype = x.dtype if name_of(x.dtype) in ("float32", "float64") else torch.float32
    name = b.name(x, dtype)
    if node.op != "Isfinite":
        return b.op("IsNaN" if node.op == "Isnan" else "IsInf", name)
    return b.op("Not", b.op("Or", b.op("IsNaN", name), b.op("IsInf", name)))


@form("FloorDivide", "DivFloor", "DivTrunc", "Remainder", "Fmod")
def division(b: Builder, node: Node, x: Any, y: Any) -> str:
    dtype = node.outputs[0].dtype
    x, y = b.name(x, dtype), b.name(y, dtype)
    floats = dtype.is_floating_point
    match node.op:
        case "Fmod":
            return b.op("Mod", x, y, fmod=1)
        case "DivTrunc":
            quotient = b.op("Div", x, y)
            if not floats:
                return quotient
            return b.op("Mul", b.op("Sign", quotient), b.op("Floor", b.op("Abs", quotient)))
        case "Remainder" if floats:
            return b.op("Sub", x, b.op("Mul", b.op("Floor", b.op("Div", x, y)), y))
        case "Remainder":
            return b.op("Mod", x, y)
    if floats:
        return b.op("Floor", b.op("Div", x, y))
    return b.op("Div", b.op("Sub", x, b.op("Mod", x, y)), y)


@form("Lerp", "Addcmul", "Addcdiv")
def three(b: Builder, node: Node, x: Any, y: Any, z: Any) -> str:
    dtype = node.outputs[0].dtype
    x, y, z = b.name(x, dtype), b.name(y, dtype), b.name(z, dtype)
    if node.op == "Lerp":
        return b.op("Add", x, b.op("Mul", z, b.op("Sub", y, x)))
    return b.op("Add", x, b.op("Mul" if node.op == "Addcmul" else "Div", y, z))


@form("Clamp", "Hardtanh", "HardtanhInPlace")
def clamp(b: Builder, node: Node, x: Value, low: Any, high: Any) -> str:
    dtype = node.outputs[0].dtype
    name = b.name(x, dtype)
    name = name if low is None else b.op("Max", name, b.name(low, dtype))
    return name if high is None else b.op("Min", name, b.name(high, dtype))


@form("Where")
def where(b: Builder, node: Node, condition: Value, x: Any, y: Any) -> str:
    dtype = node.outputs[0].dtype
    return b.op("Where", b.name(condition, torch.bool), b.name(x, dtype), b.name(y, dtype))


@form("MaskedFill")
def masked_fill(b: Builder, node: Node, x: Value, mask: Value, value: Any) -> str:
    return b.op("Where", b.name(mask, torch.bool), b.name(value, x.dtype), b.name(x))


@form("Threshold")
def threshold(b: Builder, node: Node, x: Value, limit: float, value: float) -> str:
    above = b.op("Greater", b.name(x), b.name(limit, x.dtype))
    return b.op("Where", above, b.name(x), b.name(value, x.dtype))


@form("LeakyRelu", "LeakyReluInPlace")
def leaky_relu(b: Builder, node: Node, x: Value, slope: float) -> str:
    return b.op("LeakyRelu", b.name(x), alpha=float(slope))


@form("Elu", "Celu")
def elu(b: Builder, node: Node, x: Value, alpha: float) -> str:
    return b.op(node.op, b.name(x), alpha=float(alpha))


@form("Hardsigmoid")
def hardsigmoid(b: Builder, node: Node, x: Value) -> str:
    return b.op("HardSigmoid", b.name(x), alpha=1 / 6, beta=0.5)


@form("Hardswish")
def hardswish(b: Builder, node: Node, x: Value) -> str:
    return b.op("HardSwish", b.name(x))


@form("Hardshrink", "Softshrink")
def shrink(b: Builder, node: Node, x: Value, edge: float) -> str:
    bias = float(edge) if node.op == "Softshrink" else 0.0
    return b.op("Shrink", b.name(x), lambd=float(edge), bias=bias)


@form("Softmax", "LogSoftmax")
def softmax(b: Builder, node: Node, x: Value, dim: int) -> str:
    return b.op(node.op, b.name(x), axis=dim)


@form("Cast", "ToCopy", "ToInteger")
def cast(b: Builder, node: Node, x: Value, dtype: Any) -> str:
    return b.name(x, dtype)


@form("Clone", "ToDevice", "Identity")
def same(b: Builder, node: Node, x: Value, *where: Any) -> str:
    return b.name(x)


# ---- reductions ---------------------------------------------------------------------------------

REDUCE = {
    "Sum": "ReduceSum", "Mean": "ReduceMean", "Prod": "ReduceProd", "Amax": "ReduceMax",
    "Amin": "ReduceMin", "MaxOfAll": "ReduceMax", "MinOfAll": "ReduceMin",
    "Logsumexp": "ReduceLogSumExp",
}  # fmt: skip


@form(*REDUCE)
def reduction(b: Builder, node: Node, x: Value, dims: Any, keepdim: bool, dtype: Any = None) -> str:
    return b.reduce(REDUCE[node.op], b.name(x, node.outputs[0].dtype), dims or (), keepdim)


@form("Any_", "All_")
def any_or_all(b: Builder, node: Node, x: Value, dims: Any, keepdim: bool) -> str:
    kind = "ReduceMax" if node.op == "Any_" else "ReduceMin"
    name = b.name(b.name(x, torch.bool))
    return b.cast(b.reduce(kind, b.cast(name, torch.int32), dims or (), keepdim), torch.bool)


def count(shape: tuple, dims: Any) -> Any:
    """How many elements a reduction over dims adds up; an int or a Size."""
    total: Any = 1
    for dim in dims or range(len(shape)):
        total = total * shape[dim]
    return total


@form("Var", "Std")
def variance(b: Builder, node: Node, x: Value, dims: Any, keepdim: bool, correction: float) -> str:
    if isinstance(correction, float) and correction.is_integer():
        correction = int(correction)
    name = b.name(x)
    away = b.op("Sub", name, b.reduce("ReduceMean", name, dims or (), True))
    total = b.reduce("ReduceSum", b.op("Mul", away, away), dims or (), keepdim)
    freedom: Any = count(x.shape, dims) - correction
    if not isinstance(freedom, Size):
        freedom = max(float(freedom), 0.0)
    result = b.op("Div", total, b.name(freedom, x.dtype))
    return b.op("Sqrt", result) if node.op == "Std" else result


@form("LinalgVectorNorm")
def vector_norm(b: Builder, node: Node, x: Value, p: float, dims: Any, keepdim: bool) -> str:
    name = b.name(x, node.outputs[0].dtype)
    if p in (1, 2):
        return b.reduce(f"ReduceL{int(p)}", name, dims or (), keepdim)
    if abs(p) == math.inf:
        kind = "ReduceMax" if p > 0 else "ReduceMin"
        return b.reduce(kind, b.op("Abs", name), dims or (), keepdim)
    f, name = compose(b, x.dtype, b.op("Abs", name))
    total = b.reduce("ReduceSum", f("Pow", name, float(p)), dims or (), keepdim)
    return f("Pow", total, 1 / p)


def flat(b: Builder, x: Value, dim: int | None) -> tuple[str, int]:
    """x and the dim, or all of x in one."""
    return (b.reshape(b.name(x), [-1]), 0) if dim is None else (b.name(x), dim)


@form("Argmax", "Argmin")
def position(b: Builder, node: Node, x: Value, dim: int | None, keepdim: bool) -> str:
    name, axis = flat(b, x, dim)
    kind = "ArgMax" if node.op == "Argmax" else "ArgMin"
    found = b.op(kind, name, axis=axis, keepdims=int(keepdim and dim is not None))
    if keepdim and dim is None:
        return b.reshape(found, [1] * len(x.shape))
    return found


@form("Max", "Min")
def extreme(b: Builder, node: Node, x: Value, dim: int, keepdim: bool) -> tuple[str, str]:
    values = b.reduce(f"Reduce{node.op}", b.name(x), [dim], keepdim)
    return values, b.op(f"Arg{node.op}", b.name(x), axis=dim, keepdims=int(keepdim))


@form("Topk", "Sort")
def topk(b: Builder, node: Node, x: Value, dim: int, keepdim: bool, *rest: Any) -> Any:
    k, largest = rest if node.op == "Topk" else (x.shape[dim], rest[0])
    return b.op("TopK", b.name(x), b.ints([k]), outputs=2, axis=dim, largest=int(largest))


@form("Argsort")
def argsort(b: Builder, node: Node, x: Value, dim: int, descending: bool) -> str:
    return topk(b, Node("Sort", (), "", ""), x, dim, True, descending)[1]


@form("Cumsum")
def cumsum(
    b: Builder, node: Node, x: Value, dim: int, dtype: Any = None, back: bool = False
) -> str:
    name = b.name(x, node.outputs[0].dtype)
    return b.op("CumSum", name, b.name(dim, torch.int64), reverse=int(back))
