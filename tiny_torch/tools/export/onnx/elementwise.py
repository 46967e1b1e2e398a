"""What elementwise ops and reductions become in ONNX."""

from __future__ import annotations

import math
from typing import Any

import tiny_torch as torch
from tiny_torch.autograd.graph import Identity
from tiny_torch.ops.elementwise.arithmetic import (
    Add,
    Addcdiv,
    Addcmul,
    Clamp,
    Div,
    DivFloor,
    DivTrunc,
    FloorDivide,
    Fmod,
    Lerp,
    Mul,
    Pow,
    Remainder,
    Sub,
    Where,
)
from tiny_torch.ops.elementwise.cast import Cast, Clone, ToCopy, ToDevice, ToInteger
from tiny_torch.ops.elementwise.comparison import (
    BitwiseAnd,
    BitwiseNot,
    BitwiseOr,
    BitwiseXor,
    Eq,
    Ge,
    Gt,
    Le,
    LogicalAnd,
    LogicalNot,
    LogicalOr,
    LogicalXor,
    Lt,
    Maximum,
    Minimum,
    Ne,
)
from tiny_torch.ops.elementwise.floats import Frac, Isfinite, Isinf, Isnan
from tiny_torch.ops.elementwise.unary import (
    Abs,
    Acos,
    Acosh,
    Asin,
    Asinh,
    Atan,
    Atanh,
    Ceil,
    Cos,
    Cosh,
    Deg2Rad,
    Erf,
    Exp,
    Exp2,
    Expm1,
    Floor,
    Log,
    Log1p,
    Log2,
    Log10,
    Neg,
    Rad2Deg,
    Reciprocal,
    Relu,
    Round,
    Rsqrt,
    Sigmoid,
    Sign,
    Sin,
    Sinh,
    Sqrt,
    Square,
    Tan,
    Tanh,
    Trunc,
)
from tiny_torch.ops.index.masks import MaskedFill
from tiny_torch.ops.index.sort import Argsort, Sort, Topk
from tiny_torch.ops.nn.activation import (
    Celu,
    Elu,
    Hardshrink,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    HardtanhInPlace,
    LeakyRelu,
    LeakyReluInPlace,
    RreluWithNoise,
    Softshrink,
    Threshold,
)
from tiny_torch.ops.nn.softmax import LogSoftmax, Softmax
from tiny_torch.ops.reduce.moments import Logsumexp, Std, Var
from tiny_torch.ops.reduce.norms import LinalgVectorNorm
from tiny_torch.ops.reduce.scan import Cumsum
from tiny_torch.ops.reduce.sums import (
    All_,
    Amax,
    Amin,
    Any_,
    Argmax,
    Argmin,
    Max,
    MaxOfAll,
    Mean,
    Min,
    MinOfAll,
    Prod,
    Sum,
)
from tiny_torch.tools.export.graph import ExportError, Node, Value
from tiny_torch.tools.export.onnx.building import Builder, dtype_name, form
from tiny_torch.tools.export.sizes import Size

# whose name in ONNX is that of the class
UNARY = (
    Relu, Exp, Log, Sqrt, Tanh, Erf, Sigmoid, Abs, Neg, Floor, Ceil, Round, Sin, Cos, Tan, Asin,
    Acos, Atan, Sinh, Cosh, Asinh, Acosh, Atanh, Sign, Reciprocal,
)  # fmt: skip
COMPARE = {Eq: "Equal", Lt: "Less", Le: "LessOrEqual", Gt: "Greater", Ge: "GreaterOrEqual"}
LOGIC = {LogicalAnd: "And", LogicalOr: "Or", LogicalXor: "Xor"}
BITS = {BitwiseAnd: "And", BitwiseOr: "Or", BitwiseXor: "Xor"}


@form(*UNARY)
def unary(b: Builder, node: Node, x: Value) -> str:
    return b.op(node.name, b.name(x, node.outputs[0].dtype))


