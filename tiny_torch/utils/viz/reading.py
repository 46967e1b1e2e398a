"""Reads a graph's nodes: without recursion, for it may be 100,000 ops deep."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from tiny_torch.autograd.function import UserOp
from tiny_torch.autograd.graph import FREED, Node
from tiny_torch.autograd.hooks import RETAIN
from tiny_torch.autograd.saved import Packed
from tiny_torch.autograd.writes import AsStrided, CopySlices
from tiny_torch.nn.modules._parts.backward_gates import BackwardHookFunction
from tiny_torch.ops.shape.split import Pieces, Rows
from tiny_torch.ops.shape.views import (
    Expand,
    Part,
    Permute,
    Reshape,
    Squeeze,
    Transpose,
    Unfold,
    View,
)
from tiny_torch.utils.checkpoint.region import Region
from tiny_torch.utils.viz.facts import Facts, Kind, Leaf, Operation, Saved, Source, count_text

VIEWS = (Part, View, Transpose, Permute, Expand, Unfold, Pieces, Rows, AsStrided)
LAST_STEPS = re.compile("View|UnsafeView|Squeeze|Div|Neg|Add|Mul")  # of PyTorch's nodes
Edge = tuple[Any, int]


def array_kind(array: Any) -> Kind:
    """The shape and dtype of an array or a tensor."""
    return Kind(tuple(array.shape), array.dtype)


def is_array(value: Any) -> bool:
    return hasattr(value, "stamp")


def nodes_behind(edges: Iterable[Edge]) -> list[Node]:
    """All nodes that the edges lead to, the oldest first: backward runs them from the end."""
    found: dict[Node, None] = {}
    waiting = [edge[0] for edge in edges]
    while waiting:
        target = waiting.pop()
        if isinstance(target, Node) and target not in found:
            found[target] = None
            waiting += [edge[0] for edge in target.edges if edge is not None]
    return sorted(found, key=lambda node: node.sequence)


def written_by(node: Node) -> Node:
    """The node of the op itself; CopySlices holds the one that wrote through a view."""
    if node.op is CopySlices and node.saved is not FREED:
        return node.saved[2]
    return node


def stands_for_several(node: Node) -> bool:
    """Whether its name says little: an op of ours has that of the last of PyTorch's nodes."""
    last = node.name().rpartition("::")[2].partition("Backward")[0]
    if isinstance(node.op, UserOp) or not LAST_STEPS.fullmatch(last):
        return False
    return node.op.node_name is not None and node.op not in (Reshape, Squeeze)


def is_gate(node: Node) -> bool:
    """Whether it only calls backward hooks of a module."""
    return isinstance(node.op, UserOp) and node.op.function is BackwardHookFunction


class Reading:
    """The facts of the graph behind some edges, and which node or leaf each is."""

    def __init__(self, title: str, names: dict[int, list[str]]) -> None:
        self.facts = Facts(title)
        self.names = names  # of tensors, by id
        self.nodes: list[Node] = []
        self.tensors: list[Any] = []  # the leaves
        self.numbers: dict[Any, int] = {}  # of nodes and of leaves

    def read(self, edges: Iterable[Edge]) -> None:
        edges = list(edges)
        self.nodes = nodes_behind(edges)
        for number, node in enumerate(self.nodes, 1):
            self.numbers[node] = number
            name = node.name().rpartition("::")[2]
            self.facts.ops.append(Operation(number, name, node.op.outputs))
        for op, node in zip(self.facts.ops, self.nodes, strict=True):
            op.sources = [self.source(node, i) for i in range(len(node.edges))]
            op.saved, op.notes = saved_by(node)
            if isinstance(node.op, type) and issubclass(node.op, VIEWS):
                op.view_of = self.base_of(op)
        for edge in edges:
            self.source_of(edge)
        self.compare_leaves()

    def source_of(self, edge: Edge) -> Source:
        target, output = edge
        if isinstance(target, Node):
            return Source("op", self.numbers[target], output, "")
        if target not in self.numbers:
            self.add_leaf(target)
        return Source("leaf", self.numbers[target], 0, "")

    def source(self, node: Node, i: int) -> Source:
        edge = node.edges[i]
        if edge is not None:
            source = self.source_of(edge)
            if source.kind == "leaf":
                self.facts.leaves[source.number - 1].uses += 1
            return source
        kind = input_kind(node, i)
        return Source("other", -1, 0, "" if kind is None else str(kind))

    def add_leaf(self, tensor: Any) -> None:
        array = tensor.array
        number = self.numbers[tensor] = len(self.tensors) + 1
        self.tensors.append(tensor)
        names = self.names.get(id(tensor), [])
        size = array.size * array.itemsize
        leaf = Leaf(number, names, array_kind(array), size, getattr(array, "storage_id", 0))
        if len(names) > 1:
            leaf.notes.append("one tensor: " + " = ".join(names))
        hooks = len(tensor._hooks or ()) + len(tensor._post_hooks or ())
        if hooks:
            leaf.notes.append(f"{count_text(hooks, 'hook')}, not called here")
        self.facts.leaves.append(leaf)

    def compare_leaves(self) -> None:
        """Notes which leaves share memory, as views of one tensor do."""
        by_storage: dict[int, list[Leaf]] = {}
        for leaf in self.facts.leaves:
            if leaf.storage:
                by_storage.setdefault(leaf.storage, []).append(leaf)
        for first, *others in by_storage.values():
            for leaf in others:
                leaf.notes.append(f"shares memory with {first.name}")

    def base_of(self, op: Operation) -> Source:
        """What the result of a view op shows a part of: no view itself, as far as that is seen."""
        source = op.sources[0]
        while source.kind == "op":
            before = self.facts.ops[source.number - 1].view_of
            if before is None:
                break
            source = before
        return source


