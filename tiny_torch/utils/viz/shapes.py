"""The shapes of results: nodes do not keep them, so they are told from the root on.

What is known of a node's result says what gradient it will get, and its backward answers one of
the shape of each input. That needs no elements: it runs on the device `meta`.
"""

from __future__ import annotations

from typing import Any

from tiny_torch.autograd.engine import sum_to
from tiny_torch.autograd.function import UserOp
from tiny_torch.autograd.graph import Node
from tiny_torch.autograd.seen import as_formulas_see
from tiny_torch.autograd.term import compute_all
from tiny_torch.autograd.writes import CopySlices
from tiny_torch.base.devices import array_module
from tiny_torch.utils.viz.facts import Kind, Operation
from tiny_torch.utils.viz.reading import Reading, array_kind, held, input_kind, written_by


def complete(reading: Reading) -> None:
    """Fills in the results of ops that are not known yet, the youngest op first."""
    ops = reading.facts.ops
    for op, node in zip(reversed(ops), reversed(reading.nodes), strict=True):
        take_own(op, node)
        missing = [i for i, edge in enumerate(node.edges) if is_unknown(ops, reading, edge)]
        if not missing:
            continue
        kinds = [known_kind(op, node, i) for i in range(len(node.edges))]
        if any(kinds[i] is None for i in missing):
            asked = from_backward(op, node)
            kinds = [a or b for a, b in zip(kinds, asked, strict=True)]
        for i in missing:
            target, output = node.edges[i]
            ops[reading.numbers[target] - 1].results[output] = kinds[i]


def is_unknown(ops: list[Operation], reading: Reading, edge: Any) -> bool:
    if edge is None or not isinstance(edge[0], Node):
        return False
    return ops[reading.numbers[edge[0]] - 1].results[edge[1]] is None


def take_own(op: Operation, node: Node) -> None:
    """What a node holds of its own results."""
    if isinstance(node.op, UserOp):
        for j, like in enumerate(node.op.likes):
            op.results[j] = None if like is None else Kind(*like[:2])
        return
    for place, value in zip(node.op.saves, held(node), strict=False):
        if place is not None and place < 0 and isinstance(value, Kind):
            op.results[~place] = op.results[~place] or value


def known_kind(op: Operation, node: Node, i: int) -> Kind | None:
    """An input's kind, where no formula has to be asked."""
    result = op.results[0]
    if node.op is CopySlices:
        if i == 0:
            return result
        node = written_by(node)
    kind = input_kind(node, i)
    if kind is None and node.op.broadcasts and node.op is not CopySlices:
        return result  # the op has not changed it
    return kind


def from_backward(op: Operation, node: Node) -> list[Kind | None]:
    """The kinds of the gradients that a node's backward answers on `meta`; None: it does not."""
    nothing: list[Kind | None] = [None] * len(node.edges)
    if node.op.takes_tensors or node.op is CopySlices or not any(op.results):
        return nothing
    if node.saved and not held(node):
        return nothing
    grads = tuple([None if kind is None else empty_meta(kind) for kind in op.results])
    saved = tuple([empty_meta(value) if isinstance(value, Kind) else value for value in held(node)])
    try:
        grad = grads if node.op.outputs > 1 else grads[0]
        answers = as_formulas_see(compute_all(node.op.backward(saved, grad, node.edges)))
    except (RuntimeError, TypeError, ValueError, IndexError, AttributeError):
        return nothing  # a formula that looks at elements, as that of index_put does
    answers = answers if isinstance(answers, tuple) else (answers,)
    likes = node.inputs or nothing
    return [
        None if answer is None else array_kind(sum_to(answer, *like) if like else answer)
        for answer, like in zip(answers, likes, strict=False)
    ] + nothing[len(answers) :]


def empty_meta(kind: Kind) -> Any:
    return array_module("meta").empty(kind.shape, kind.dtype)
