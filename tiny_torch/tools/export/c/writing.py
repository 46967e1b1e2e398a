"""Writes the text of a C file: constants, loops over elements, calls of library.py's functions.

What an op becomes stands in FORMS: a function of the writer, the node and the op's arguments,
registered by `form`, which emits statements.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from tiny_torch.tools.export.c.library import NEEDS
from tiny_torch.tools.export.c.plan import Plan, View, whole
from tiny_torch.tools.export.graph import ExportError, Graph, Node, Value

FORMS: dict[Any, Callable[..., None]] = {}  # by an op's class
SCRATCH: dict[Any, Callable[[Node], int]] = {}  # floats that an op needs while it runs
TYPES = {
    "float32": "float", "int64": "int64_t", "int32": "int32_t", "bool": "uint8_t",
    "uint8": "uint8_t",
}  # fmt: skip


def form(*ops: Any) -> Callable[[Callable], Callable]:
    """What nodes of these ops become in C."""

    def register(function: Callable) -> Callable:
        for op in ops:
            FORMS[op] = function
        return function

    return register


def type_of(value: Value, place: str = "") -> str:
    name = str(value.dtype).rpartition(".")[2]
    if name not in TYPES:
        raise ExportError(f"{name} has no form in C here; {place or value.name}")
    return TYPES[name]


def number(x: Any, kind: str) -> str:
    """A number as a literal of a C type; floats exactly, in hexadecimal."""
    if kind != "float":  # a literal has no sign, and none of its types has 2 ** 63
        return "INT64_MIN" if int(x) == -(1 << 63) else str(int(x))
    return hexadecimal(float(np.float32(x)))


def hexadecimal(x: float) -> str:
    """A float32 as a literal: 0.1 is 0x1.99999ap-4f."""
    if x - x != 0:
        return "NAN" if x != x else "INFINITY" if x > 0 else "-INFINITY"
    mantissa, _, exponent = x.hex().partition("p")
    return f"{mantissa.rstrip('0').rstrip('.')}p{exponent}f" if x else f"{x}f"


def identifier(text: str) -> str:
    found = re.sub(r"\W", "_", text, flags=re.ASCII)
    return f"_{found}" if not found or found[0].isdigit() else found


class Writer:
    """The statements of the model's function, and what they need."""

    def __init__(self, graph: Graph, taken: set[str]) -> None:
        """`taken`: names that stand for something else in the file."""
        self.graph = graph
        self.types: dict[int, str] = {}
        for node in graph.nodes:
            for value in node.outputs:
                self.types[id(value)] = type_of(value, node.place)
        scratch = {
            i: SCRATCH[node.op](node) for i, node in enumerate(graph.nodes) if node.op in SCRATCH
        }
        self.plan = Plan(graph, self.types, scratch)
        self.lines: list[str] = []
        self.used: set[str] = set()
        self.constants: dict[tuple, tuple[str, np.ndarray, str]] = {}  # name, elements, comment
        self.names: dict[int, str] = {}
        taken = {*taken, *self.types.values()}
        for value in graph.inputs:
            self.names[id(value)] = unique(identifier(value.name), taken)
        self.outputs = [unique(identifier(f"output_{i}" if i else "output"), taken)
                        for i in range(len(graph.outputs))]  # fmt: skip
        self.taken = taken

    # ---- pointers ------------------------------------------------------------------------------

    def pointer(self, value: Value) -> str:
        """An expression of the value's first element."""
        root, offset = self.plan.root(value)
        if id(root) in self.plan.given:
            name = self.outputs[self.plan.given[id(root)]]
        elif id(root) in self.plan.offset:
            offset += self.plan.offset[id(root)]
            name = f"arena_{self.types[id(root)]}"
        elif root.from_input:
            name = self.names[id(root)]
        else:
            name = self.constant(root.numpy(), root.name or "constant", type_of(root))
        return f"{name} + {offset}" if offset else name

    def constant(self, array: np.ndarray, name: str, kind: str = "float") -> str:
        """An array of the file; of equal elements there is one."""
        key = kind, array.shape, array.tobytes()
        if key not in self.constants:
            c_name = unique(identifier(f"w_{name}"), self.taken)
            self.constants[key] = c_name, array, f"{name}: {kind}{list(array.shape)}"
        return self.constants[key][0]

    def transpose_weight(self, value: Value | None) -> str:
        """A constant matrix (out, in) as (in, out), along whose rows products run."""
        if value is None:
            return "NULL"
        array = np.ascontiguousarray(value.numpy().T)
        return self.constant(array, f"{value.name or 'weight'} transposed")

    def or_null(self, value: Value | None) -> str:
        return "NULL" if value is None else self.pointer(value)

    def scratch(self, node: Node) -> str:
        return f"arena_float + {self.plan.scratch[id(node)]}"

    # ---- statements ----------------------------------------------------------------------------

    def call(self, function: str, *arguments: Any) -> None:
        self.need(function)
        self.lines.append(f"{function}({', '.join(map(str, arguments))});")

    def need(self, function: str) -> None:
        self.used.update((function, *NEEDS.get(function, ())))

    def loops(
        self, target: str, view: View, operands: Sequence[tuple[str, View]], text: str
    ) -> None:
        """target[...] = text over all elements; in the text {0} is the first operand's element."""
        shape, views = collapse([view, *[v for _, v in operands]])
        names = [f"i{d}" for d in range(len(shape))]
        for name, n in zip(names, shape, strict=True):
            self.lines.append(f"for (int {name} = 0; {name} < {n}; {name}++)")
        found = [f"({p})[{index(v, names)}]" if "+" in p else f"{p}[{index(v, names)}]"
                 for (p, _), v in zip(operands, views[1:], strict=True)]  # fmt: skip
        left = f"({target})" if "+" in target else target
        self.lines.append(f"  {left}[{index(views[0], names)}] = {text.format(*found)};")

    def elementwise(self, out: Value, operands: Sequence[Value], text: str) -> None:
        """The same for a value, to whose shape the operands are broadcast."""
        pairs = [(self.pointer(x), broadcast_view(whole(x.shape), out.shape)) for x in operands]
        self.loops(self.pointer(out), whole(out.shape), pairs, text)

    def run(self) -> None:
        for node in self.graph.nodes:
            if node.op not in FORMS:
                raise ExportError(f"{node.name} has no form in C; {node.place}")
            before = len(self.lines)
            FORMS[node.op](self, node, *node.arguments)
            if len(self.lines) > before:
                self.lines[before:before] = [comment(f"{node.name}: {node.where} {node.module}")]
        for value, name in zip(self.graph.outputs, self.outputs, strict=True):
            if self.pointer(value) != name:
                kind = type_of(value)
                size = prod(value.shape)
                self.lines.append(
                    f"memcpy({name}, {self.pointer(value)}, {size} * sizeof({kind}));"
                )