def saved_by(node: Node) -> tuple[list[Saved], list[str]]:
    """The arrays that a node holds, and what else is to be said of it."""
    notes, inner = [], written_by(node)
    if stands_for_several(node):
        notes.append(f"{node.op.__name__}, which PyTorch makes of several nodes")
    if is_gate(node):
        notes.append("backward hooks of a module, not called here")
    if inner is not node:
        notes.append(f"{inner.name()} wrote through a view")
    hooks = [hook for _, hook in (node.hooks or {}).values() if hook.turn != RETAIN]
    if hooks and not is_gate(node):
        notes.append(f"{count_text(len(hooks), 'hook')}, not called here")
    values = inner.saved
    if values is FREED or node.saved is FREED:
        return [], [*notes, "what it saved is freed"]
    if isinstance(values, Packed):
        how = "computed again in backward" if region_of(values) else "kept by saved hooks"
        return [], [*notes, f"{count_text(len(values.unpack_hooks), 'saved tensor')} {how}"]
    return [
        saved_value(array, role_of(inner, k)) for k, array in enumerate(values) if is_array(array)
    ], notes


def role_of(node: Node, k: int) -> str:
    place = node.op.saves[k] if k < len(node.op.saves) else None
    if place is None:
        return "value"
    return f"input {place}" if place >= 0 else f"output {~place}"


def saved_value(array: Any, role: str) -> Saved:
    size = array.size * array.itemsize
    memory = getattr(array, "storage_nbytes", size)
    layout = getattr(array, "offset", 0), tuple(array.strides)
    return Saved(role, array_kind(array), size, getattr(array, "storage_id", 0), memory, layout)


def input_kind(node: Node, i: int) -> Kind | None:
    """The kind of an input, as far as the node itself tells."""
    if node.inputs is not None and i < len(node.inputs) and node.inputs[i] is not None:
        return Kind(*node.inputs[i])
    for place, value in zip(node.op.saves, held(node), strict=False):
        if place == i and isinstance(value, Kind):
            return value
    return None


def held(node: Node) -> list[Any]:
    """What a node saved, with kinds in the places of arrays; [] where that is not to be known."""
    saved = node.saved
    if saved is FREED:
        return []
    if type(saved) is tuple:
        return [array_kind(value) if is_array(value) else value for value in saved]
    region = region_of(saved)
    values = list(saved.values)
    for place in saved.unpack_hooks:
        kind = region and region.kinds[values[place]]
        if not kind:
            return []
        values[place] = Kind(*kind[:2])
    return values


def region_of(packed: Packed) -> Region | None:
    """The checkpointed call that computes the values again, if one does."""
    hook = next(iter(packed.unpack_hooks.values()))  # a region's is the same in all places
    owner = getattr(hook, "__self__", None)
    return owner if isinstance(owner, Region) else None