@form(Add, Sub, Mul, Div, Pow, Maximum, Minimum)
def binary(b: Builder, node: Node, x: Any, y: Any) -> str:
    dtype = node.outputs[0].dtype
    kind = node.name[:3]  # Max of Maximum
    if dtype is torch.bool:  # sums and products of bools are logic
        kind = {Add: "Or", Mul: "And", Maximum: "Or", Minimum: "And"}[node.op]
    return b.op(kind, b.name(x, dtype), b.name(y, dtype))


@form(RreluWithNoise)
def slopes(b: Builder, node: Node, x: Value, slope: Value) -> str:
    return b.Mul(b.name(x), b.name(slope))


def promoted_dtype(x: Any, y: Any) -> Any:
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


@form(*COMPARE, Ne)
def compare(b: Builder, node: Node, x: Any, y: Any) -> str:
    dtype = promoted_dtype(x, y)
    if dtype is torch.bool and node.op not in (Eq, Ne):
        dtype = torch.int32
    result = b.op(COMPARE.get(node.op, "Equal"), b.name(x, dtype), b.name(y, dtype))
    return b.Not(result) if node.op is Ne else result


@form(*LOGIC)
def logic(b: Builder, node: Node, x: Any, y: Any) -> str:
    return b.op(LOGIC[node.op], b.name(x, torch.bool), b.name(y, torch.bool))


@form(LogicalNot)
def logical_not(b: Builder, node: Node, x: Value) -> str:
    return b.Not(b.name(x, torch.bool))


@form(*BITS, BitwiseNot)
def bits(b: Builder, node: Node, *operands: Any) -> str:
    dtype = node.outputs[0].dtype
    names = [b.name(x, dtype) for x in operands]
    if dtype is torch.bool:
        return b.op(BITS.get(node.op, "Not"), *names)
    if b.opset < 18:
        raise ExportError(f"{node.name} of integers needs opset_version=18 or more; {node.place}")
    return b.op(node.name, *names)


class Typed:
    """A builder's nodes, with constants of a dtype in the place of numbers: f.Mul(name, 2.0)."""

    def __init__(self, b: Builder, dtype: Any) -> None:
        self._b, self._dtype = b, dtype

    def __getattr__(self, kind: str) -> Any:
        def write(*operands: Any) -> str:
            b, dtype = self._b, self._dtype
            return b.op(kind, *[b.name(v, None if isinstance(v, str) else dtype) for v in operands])

        return write


def truncate(f: Any, x: str) -> str:
    return f.Mul(f.Sign(x), f.Floor(f.Abs(x)))


COMPOSED = {
    Square: lambda f, x: f.Mul(x, x),
    Rsqrt: lambda f, x: f.Reciprocal(f.Sqrt(x)),
    Log2: lambda f, x: f.Mul(f.Log(x), 1 / math.log(2)),
    Log10: lambda f, x: f.Mul(f.Log(x), 1 / math.log(10)),
    Log1p: lambda f, x: f.Log(f.Add(x, 1.0)),
    Expm1: lambda f, x: f.Sub(f.Exp(x), 1.0),
    Exp2: lambda f, x: f.Exp(f.Mul(x, math.log(2))),
    Deg2Rad: lambda f, x: f.Mul(x, math.pi / 180),
    Rad2Deg: lambda f, x: f.Mul(x, 180 / math.pi),
    Trunc: truncate,
    Frac: lambda f, x: f.Sub(x, truncate(f, x)),
}


@form(*COMPOSED)
def compose(b: Builder, node: Node, x: Value) -> str:
    dtype = node.outputs[0].dtype
    return COMPOSED[node.op](Typed(b, dtype), b.name(x, dtype))


@form(Isnan, Isinf, Isfinite)
def is_kind(b: Builder, node: Node, x: Value) -> str:
    dtype = x.dtype if dtype_name(x.dtype) in ("float32", "float64") else torch.float32
    name = b.name(x, dtype)
    if node.op is not Isfinite:
        return b.op("IsNaN" if node.op is Isnan else "IsInf", name)
    return b.Not(b.Or(b.IsNaN(name), b.IsInf(name)))


