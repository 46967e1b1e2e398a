"""Gradients of a compiled function: of its graph while that is recorded, then of their program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tiny_torch import _core
from tiny_torch.autograd.engine import run_backward
from tiny_torch.autograd.graph import Op, edge_of
from tiny_torch.tensor import Tensor, wrap

if TYPE_CHECKING:
    from tiny_torch.program.compiled import Case


class Graph:
    """A recorded function's graph, which lives until its gradients have been computed."""

    def __init__(self, case: Case, everything: list[Tensor], outputs: list[Tensor]) -> None:
        self.targets = [edge_of(everything[i]) for i in case.wants]
        self.arrays = [t.array for t in everything]
        self.outputs = [t.array for t in outputs]
        self.roots = [edge_of(t) for t in outputs if t.requires_grad]

    def differentiate(self, seeds: list) -> list:
        """A gradient, or None, for each of the targets."""
        found = run_backward(
            self.roots, [wrap(g) for g in seeds], retain_graph=True, create_graph=False,
            inputs=self.targets, accumulate=False,
        )  # fmt: skip
        return [None if g is None else getattr(g, "array", g) for g in found]


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
        if any(isinstance(g, Tensor) for g in grads):
            raise RuntimeError(
                "torch.compile with aot_autograd does not currently support double backward"
            )
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
            first = case.gradients is None and case.program is not None
            found = case.record_gradients(graph, seeds) if first else graph.differentiate(seeds)
            for i, g in zip(case.wants, found, strict=True):
                results[i] = g
        return tuple(results)


def dense(array: Any) -> Any:
    """The array, or a contiguous copy of one that has gaps or repeats elements."""
    return array if array.is_dense() else array.contiguous()


def zeros_of(layout: tuple) -> Any:
    shape, dtype, device = layout
    return _core.full(shape, 0, dtype, device)
