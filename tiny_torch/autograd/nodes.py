"""What a user sees of nodes: their names, hooks and `_saved_*`; attached to Node and graph.py."""

from __future__ import annotations

from functools import cache
from typing import Any

from tiny_torch.autograd import graph
from tiny_torch.autograd.graph import GradientEdge, Node, edge_of
from tiny_torch.autograd.hooks import AccumulateGrad, After, Before, add_to_node
from tiny_torch.autograd.record import node_name
from tiny_torch.autograd.saved import (
    disable_saved_tensors_hooks,
    properties_of,
    save_on_cpu,
    saved_tensors_hooks,
)
from tiny_torch.base.docstrings import extend
from tiny_torch.tensor import Tensor


class NodeSurface:
    """Node's part for users."""

    name = node_name
    op: Any
    edges: tuple
    inputs: Any
    _metadata: dict

    @property
    def metadata(self) -> dict:
        """Whatever belongs to this node: anomaly detection's notes, or a user's own."""
        if not hasattr(self, "_metadata"):
            self._metadata = {}
        return self._metadata

    @property
    def next_functions(self) -> tuple:
        """(node, output number) per input; (None, 0) for one that has no gradient.

        Where PyTorch has several nodes, they are there: Part.
        """
        if self.op.parts is not None:
            return shown_parts(self, self.op.parts(self))
        edges: Any = self.edges
        if hasattr(self.op, "ctx"):  # of a user's Function: those of tensors
            edges = [edge for edge, x in zip(edges, self.inputs, strict=True) if x is not None]
        return tuple([(None, 0) if edge is None else shown_edge(edge) for edge in edges])

    def register_hook(self, function: Any) -> Any:
        """Calls ``function(grad_inputs, grad_outputs)`` after backward of this node."""
        return add_to_node(self, 0, After(function))

    def register_prehook(self, function: Any) -> Any:
        """Calls ``function(grad_outputs)`` before backward of this node."""
        return add_to_node(self, 0, Before(function))

    def __repr__(self) -> str:
        module = "torch.autograd.function." if hasattr(self.op, "ctx") else ""
        return f"<{module}{node_name(self)} object at {id(self):#x}>"


extend(Node, NodeSurface)

# A node that a user looks at gets a type of PyTorch's name, such as MulBackward0, for the sake of
# tools that draw graphs; it has the `_saved_*` of its op. So what is no leaf is asked as
# isinstance(edge[0], Node), never by type().
NAMED: dict[tuple, type] = {}


def of_shown_type(node: Node) -> Node:
    """The node, of the type that has its name."""
    if type(node) is not Node:
        return node
    name = node_name(node).rpartition("::")[2]
    op = node.op if isinstance(node.op, type) else None
    is_users = hasattr(node.op, "ctx")
    key = name, op, node.is_freed(), is_users
    kind = NAMED.get(key)
    if kind is None:
        namespace: dict[str, Any] = {"__slots__": (), "__module__": Node.__module__}
        namespace.update(properties_of(node))
        if is_users:  # in PyTorch the ctx of a user's Function is the node itself
            namespace["__getattr__"] = lambda node, name: getattr(node.op.ctx, name)
        kind = NAMED[key] = type(name, (Node,), namespace)
    node.__class__ = kind
    return node


def shown_edge(edge: tuple) -> tuple:
    """(node, output number) of an edge, where a leaf's node is one in name only."""
    target, number = edge
    return of_shown_type(target) if isinstance(target, Node) else AccumulateGrad(target), number


class PartError(AttributeError, NotImplementedError):
    """A part of a node was taken for a node: `hasattr` says that it has no `variable`."""


class Part:
    """A node of PyTorch's within one of ours, as ``next_functions`` show it: a node in name only.

    NotImplementedError for a hook, and as an edge: no gradient is computed for it alone.
    """

    def __init__(self, node: Any, entries: tuple) -> None:
        self.node = node
        self.entries = entries

    @property
    def next_functions(self) -> tuple:
        return shown_parts(self.node, self.entries)

    @property
    def metadata(self) -> dict:
        parts = self.node.metadata.setdefault("_parts", {})
        return parts.setdefault((self.name(), self.entries), {})

    def name(self) -> str:
        return type(self).__name__

    @property
    def variable(self) -> Any:
        raise self.refusal("the gradient")

    def register_hook(self, function: Any) -> Any:
        raise self.refusal("register_hook")

    def register_prehook(self, function: Any) -> Any:
        raise self.refusal("register_prehook")

    def refusal(self, what: str) -> PartError:
        return PartError(
            f"{what} of {self.name()}, which is a part of {self.node.name()} in tiny_torch"
        )

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is type(self)
            and isinstance(other, Part)
            and (other.node, other.entries) == (self.node, self.entries)
        )

    def __hash__(self) -> int:
        return hash((id(self.node), self.entries))

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self.node):#x}>"


def shown_parts(node: Any, entries: tuple) -> tuple:
    """(node, output number) per entry of an op's `parts`; (None, 0) where no gradient goes."""
    shown: list[tuple] = []
    for entry in entries:
        if isinstance(entry, tuple):
            name, inner = entry
            part = part_type(name)(node, inner)
            wanted = any(target is not None for target, _ in part.next_functions)
            shown.append((part if wanted else None, 0))
        else:
            edge = node.edges[entry]
            shown.append((None, 0) if edge is None else shown_edge(edge))
    return tuple(shown)


@cache
def part_type(name: str) -> type[Part]:
    return type(name, (Part,), {"__module__": Node.__module__})


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """The edge of a tensor that requires grad; RuntimeError for another.

    https://pytorch.org/docs/stable/autograd.html#torch.autograd.graph.get_gradient_edge
    """
    edge = edge_of(tensor)
    if edge is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not "
                           "require gradients")  # fmt: skip
    return GradientEdge(*shown_edge(edge))


def grad_fn(self: Tensor) -> Any:
    """The node that made it, None for a leaf."""
    edge = edge_of(self)
    return None if edge is None or edge[0] is self else of_shown_type(edge[0])


for _public in (
    disable_saved_tensors_hooks, get_gradient_edge, save_on_cpu, saved_tensors_hooks,
):  # fmt: skip
    setattr(graph, _public.__name__, _public)
METHODS = {"grad_fn": property(grad_fn)}
FUNCTIONS: dict[str, Any] = {}