@form(FloorDivide, DivFloor, DivTrunc, Remainder, Fmod)
def division(b: Builder, node: Node, x: Any, y: Any) -> str:
    dtype = node.outputs[0].dtype
    x, y = b.name(x, dtype), b.name(y, dtype)
    floats = dtype.is_floating_point
    if node.op is Fmod:
        return b.Mod(x, y, fmod=1)
    if node.op is DivTrunc:
        quotient = b.Div(x, y)
        return truncate(b, quotient) if floats else quotient
    if node.op is Remainder:
        return b.Sub(x, b.Mul(b.Floor(b.Div(x, y)), y)) if floats else b.Mod(x, y)
    if floats:
        return b.Floor(b.Div(x, y))
    return b.Div(b.Sub(x, b.Mod(x, y)), y)


@form(Lerp, Addcmul, Addcdiv)
def three(b: Builder, node: Node, x: Any, y: Any, z: Any) -> str:
    dtype = node.outputs[0].dtype
    x, y, z = b.name(x, dtype), b.name(y, dtype), b.name(z, dtype)
    if node.op is Lerp:
        return b.Add(x, b.Mul(z, b.Sub(y, x)))
    return b.Add(x, (b.Mul if node.op is Addcmul else b.Div)(y, z))


@form(Clamp, Hardtanh, HardtanhInPlace)
def clamp(b: Builder, node: Node, x: Value, low: Any, high: Any) -> str:
    dtype = node.outputs[0].dtype
    name = b.name(x, dtype)
    name = name if low is None else b.Max(name, b.name(low, dtype))
    return name if high is None else b.Min(name, b.name(high, dtype))


@form(Where)
def where(b: Builder, node: Node, condition: Value, x: Any, y: Any) -> str:
    dtype = node.outputs[0].dtype
    return b.Where(b.name(condition, torch.bool), b.name(x, dtype), b.name(y, dtype))


@form(MaskedFill)
def masked_fill(b: Builder, node: Node, x: Value, mask: Value, value: Any) -> str:
    return b.Where(b.name(mask, torch.bool), b.name(value, x.dtype), b.name(x))


@form(Threshold)
def threshold(b: Builder, node: Node, x: Value, limit: float, value: float) -> str:
    above = b.Greater(b.name(x), b.name(limit, x.dtype))
    return b.Where(above, b.name(x), b.name(value, x.dtype))


@form(LeakyRelu, LeakyReluInPlace)
def leaky_relu(b: Builder, node: Node, x: Value, slope: float) -> str:
    return b.LeakyRelu(b.name(x), alpha=float(slope))


@form(Elu, Celu)
def elu(b: Builder, node: Node, x: Value, alpha: float) -> str:
    return b.op(node.name, b.name(x), alpha=float(alpha))


@form(Hardsigmoid)
def hardsigmoid(b: Builder, node: Node, x: Value) -> str:
    return b.HardSigmoid(b.name(x), alpha=1 / 6, beta=0.5)


@form(Hardswish)
def hardswish(b: Builder, node: Node, x: Value) -> str:
    return b.HardSwish(b.name(x))


@form(Hardshrink, Softshrink)
def shrink(b: Builder, node: Node, x: Value, edge: float) -> str:
    bias = float(edge) if node.op is Softshrink else 0.0
    return b.Shrink(b.name(x), lambd=float(edge), bias=bias)


@form(Softmax, LogSoftmax)
def softmax(b: Builder, node: Node, x: Value, dim: int) -> str:
    return b.op(node.name, b.name(x), axis=dim)


@form(Cast, ToCopy, ToInteger)
def cast(b: Builder, node: Node, x: Value, dtype: Any) -> str:
    return b.name(x, dtype)


@form(Clone, ToDevice, Identity)
def same(b: Builder, node: Node, x: Value, *where: Any) -> str:
    return b.name(x)


# ---- reductions ---------------------------------------------------------------------------------

REDUCE = {
    Sum: "ReduceSum", Mean: "ReduceMean", Prod: "ReduceProd", Amax: "ReduceMax",
    Amin: "ReduceMin", MaxOfAll: "ReduceMax", MinOfAll: "ReduceMin",
    Logsumexp: "ReduceLogSumExp",
}  # fmt: skip


