"""Where each tensor of a C file lies: aliases of one another, and offsets in static arrays.

Every tensor is stored contiguous. A view that is a contiguous part of its input is the input's
memory at an offset; any other view is a copy. Tensors whose lives do not overlap share memory:
the largest gets its offset first, each the lowest at which it meets no tensor that lives at the
same time ("greedy by size", Pisarchyk & Lee 2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

from tiny_torch.autograd.graph import Identity
from tiny_torch.ops.elementwise.cast import Clone, ToDevice
from tiny_torch.ops.shape import views
from tiny_torch.ops.shape.split import Pieces, Rows
from tiny_torch.ops.shape.views import (
    Alias,
    Expand,
    Part,
    Permute,
    Reshape,
    Select,
    Slice,
    Squeeze,
    T,
    Transpose,
    Unsqueeze,
)
from tiny_torch.tools.export.graph import ExportError, Graph, Node, Value

ALIGNMENT = 16  # elements


class View(NamedTuple):
    """How elements of a contiguous tensor are shown: as in NumPy, in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @property
    def is_contiguous(self) -> bool:
        wanted = strides_of(self.shape)
        dims = zip(self.shape, self.strides, wanted, strict=True)
        return all(n <= 1 or stride == want for n, stride, want in dims)


def strides_of(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple([prod(shape[d + 1 :]) for d in range(len(shape))])


def whole(shape: Sequence[int]) -> View:
    return View(tuple(shape), strides_of(shape))


def apply_steps(view: View, steps: tuple, place: str) -> View:
    """The view after a chain of view methods, which ops/shape/views.py calls steps."""
    shape, strides, offset = list(view.shape), list(view.strides), view.offset
    for method, given in steps:
        if method == "unsqueeze":
            dim = given[0] % (len(shape) + 1)
            shape.insert(dim, 1)
            strides.insert(dim, 0)
            continue
        if method == "squeeze":
            dims = given[0] if isinstance(given[0], tuple) else given
            gone = {d % len(shape) for d in dims if shape[d] == 1}
            strides = [s for d, s in enumerate(strides) if d not in gone]
            shape = [n for d, n in enumerate(shape) if d not in gone]
            continue
        if method not in ("select", "slice"):
            raise ExportError(f"a view by {method} has no form in C; {place}")
        dim = given[0] % len(shape)
        if method == "select":
            offset += strides[dim] * (given[1] % shape[dim])
            del shape[dim], strides[dim]
        else:
            start, stop, step = given[1:]
            offset += strides[dim] * start
            shape[dim] = max(0, -(-(stop - start) // step))
            strides[dim] *= step
    return View(tuple(shape), tuple(strides), offset)


PARTS = (Part, Select, Slice, Squeeze, Unsqueeze)
SAME = (views.View, Reshape, Alias, Clone, Identity, ToDevice)


def views_of(node: Node) -> list[View] | None:
    """What the outputs show of the first input, if the op is a view of it."""
    op, (x, *rest) = node.op, node.arguments or (None,)
    if not isinstance(x, Value):
        return None
    if op in SAME:
        return [whole(node.outputs[0].shape)]
    given = whole(x.shape)
    if op in PARTS:
        return [apply_steps(given, rest[0], node.place)]
    if op is Expand:
        shape = node.outputs[0].shape
        lead = len(shape) - len(x.shape)
        strides = [s if n > 1 else 0 for n, s in zip(given.shape, given.strides, strict=True)]
        return [View(shape, (0,) * lead + tuple(strides))]
    if op in (Transpose, T, Permute):
        order = list(range(len(x.shape)))
        if op is Permute:
            order = [d % len(x.shape) for d in rest[0]]
        elif order:
            i, k = (d % len(order) for d in (rest or (0, 1)))
            order[i], order[k] = order[k], order[i]
        turned = [tuple([sizes[d] for d in order]) for sizes in (given.shape, given.strides)]
        return [View(turned[0], turned[1])]
    if op is Pieces:
        dim, sizes = rest[0] % len(x.shape), rest[1]
        ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
        pairs = zip(sizes, ends, strict=True)
        return [apply_steps(given, (("slice", (dim, e - n, e, 1)),), "") for n, e in pairs]
    if op is Rows:
        rows = range(len(node.outputs))
        return [apply_steps(given, (("select", (rest[0], i)),), "") for i in rows]
    return None


class Plan:
    """The memory of each value. `arenas`: elements of the static array of each C type."""

    def __init__(self, graph: Graph, types: dict[int, str], scratch: dict[int, int]) -> None:
        """`types`: the C type of each value; `scratch`: floats that a node needs while it runs."""
        self.alias: dict[int, tuple[Value, int]] = {}  # a value's memory: another's, and an offset
        self.offset: dict[int, int] = {}
        self.scratch: dict[int, int] = {}  # its offset, by node
        self.arenas: dict[str, int] = {}
        self.bytes = 0  # without sharing
        self.given: dict[int, int] = {}  # values in an output's memory: which output
        for node in graph.nodes:
            views = views_of(node) or []
            for value, view in zip(node.outputs, views, strict=False):
                if view.is_contiguous:
                    root, offset = self.root(node.arguments[0])
                    self.alias[id(value)] = root, offset + view.offset
        for i, value in enumerate(graph.outputs):
            root, offset = self.root(value)
            if root.node is not None and not offset and prod(root.shape) == prod(value.shape):
                self.given.setdefault(id(root), i)
        self.place(graph, types, scratch)

    def root(self, value: Value) -> tuple[Value, int]:
        return self.alias.get(id(value), (value, 0))

    def place(self, graph: Graph, types: dict[int, str], scratch: dict[int, int]) -> None:
        born: dict[int, int] = {}
        died: dict[int, int] = {}
        values: dict[int, Value] = {}
        for i, node in enumerate(graph.nodes):
            for value in node.outputs:
                if id(value) not in self.alias and id(value) not in self.given:
                    born[id(value)], values[id(value)] = i, value
            for value in (*node.inputs, *node.outputs):
                died[id(self.root(value)[0])] = i
        for value in graph.outputs:
            died[id(self.root(value)[0])] = len(graph.nodes)
        wanted: list[tuple[int, int, int, str, Any]] = [
            (round_up(prod(value.shape)), born[key], died[key], types[key], value)
            for key, value in values.items()
        ]
        wanted += [
            (round_up(n), i, i, "float", graph.nodes[i]) for i, n in scratch.items() if n > 0
        ]
        placed: list[tuple[int, int, int, int, str]] = []
        for size, start, stop, kind, owner in sorted(wanted, key=lambda w: -w[0]):
            at = 0
            for low, high, begin, end, other in sorted(placed):
                if other == kind and begin <= stop and start <= end and low < at + size:
                    at = max(at, high)
            placed.append((at, at + size, start, stop, kind))
            (self.scratch if isinstance(owner, Node) else self.offset)[id(owner)] = at
            self.arenas[kind] = max(self.arenas.get(kind, 0), at + size)
            self.bytes += size * {"int64_t": 8, "uint8_t": 1}.get(kind, 4)


def round_up(count: int) -> int:
    return -(-max(count, 1) // ALIGNMENT) * ALIGNMENT
