"""Gradients of a compiled function: of its graph while that is recorded, then of their program."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from tiny_torch import _core
from tiny_torch.autograd.engine import run_backward
from tiny_torch.autograd.graph import Node, Op, edge_of
from tiny_torch.tensor import Tensor, wrap

if TYPE_CHECKING:
    from tiny_torch.program.compiled import Case


class Graph:
    """A recorded function's graph, which lives until its gradients have been computed.

    It ends at leaves in the place of what wants gradients: behind an argument may lie another, or
    the same function's earlier call, whose nodes and hooks are the caller's backward's.
    """

    def __init__(self, case: Case, everything: list[Tensor], outputs: list[Tensor]) -> None:
        self.edges = tuple([edge_of(t) for t in everything])
        self.arrays = [t.array for t in everything]
        self.outputs = [t.array for t in outputs]
        self.leaves = [wrap(self.arrays[i]) for i in case.wants]
        ends = {}
        for i, leaf in zip(case.wants, self.leaves, strict=True):
            leaf.requires_grad = True
            ends[self.edges[i]] = edge_of(leaf)
        self.roots = [edge_of(t) for t in outputs if t.requires_grad]
        nodes = [node for node, _ in self.roots]
        seen = set()
        for node in nodes:  # which grow
            if isinstance(node, Node) and node not in seen:
                seen.add(node)
                node.edges = tuple([ends.get(edge, edge) for edge in node.edges])
                nodes += [edge[0] for edge in node.edges if edge]

    def differentiate(self, seeds: list) -> list:
        """A gradient, or None, for each that wants one."""
        found = run_backward(
            self.roots, [wrap(g) for g in seeds], retain_graph=True, create_graph=False,
            inputs=[*map(edge_of, self.leaves)], accumulate=False,
        )  # fmt: skip
        return [*map(without_graph, found)]


class Gradients(Op):
    """The gradients of a compiled function: its recorded graph's, or the program's of that."""

    node_name = "CompiledFunctionBackward"
    once = True
    __name__ = "CompiledFunction"

    def __init__(self, case: Case) -> None:
        self.case = case
        self.outputs = len(case.places)
        self.arity = case.inputs + len(case.beside)

    def backward(self, saved: tuple, grad: Any, needs: Any) -> tuple:
        case = self.case
        grads = grad if isinstance(grad, (tuple, list)) else (grad,)
        if any(isinstance(g, Tensor) for g in grads):  # under create_graph
            arrays = tuple(map(without_graph, grads))
            first = self.backward(tuple(map(without_graph, saved)), arrays, needs)
            seeds = [edge_of(g) if isinstance(g, Tensor) else None for g in grads]
            node = Node(SecondGradients(len(first)), (*saved[3], *seeds), ())
            return tuple([g if g is None else wrap(g, (node, k)) for k, g in enumerate(first)])
        graph = saved[0]
        seeds = [
            zeros_of(case.layouts[j]) if g is None else dense(g)
            for j, g in enumerate(grads)
            if case.differentiable[j]
        ]
        results: list[Any] = [None] * self.arity
        if graph is None:
            found = case.run_gradients(saved, seeds)
            for k, g in zip(case.found, found, strict=True):
                results[case.wants[k]] = g
        else:
            is_first = case.gradients is None and case.program is not None
            found = case.record_gradients(graph, seeds) if is_first else graph.differentiate(seeds)
            for i, g in zip(case.wants, found, strict=True):
                results[i] = g
        return tuple(results)


class SecondGradients(Op):
    """Gradients that nobody can differentiate further, by the inputs or by the seeds."""

    node_name = "CompiledFunctionBackward"
    __name__ = "CompiledFunctionBackward"

    def __init__(self, outputs: int) -> None:
        self.outputs = outputs

    def backward(self, saved: tuple, grad: Any, needs: Any) -> tuple:
        raise RuntimeError(
            "torch.compile with aot_autograd does not currently support double backward"
        )


def without_graph(x: Any) -> Any:
    return x.array if isinstance(x, Tensor) else x


def dense(array: Any) -> Any:
    """The array, or a contiguous copy of one that has gaps or repeats elements."""
    return array if array.is_dense() else array.contiguous()


def zeros_of(layout: tuple) -> Any:
    shape, dtype, device = layout
    return _core.full(shape, 0, dtype, device)


def laid_out(array: Any, layout: tuple) -> Any:
    """The elements, in the order in memory that a program expects."""
    fresh = _core.empty_strided(*layout, array.dtype, array.device)
    fresh.copy_(array)
    return fresh


def share_memory(arrays: list) -> bool:
    """Whether two that are not one have an element in common."""
    pairs = itertools.combinations(arrays, 2)
    return any(a is not b and a.storage_id == b.storage_id and a.overlaps(b) for a, b in pairs)