@form(*REDUCE)
def reduction(b: Builder, node: Node, x: Value, dims: Any, keepdim: bool, dtype: Any = None) -> str:
    return b.reduce(REDUCE[node.op], b.name(x, node.outputs[0].dtype), dims or (), keepdim)


@form(Any_, All_)
def any_or_all(b: Builder, node: Node, x: Value, dims: Any, keepdim: bool) -> str:
    kind = "ReduceMax" if node.op is Any_ else "ReduceMin"
    name = b.name(b.name(x, torch.bool))
    return b.cast(b.reduce(kind, b.cast(name, torch.int32), dims or (), keepdim), torch.bool)


def count(shape: tuple, dims: Any) -> Any:
    """How many elements a reduction over dims adds up; an int or a Size."""
    total: Any = 1
    for dim in dims or range(len(shape)):
        total = total * shape[dim]
    return total


@form(Var, Std)
def variance(b: Builder, node: Node, x: Value, dims: Any, keepdim: bool, correction: float) -> str:
    if isinstance(correction, float) and correction.is_integer():
        correction = int(correction)
    name = b.name(x)
    away = b.Sub(name, b.reduce("ReduceMean", name, dims or (), True))
    total = b.reduce("ReduceSum", b.Mul(away, away), dims or (), keepdim)
    freedom: Any = count(x.shape, dims) - correction
    if not isinstance(freedom, Size):
        freedom = max(float(freedom), 0.0)
    result = b.Div(total, b.name(freedom, x.dtype))
    return b.Sqrt(result) if node.op is Std else result


@form(LinalgVectorNorm)
def vector_norm(b: Builder, node: Node, x: Value, p: float, dims: Any, keepdim: bool) -> str:
    name = b.name(x, node.outputs[0].dtype)
    if p in (1, 2):
        return b.reduce(f"ReduceL{int(p)}", name, dims or (), keepdim)
    if abs(p) == math.inf:
        kind = "ReduceMax" if p > 0 else "ReduceMin"
        return b.reduce(kind, b.Abs(name), dims or (), keepdim)
    f = Typed(b, x.dtype)
    total = b.reduce("ReduceSum", f.Pow(b.Abs(name), float(p)), dims or (), keepdim)
    return f.Pow(total, 1 / p)


def flat(b: Builder, x: Value, dim: int | None) -> tuple[str, int]:
    """x and the dim, or all of x in one."""
    return (b.reshape(b.name(x), [-1]), 0) if dim is None else (b.name(x), dim)


@form(Argmax, Argmin)
def position(b: Builder, node: Node, x: Value, dim: int | None, keepdim: bool) -> str:
    name, axis = flat(b, x, dim)
    kind = "ArgMax" if node.op is Argmax else "ArgMin"
    found = b.op(kind, name, axis=axis, keepdims=int(keepdim and dim is not None))
    if keepdim and dim is None:
        return b.reshape(found, [1] * len(x.shape))
    return found


@form(Max, Min)
def extreme(b: Builder, node: Node, x: Value, dim: int, keepdim: bool) -> tuple[str, str]:
    values = b.reduce(f"Reduce{node.name}", b.name(x), [dim], keepdim)
    return values, b.op(f"Arg{node.name}", b.name(x), axis=dim, keepdims=int(keepdim))


@form(Topk, Sort)
def topk(b: Builder, node: Node, x: Value, dim: int, keepdim: bool, *rest: Any) -> Any:
    k, largest = rest if node.op is Topk else (x.shape[dim], rest[0])
    return b.TopK(b.name(x), b.ints([k]), outputs=2, axis=dim, largest=int(largest))


@form(Argsort)
def argsort(b: Builder, node: Node, x: Value, dim: int, descending: bool) -> str:
    return topk(b, Node(Sort, (), "", ""), x, dim, True, descending)[1]


@form(Cumsum)
def cumsum(
    b: Builder, node: Node, x: Value, dim: int, dtype: Any = None, back: bool = False
) -> str:
    name = b.name(x, node.outputs[0].dtype)
    return b.CumSum(name, b.name(dim, torch.int64), reverse=int(back))
