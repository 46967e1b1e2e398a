"""What ops become in C: loops over elements, or calls of library.py's functions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tiny_torch.ops.elementwise.arithmetic import (
    Add,
    Addcmul,
    Clamp,
    Div,
    Lerp,
    Mul,
    Pow,
    Sub,
    Where,
)
from tiny_torch.ops.elementwise.cast import Cast, ToCopy, ToInteger
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
from tiny_torch.ops.elementwise.unary import (
    Abs,
    Atan,
    Ceil,
    Cos,
    Cosh,
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
    Reciprocal,
    Relu,
    Round,
    Rsqrt,
    Sigmoid,
    Sin,
    Sinh,
    Sqrt,
    Square,
    Tan,
    Tanh,
    Trunc,
)
from tiny_torch.ops.index.masks import MaskedFill
from tiny_torch.ops.linalg.matmul import Bmm, Dot, Linear, Matmul, MatmulDot, MatmulMv, Mm, Mv
from tiny_torch.ops.linalg.products import Addmm, Baddbmm
from tiny_torch.ops.nn.activation import (
    Elu,
    Gelu,
    GeluTanh,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    HardtanhInPlace,
    LeakyRelu,
    LeakyReluInPlace,
    Silu,
    Threshold,
)
from tiny_torch.ops.nn.attention import ScaledDotProductFlashAttentionForCpu
from tiny_torch.ops.nn.embedding import Embedding
from tiny_torch.ops.nn.padding import ConstantPadNd
from tiny_torch.ops.nn.shuffle import PixelShuffle
from tiny_torch.ops.nn.softmax import LogSoftmax, Softmax
from tiny_torch.ops.reduce.sums import (
    Amax,
    Amin,
    Argmax,
    Argmin,
    MaxOfAll,
    Mean,
    MinOfAll,
    Prod,
    Sum,
)
from tiny_torch.ops.shape.arrange import Repeat
from tiny_torch.ops.shape.join import Cat, Stack
from tiny_torch.ops.shape.split import Pieces, Rows
from tiny_torch.ops.shape.views import Expand, Permute, T, Transpose
from tiny_torch.tools.export.c.plan import PARTS, SAME, View, strides_of, views_of, whole
from tiny_torch.tools.export.c.writing import SCRATCH, Writer, broadcast_view, form, number, type_of
from tiny_torch.tools.export.graph import ExportError, Node, Value

# ---- elementwise

UNARY = {
    Relu: "{0} < 0.0f ? 0.0f : {0}", Exp: "expf({0})", Log: "logf({0})",
    Sqrt: "sqrtf({0})", Rsqrt: "1.0f / sqrtf({0})", Tanh: "tanhf({0})",
    Erf: "erff({0})", Sigmoid: "1.0f / (1.0f + expf(-{0}))", Abs: "fabsf({0})",
    Neg: "-{0}", Floor: "floorf({0})", Ceil: "ceilf({0})", Round: "rintf({0})",
    Trunc: "truncf({0})", Sin: "sinf({0})", Cos: "cosf({0})", Tan: "tanf({0})",
    Atan: "atanf({0})", Sinh: "sinhf({0})", Cosh: "coshf({0})", Square: "{0} * {0}",
    Reciprocal: "1.0f / {0}", Log1p: "log1pf({0})", Expm1: "expm1f({0})",
    Log2: "log2f({0})", Log10: "log10f({0})", Exp2: "exp2f({0})",
    Gelu: "0.5f * {0} * (1.0f + erff({0} * 0.70710678f))",
    GeluTanh: "0.5f * {0} * (1.0f + tanhf(0.79788456f * ({0} + 0.044715f * {0} * {0} * {0})))",
    Silu: "{0} / (1.0f + expf(-{0}))",
    Hardsigmoid: "{0} < -3.0f ? 0.0f : {0} > 3.0f ? 1.0f : ({0} + 3.0f) / 6.0f",
    Hardswish: "{0} * fminf(fmaxf({0} + 3.0f, 0.0f), 6.0f) / 6.0f",
}  # fmt: skip
BINARY = {
    Add: "{0} + {1}", Sub: "{0} - {1}", Mul: "{0} * {1}", Div: "{0} / {1}",
    # where neither holds, one is NaN, and so is the sum
    Maximum: "{0} < {1} ? {1} : {0} >= {1} ? {0} : {0} + {1}",
    Minimum: "{0} > {1} ? {1} : {0} <= {1} ? {0} : {0} + {1}",
}  # fmt: skip
COMPARE = {
    Eq: "{0} == {1}", Ne: "{0} != {1}", Lt: "{0} < {1}", Le: "{0} <= {1}",
    Gt: "{0} > {1}", Ge: "{0} >= {1}", LogicalAnd: "{0} && {1}", LogicalOr: "{0} || {1}",
    LogicalXor: "!{0} != !{1}",
}  # fmt: skip


def map_elements(w: Writer, node: Node, text: str, *operands: Any, kind: str = "") -> None:
    """One loop over the result: values are operands of the text, numbers are written into it.

    All are converted to `kind`, by default the result's C type.
    """
    out = node.outputs[0]
    kind = kind or type_of(out)
    values: list[Value] = []
    words = []
    for x in operands:
        if isinstance(x, Value):
            same = type_of(x, node.place) == kind
            words.append(f"{{{len(values)}}}" if same else f"({kind}){{{len(values)}}}")
            values.append(x)
        else:
            words.append(f"({number(x, kind)})")
    w.elementwise(out, values, text.format(*words))


@form(*UNARY)
def write_unary(w: Writer, node: Node, x: Value) -> None:
    if type_of(node.outputs[0], node.place) != "float" and node.op not in (Neg, Square):
        raise ExportError(f"{node.name} of integers has no form in C; {node.place}")
    map_elements(w, node, UNARY[node.op], x)


@form(*BINARY)
def write_binary(w: Writer, node: Node, x: Any, y: Any) -> None:
    map_elements(w, node, BINARY[node.op], x, y)


@form(Pow)
def write_power(w: Writer, node: Node, x: Any, y: Any) -> None:
    if type_of(node.outputs[0], node.place) != "float":
        raise ExportError(f"Pow of integers has no form in C; {node.place}")
    if y in (2, 3) and not isinstance(y, Value):
        map_elements(w, node, " * ".join(["{0}"] * int(y)), x)
    else:
        map_elements(w, node, "powf({0}, {1})", x, y)


@form(*COMPARE)
def write_compare(w: Writer, node: Node, x: Any, y: Any) -> None:
    floats = [isinstance(v, float) or (isinstance(v, Value) and type_of(v) == "float")
              for v in (x, y)]  # fmt: skip
    map_elements(w, node, COMPARE[node.op], x, y, kind="float" if any(floats) else "int64_t")


@form(BitwiseAnd, BitwiseOr, BitwiseXor)
def write_bits(w: Writer, node: Node, x: Any, y: Any) -> None:
    sign = {BitwiseAnd: "&", BitwiseOr: "|", BitwiseXor: "^"}[node.op]
    kind = type_of(node.outputs[0], node.place)
    map_elements(w, node, f"({kind})({{0}} {sign} {{1}})", x, y)


@form(BitwiseNot, LogicalNot)
def write_logical_not(w: Writer, node: Node, x: Value) -> None:
    if type_of(node.outputs[0]) != "uint8_t" or str(x.dtype) != "torch.bool":
        raise ExportError(f"{node.name} of {x.dtype} has no form in C; {node.place}")
    map_elements(w, node, "!{0}", x)


@form(Where)
def write_where(w: Writer, node: Node, condition: Value, x: Any, y: Any) -> None:
    out = node.outputs[0]
    kind = type_of(out, node.place)
    values = [v for v in (condition, x, y) if isinstance(v, Value)]
    words = [f"({kind}){{{values.index(v)}}}" if isinstance(v, Value) else number(v, kind)
             for v in (x, y)]  # fmt: skip
    w.elementwise(out, values, f"{{0}} ? {words[0]} : {words[1]}")


@form(MaskedFill)
def write_masked_fill(w: Writer, node: Node, x: Value, mask: Value, value: Any) -> None:
    write_where(w, node, mask, value, x)


@form(Clamp, Hardtanh, HardtanhInPlace)
def write_clamp(w: Writer, node: Node, x: Value, low: Any, high: Any) -> None:
    text, operands = "{0}", [x]
    for bound, sign in ((low, "<"), (high, ">")):
        if bound is not None:
            operands.append(bound)
            there = f"{{{len(operands) - 1}}}"
            text = f"({text} {sign} {there} ? {there} : {text})"
    map_elements(w, node, text, *operands)


@form(LeakyRelu, LeakyReluInPlace)
def write_leaky_relu(w: Writer, node: Node, x: Value, slope: float) -> None:
    map_elements(w, node, "{0} > 0.0f ? {0} : {0} * {1}", x, slope)


@form(Elu)
def write_elu(w: Writer, node: Node, x: Value, alpha: float) -> None:
    map_elements(w, node, "{0} > 0.0f ? {0} : {1} * expm1f({0})", x, alpha)


@form(Threshold)
def write_threshold(w: Writer, node: Node, x: Value, limit: float, value: float) -> None:
    map_elements(w, node, "{0} <= {1} ? {2} : {0}", x, limit, value)


@form(Lerp)
def write_lerp(w: Writer, node: Node, x: Any, y: Any, weight: Any) -> None:
    map_elements(w, node, "{0} + {2} * ({1} - {0})", x, y, weight)


@form(Addcmul)
def write_addcmul(w: Writer, node: Node, x: Any, y: Any, z: Any) -> None:
    map_elements(w, node, "{0} + {1} * {2}", x, y, z)


@form(Cast, ToCopy, ToInteger)
def write_cast(w: Writer, node: Node, x: Value, dtype: Any) -> None:
    kind, to = type_of(x, node.place), type_of(node.outputs[0], node.place)
    if str(dtype) == "torch.bool":
        map_elements(w, node, "{0} != 0", x, kind=kind)
    elif kind == "float" and to != "float":  # in C, what has no place in the integer is undefined
        bits = 64 if to == "int64_t" else 32
        inside = f"{{0}} >= -0x1p{bits - 1}f && {{0}} < 0x1p{bits - 1}f"
        map_elements(w, node, f"{inside} ? (int{bits}_t){{0}} : INT{bits}_MIN", x, kind=kind)
    else:
        map_elements(w, node, "{0}", x)


# ---- views, joins

VIEWS = (*SAME, *PARTS, Expand, Transpose, T, Permute, Pieces, Rows)


@form(*VIEWS)
def write_copy_of_view(w: Writer, node: Node, x: Value, *rest: Any) -> None:
    for value, view in zip(node.outputs, views_of(node) or [], strict=True):
        if not view.is_contiguous:
            w.loops(w.pointer(value), whole(value.shape), [(w.pointer(x), view)], "{0}")


@form(Cat, Stack)
def write_cat(w: Writer, node: Node, *arguments: Any) -> None:
    *values, dim = arguments
    out = node.outputs[0]
    dim %= len(out.shape)
    strides, at = strides_of(out.shape), 0
    for x in values:
        shape = list(x.shape)
        if node.op is Stack:
            shape.insert(dim, 1)
        elif x.shape == (0,):
            continue
        target = View(tuple(shape), strides, at * strides[dim])
        text = "{0}" if type_of(x) == type_of(out) else f"({type_of(out)}){{0}}"
        w.loops(w.pointer(out), target, [(w.pointer(x), whole(shape))], text)
        at += shape[dim]


@form(ConstantPadNd)
def write_pad(w: Writer, node: Node, x: Value, sides: tuple, value: float) -> None:
    if min(sides) < 0:
        raise ExportError(f"negative padding has no form in C; {node.place}")
    out = node.outputs[0]
    w.elementwise(out, [], number(value, type_of(out, node.place)))
    strides = strides_of(out.shape)
    offset = sum(strides[-1 - i // 2] * sides[i] for i in range(0, len(sides), 2))
    target = View(x.shape, strides, offset)
    w.loops(w.pointer(out), target, [(w.pointer(x), whole(x.shape))], "{0}")


@form(Repeat)
def write_repeat(w: Writer, node: Node, x: Value, repeats: tuple) -> None:
    out = node.outputs[0]
    lead = (1,) * (len(repeats) - len(x.shape))
    source = whole((*lead, *x.shape))
    pairs = list(zip(repeats, source.shape, strict=True))
    shape = tuple([n for pair in pairs for n in pair])
    strides = tuple([s for stride in source.strides for s in (0, stride)])
    w.loops(w.pointer(out), whole(shape), [(w.pointer(x), View(shape, strides))], "{0}")


@form(PixelShuffle)
def write_pixel_shuffle(w: Writer, node: Node, x: Value, r: int) -> None:
    out = node.outputs[0]
    *_, h, width = out.shape
    shape = (prod(out.shape[:-2]), h // r, r, width // r, r)
    plane = h // r * (width // r)  # of the input
    strides = (r * r * plane, width // r, r * plane, 1, plane)
    w.loops(w.pointer(out), whole(shape), [(w.pointer(x), View(shape, strides))], "{0}")


@form(Embedding)
def write_embedding(w: Writer, node: Node, table: Value, index: Value, *rest: Any) -> None:
    rows, width = prod(index.shape), table.shape[1]
    out, source, at = (w.pointer(v) for v in (node.outputs[0], table, index))
    w.lines.append(
        f"for (int i = 0; i < {rows}; i++) memcpy({out} + (size_t)i * {width}, {source} + "
        f"(size_t)({at})[i] * {width}, {width} * sizeof(float));"
    )


# ---- reductions

REDUCE = {  # how it begins, how it goes on, how it ends
    Sum: ("0", "acc += {0}", "acc"), Mean: ("0", "acc += {0}", "acc / {1}"),
    Prod: ("1", "acc *= {0}", "acc"),
    Amax: ("-INFINITY", "acc = {0} > acc || {0} != {0} ? {0} : acc", "acc"),
    Amin: ("INFINITY", "acc = {0} < acc || {0} != {0} ? {0} : acc", "acc"),
}  # fmt: skip


@form(*REDUCE, MaxOfAll, MinOfAll)
def write_reduction(w: Writer, node: Node, x: Value, dims: Any, keepdim: bool, *rest: Any) -> None:
    op = {MaxOfAll: Amax, MinOfAll: Amin}.get(node.op, node.op)
    if type_of(x, node.place) != "float" or type_of(node.outputs[0]) != "float":
        raise ExportError(f"{node.name} of {x.dtype} has no form in C; {node.place}")
    first, step, last = REDUCE[op]
    ndim = len(x.shape)
    gone = sorted({d % ndim for d in dims}) if dims and ndim else list(range(ndim))
    kept = [d for d in range(ndim) if d not in gone]
    strides = strides_of(x.shape)
    lines = [f"{{ float *to = {w.pointer(node.outputs[0])};"]
    lines += [f"for (int i{d} = 0; i{d} < {x.shape[d]}; i{d}++)" for d in kept]
    lines += ["{", f"float acc = {first};"]
    lines += [f"for (int i{d} = 0; i{d} < {x.shape[d]}; i{d}++)" for d in gone]
    at = " + ".join([f"i{d} * {strides[d]}" for d in range(ndim)]) or "0"
    lines += [f"  {step.format(f'({w.pointer(x)})[{at}]')};"]
    count = prod([x.shape[d] for d in gone])
    w.lines += [*lines, f"*to++ = {last.format('', f'{count}.0f')};", "} }"]


@form(Argmax, Argmin)
def write_position(w: Writer, node: Node, x: Value, dim: int | None, keepdim: bool) -> None:
    if type_of(x, node.place) != "float":
        raise ExportError(f"{node.name} of {x.dtype} has no form in C; {node.place}")
    outer, n, inner = around(x.shape if dim is not None else (prod(x.shape),), dim or 0)
    sign = ">" if node.op is Argmax else "<"
    w.lines += [
        f"for (int o = 0; o < {outer}; o++) for (int i = 0; i < {inner}; i++) {{",
        f"const float *row = {w.pointer(x)} + (size_t)o * {n * inner} + i;",
        "int best = 0;",
        f"for (int k = 1; k < {n}; k++) {{",
        f"  const float v = row[(size_t)k * {inner}], top = row[(size_t)best * {inner}];",
        f"  if (v {sign} top || (v != v && top == top)) best = k;",
        "}",
        f"({w.pointer(node.outputs[0])})[o * {inner} + i] = best;",
        "}",
    ]


def around(shape: Sequence[int], dim: int) -> tuple[int, int, int]:
    """How many elements come before a dim, along it, and after it."""
    dim %= max(len(shape), 1)
    return prod(shape[:dim]), (shape[dim] if shape else 1), prod(shape[dim + 1 :])


@form(Softmax, LogSoftmax)
def write_softmax(w: Writer, node: Node, x: Value, dim: int) -> None:
    sizes = around(x.shape, dim)
    w.call("softmax", w.pointer(x), w.pointer(node.outputs[0]), *sizes, int(node.op is not Softmax))


# ---- products


@form(Linear)
def write_linear(w: Writer, node: Node, x: Value, weight: Value, bias: Value | None) -> None:
    if not weight.is_constant:
        raise ExportError(f"Linear needs a constant weight in C; {node.place}")
    out = node.outputs[0]
    rows = prod(x.shape[:-1])
    w.call("matmul", w.pointer(x), w.transpose_weight(weight), w.or_null(bias), w.pointer(out),
           rows, weight.shape[1], weight.shape[0], 0)  # fmt: skip


@form(Matmul, Mm, Bmm, Mv, Dot, MatmulMv, MatmulDot, Baddbmm, Addmm)
def write_matmul(w: Writer, node: Node, x: Value, y: Value, *rest: Any) -> None:
    out = node.outputs[0]
    add = 0
    if rest:
        (added, x, y), (beta, alpha) = (x, y, rest[0]), rest[1:]
        if (beta, alpha) != (1, 1):
            raise ExportError(f"{node.name} with beta or alpha has no form in C; {node.place}")
        w.elementwise(out, [added], "{0}")
        add = 1
    left = (1, *x.shape) if len(x.shape) == 1 else x.shape
    right = (*y.shape, 1) if len(y.shape) == 1 else y.shape
    lead = np.broadcast_shapes(left[:-2], right[:-2])
    rows, inner, cols = left[-2], left[-1], right[-1]
    pointers = [w.pointer(v) for v in (x, y, out)]
    steps = []
    for shape, size in ((left, rows * inner), (right, inner * cols)):
        strides = tuple([size * s for s in strides_of(shape[:-2])])
        steps.append(broadcast_view(View(tuple(shape[:-2]), strides), lead).strides)
    steps.append(tuple([rows * cols * s for s in strides_of(lead)]))
    for d, n in enumerate(lead):
        w.lines.append(f"for (int i{d} = 0; i{d} < {n}; i{d}++)")
    offsets = [
        "".join([f" + (size_t)i{d} * {s}" for d, s in enumerate(step) if s]) for step in steps
    ]
    a, b, c = (p + offset for p, offset in zip(pointers, offsets, strict=True))
    w.call("matmul", a, b, "NULL", c, rows, inner, cols, add)


@form(ScaledDotProductFlashAttentionForCpu)
def write_attention(w: Writer, node: Node, q: Value, k: Value, v: Value, mask: Value | None,
              causal: bool, scale: float) -> None:  # fmt: skip
    if mask is not None and type_of(mask, node.place) != "float":
        raise ExportError(f"attention by a bool mask has no form in C: add -inf; {node.place}")
    length, e = q.shape[-2:]
    s, d = v.shape[-2:]
    lead = q.shape[:-2]
    operands = [(q, length * e), (k, s * e), (v, s * d), (node.outputs[0], length * d)]
    pointers = []
    for value, size in operands:
        terms = [f" + (size_t)i{i} * {n * size}" for i, n in enumerate(strides_of(lead))]
        pointers.append(w.pointer(value) + "".join(terms))
    for i, n in enumerate(lead):
        w.lines.append(f"for (int i{i} = 0; i{i} < {n}; i{i}++)")
    row, step = "NULL", 0
    if mask is not None:
        view = broadcast_view(whole(mask.shape), (*lead, length, s))
        if s > 1 and view.strides[-1] != 1:
            raise ExportError(f"a mask that is broadcast along keys; {node.place}")
        terms = [f" + (size_t)i{i} * {n}" for i, n in enumerate(view.strides[:-2]) if n]
        row, step = w.pointer(mask) + "".join(terms), view.strides[-2]
    q_, k_, v_, out = pointers
    w.call("attention", q_, k_, v_, row, out, w.scratch(node), length, s, e, d, step, int(causal),
           number(scale, "float"))  # fmt: skip


SCRATCH[ScaledDotProductFlashAttentionForCpu] = lambda node: node.arguments[1].shape[-2]
