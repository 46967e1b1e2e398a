"""What a model is once it is traced: nodes, values, constants. No op of a graph writes in place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np


class ExportError(RuntimeError):
    """A model that cannot be exported: which op, and where it was called."""


class Value:
    """A tensor of the graph: the output of a node, an input, or a constant."""

    __slots__ = ("array", "dtype", "from_input", "name", "node", "shape")

    def __init__(self, array: Any, name: str = "", node: Node | None = None) -> None:
        self.array = array  # as it was in the trace; kept of constants and of what becomes one
        self.name = name
        self.node = node
        self.shape: tuple[Any, ...] = tuple(array.shape)  # of ints, or Size (sizes.py)
        self.dtype = array.dtype
        self.from_input = False  # whether it depends on an input

    @property
    def is_constant(self) -> bool:
        return self.node is None and not self.from_input

    def numpy(self) -> np.ndarray:
        """A constant's elements."""
        return np.ascontiguousarray(self.array.numpy())

    def __repr__(self) -> str:
        return f"{self.name or '?'}: {self.dtype}{list(self.shape)}"


class Node:
    """One op: what its class computes from these arguments, and by which name it was called.

    `arguments` are those of the class's forward, with a Value in the place of each tensor.
    """

    __slots__ = ("arguments", "module", "name", "op", "outputs", "where")

    def __init__(self, op: Any, arguments: tuple, where: str, module: str, name: str = "") -> None:
        self.op, self.arguments, self.where, self.module = op, arguments, where, module
        self.name = name or op.__name__
        self.outputs: list[Value] = []

    @property
    def inputs(self) -> list[Value]:
        """The tensors among the arguments."""
        return list(values_in(self.arguments))

    @property
    def place(self) -> str:
        """Where it was called, for messages."""
        return f"called at {self.where or '?'}" + (f" in {self.module}" if self.module else "")

    def __repr__(self) -> str:
        return f"{', '.join(v.name for v in self.outputs)} = {self.name}{self.arguments}"


class Graph:
    """Nodes in the order in which they ran. `constants` are named as the model's state is."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.inputs: list[Value] = []
        self.outputs: list[Value] = []
        self.nodes: list[Node] = []
        self.constants: list[Value] = []

    def __str__(self) -> str:
        lines = [f"{self.title}({', '.join(map(repr, self.inputs))})"]
        lines += [f"  {node!r}  # {node.where}" for node in self.nodes]
        return "\n".join([*lines, f"  return {', '.join(map(repr, self.outputs))}"])


def values_in(argument: Any) -> Iterator[Value]:
    if isinstance(argument, Value):
        yield argument
    elif isinstance(argument, tuple | list):
        for item in argument:
            yield from values_in(item)


def map_leaves(argument: Any, change: Callable[[Any], Any]) -> Any:
    """The argument with each leaf of its tuples and lists changed; lists become tuples."""
    if isinstance(argument, tuple | list):
        return tuple([map_leaves(item, change) for item in argument])
    return change(argument)


def fold(graph: Graph) -> None:
    """Nodes that depend on no input become constants, with the values that the trace has seen."""
    constant = {id(v) for v in graph.constants}
    nodes = []
    for node in graph.nodes:
        foldable = all(id(v) in constant and is_plain(v) for v in node.inputs)
        if foldable and all(is_plain(v) for v in node.outputs):
            for value in node.outputs:
                value.node = None
                constant.add(id(value))
                graph.constants.append(value)
        else:
            nodes.append(node)
    graph.nodes = nodes


def is_plain(value: Value) -> bool:
    """Whether its shape and, of a constant, its elements do not follow a size of the inputs."""
    known = value.array is not None and not isinstance(value.array, list)
    return known and all(type(n) is int for n in value.shape)


def prune(graph: Graph) -> None:
    """Drops what no output needs."""
    needed = {id(v) for v in graph.outputs}
    kept = []
    for node in reversed(graph.nodes):
        if any(id(v) in needed for v in node.outputs):
            kept.append(node)
            needed.update(id(v) for v in node.inputs)
    graph.nodes = kept[::-1]
    graph.constants = [v for v in graph.constants if id(v) in needed]