def comment(text: str) -> str:
    return f"/* {text.replace('*/', '* /').replace('/*', '/ *').strip()} */"


def unique(name: str, taken: set[str]) -> str:
    found, k = name, 0
    while found in taken or found in KEYWORDS:
        k += 1
        found = f"{name}_{k}"
    taken.add(found)
    return found


_WORDS = """
auto break case char const continue default do double else enum extern float for goto if inline
int long register restrict return short signed sizeof static struct switch typedef union unsigned
void volatile while main y0 y1 yn j0 j1 jn gamma index log exp acc to o i k row best
"""
KEYWORDS = {*_WORDS.split(), *[f"i{d}" for d in range(64)]}
_MATH = """
acos asin atan atan2 cos sin tan acosh asinh atanh cosh sinh tanh exp exp2 expm1 frexp ilogb ldexp
log log10 log1p log2 logb modf scalbn scalbln cbrt fabs hypot pow sqrt erf erfc lgamma tgamma ceil
floor nearbyint rint lrint llrint round lround llround trunc fmod remainder remquo copysign nan
nextafter nexttoward fdim fmax fmin fma
"""
_OTHERS = """
NAN INFINITY NULL isnan isinf isfinite isnormal signbit fpclassify memcpy memmove memset memcmp
memchr strlen strcpy strcat strcmp strchr strstr strtok abs labs div exit abort atexit malloc calloc
realloc free rand srand qsort bsearch system getenv atoi atol atof strtod strtol printf fprintf
sprintf scanf puts gets getc putc fopen fclose fread fwrite fseek ftell remove rename perror stdin
stdout stderr clock time difftime mktime signal size_t ptrdiff_t clock_t time_t int8_t int16_t
int32_t int64_t uint8_t uint16_t uint32_t uint64_t argc argv runs worst wrong start spent want have
away
"""
# What the function of a file cannot be called: the headers, the arrays and the self-test have it.
RESERVED = {
    *[name + suffix for name in _MATH.split() for suffix in ("", "f", "l")],
    *_OTHERS.split(),
    *[f"arena_{kind}" for kind in TYPES.values()],
    *[f"{name}_{i}" for name in ("example", "found", "wanted") for i in range(64)],
}


def broadcast_view(view: View, shape: Sequence[int]) -> View:
    """The view with dims of size 1 repeated."""
    lead = len(shape) - len(view.shape)
    strides = [s if n > 1 else 0 for n, s in zip(view.shape, view.strides, strict=True)]
    return View(tuple(shape), (0,) * lead + tuple(strides), view.offset)


def index(view: View, names: list[str]) -> str:
    """An element's place in memory."""
    terms = [n if s == 1 else f"{n} * {s}" for n, s in zip(names, view.strides, strict=True) if s]
    if view.offset or not terms:
        terms.append(str(view.offset))
    return " + ".join(terms)


def collapse(views: list[View]) -> tuple[list[int], list[View]]:
    """The same elements in as few dims as can be: without sizes of 1, neighbours joined."""
    shape: list[int] = []
    strides: list[list[int]] = [[] for _ in views]
    for d, n in enumerate(views[0].shape):
        if n == 1:
            continue
        steps = [view.strides[d] for view in views]
        joins = bool(shape) and all(
            s[-1] == n * step for s, step in zip(strides, steps, strict=True)
        )
        if joins:
            shape[-1] *= n
        else:
            shape.append(n)
        for s, step in zip(strides, steps, strict=True):
            if joins:
                s[-1] = step
            else:
                s.append(step)
    offsets = [view.offset for view in views]
    return shape, [View(tuple(shape), tuple(s), o) for s, o in zip(strides, offsets, strict=True)]
