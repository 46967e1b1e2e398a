"""Backward of a small graph, node by node, with the values that it computes.

The engine runs a copy of the graph: nodes that share ops and saved values with the real ones, and
leaves that share memory with them. So nobody's `.grad`, hook or node is touched.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tiny_torch.autograd.engine import run_backward
from tiny_torch.autograd.graph import FREED, Node, Op
from tiny_torch.autograd.hooks import Hook, OfInputs, add_to, add_to_node
from tiny_torch.base.modes import INFERENCE, modes
from tiny_torch.functions.creation.fill import ones_like
from tiny_torch.tensor import Tensor, wrap
from tiny_torch.utils.viz.facts import Kind, Source
from tiny_torch.utils.viz.reading import Reading, is_array, is_gate, role_of, written_by

OPS = 40  # a graph of more is not walked
ELEMENTS = 1024  # nor one that holds a larger tensor


class Sent(NamedTuple):
    """A gradient that a node sends to one of its inputs."""

    to: Source
    gradient: Tensor | None
    total: Tensor | None  # with what others have sent there before; None where it is the first


class Step(NamedTuple):
    """A node that runs in backward, or a leaf that has all of its gradient."""

    at: Source
    gradients: tuple[Tensor | None, ...]  # that came in, one per output
    saved: tuple[tuple[str, Tensor], ...]  # (role, value); computed again where a hook does so
    sends: tuple[Sent, ...]  # one per input


def refusal(reading: Reading) -> str:
    """Why a graph is not walked; "" where it is."""
    facts = reading.facts
    if not facts.ops:
        return "there is nothing to step through"
    if len(facts.ops) > OPS:
        return f"backward is stepped through for up to {OPS} ops"
    if modes.bits & INFERENCE:
        return "in inference mode there is no backward"
    kinds = [leaf.kind for leaf in facts.leaves] + [s.kind for op in facts.ops for s in op.saved]
    kinds += [kind for op in facts.ops for kind in op.results if kind is not None]
    if any(elements(kind) > ELEMENTS for kind in kinds):
        return f"backward is stepped through where no tensor has more than {ELEMENTS} elements"
    if any(node.saved is FREED for node in reading.nodes):
        return "what the ops saved is freed: backward has run without retain_graph=True"
    return ""


def elements(kind: Kind) -> int:
    count = 1
    for n in kind.shape:
        count *= n
    return count


class OpenGate(Op):
    """The gate of a module's backward hooks, without the hooks."""

    def __init__(self, outputs: int) -> None:
        self.outputs = outputs

    def backward(self, saved: Any, grad: Any, needs: Any) -> Any:
        grads = grad if isinstance(grad, tuple) else (grad,)
        return (*(None,) * (len(needs) - len(grads)), *grads)


class Walk:
    """One backward through a copy of the graph, from ones at the roots."""

    def __init__(self, reading: Reading, tensors: list[Tensor]) -> None:
        self.reading = reading
        self.tensors = tensors  # the roots
        self.steps: list[Step] = []
        self.totals: dict[tuple, Tensor] = {}  # of what is on its way, by target
        self.leaves = [tensor.detach().requires_grad_() for tensor in reading.tensors]
        self.copies: list[Node] = []
        for node in reading.nodes:
            edges = tuple(
                [None if edge is None else self.follow_copies(edge) for edge in node.edges]
            )
            op = OpenGate(node.op.outputs) if is_gate(node) else node.op
            copy = Node(op, edges, node.saved, node.inputs, node.constants)
            copy.sequence = node.sequence
            self.copies.append(copy)
        for node, copy in zip(reading.nodes, self.copies, strict=True):
            add_to_node(copy, 0, OfInputs(self.watch(node)))
        for number, leaf in enumerate(self.leaves, 1):
            add_to(leaf, "_hooks", Hook(self.arrival(number)))

    def follow_copies(self, edge: Any) -> Any:
        target, output = edge
        number = self.reading.numbers[target] - 1
        return (self.copies if isinstance(target, Node) else self.leaves)[number], output

    def run(self) -> list[Step]:
        """The steps, in the engine's order. Raises what a node's backward raises."""
        roots, gradients = [], []
        for tensor, (_, _, source, _) in zip(self.tensors, self.reading.facts.roots, strict=True):
            if source.kind == "other":
                continue
            copies = self.copies if source.kind == "op" else self.leaves
            roots.append((copies[source.number - 1], source.output))
            weight = ones_like(tensor.detach())
            gradients.append(weight.array)
            self.add(source, weight)
        try:
            run_backward(
                roots,
                gradients,
                retain_graph=True,
                create_graph=False,
                inputs=[(leaf, 0) for leaf in self.leaves],
                accumulate=False,
            )
        finally:
            # Their hooks hold this, which holds them, and what was saved.
            self.copies.clear()
            self.leaves.clear()
        return self.steps

    def watch(self, node: Node) -> Any:
        """The hook of a node's copy."""
        reading = self.reading
        op = reading.facts.ops[reading.numbers[node] - 1]
        inner = written_by(node)
        held = inner.saved if type(inner.saved) is tuple else ()

        def look(results: tuple, gradients: tuple) -> None:
            sends = tuple(
                [
                    Sent(source, keep(gradient), self.add(source, gradient))
                    for source, gradient in zip(op.sources, results, strict=False)
                    if source.kind != "other"
                ]
            )
            saved = [(role_of(inner, k), wrap(a)) for k, a in enumerate(held) if is_array(a)]
            values = tuple([(role, value.detach().clone()) for role, value in saved])
            at = Source("op", op.number, 0, "")
            self.steps.append(Step(at, tuple(map(keep, gradients)), values, sends))

        return look

    def arrival(self, number: int) -> Any:
        """The hook of a leaf's copy."""

        def look(gradient: Tensor) -> None:
            at = Source("leaf", number, 0, "")
            self.steps.append(Step(at, (keep(gradient),), (), ()))

        return look

    def add(self, target: Source, gradient: Tensor | None) -> Tensor | None:
        """The sum so far; None where this is the first gradient that goes there."""
        if gradient is None:
            return None
        key = target[:3]
        if key not in self.totals:
            self.totals[key] = gradient.detach().clone()
            return None
        self.totals[key] = self.totals[key] + gradient
        return self.totals[key]


def keep(gradient: Tensor | None) -> Tensor | None:
    return None if gradient is None else gradient.detach().clone()
