"""`draw`, and what it answers."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping
from typing import Any

from tiny_torch.autograd._profiler.files import write_whole
from tiny_torch.autograd.graph import edge_of
from tiny_torch.nn import Module
from tiny_torch.tensor import Tensor
from tiny_torch.utils.viz import dot, page
from tiny_torch.utils.viz.facts import Facts, Leaf, Operation, Root, Source
from tiny_torch.utils.viz.outline import outline
from tiny_torch.utils.viz.reading import Reading, array_kind
from tiny_torch.utils.viz.running import Names, Seen, leaves_of, run, undisturbed
from tiny_torch.utils.viz.shapes import complete
from tiny_torch.utils.viz.text import text
from tiny_torch.utils.viz.walking import Step, Walk, refusal


class Drawing:
    """What `draw` answers: facts about a graph, which keep no part of it alive.

    `ops` in the order of forward; `leaves`; `steps` of backward, in the engine's order, and
    `no_steps`: why there are none, else "".
    """

    def __init__(self, facts: Facts, steps: list[Step], no_steps: str) -> None:
        self.facts = facts
        self.steps = steps
        self.no_steps = no_steps
        self._outline = outline(facts)

    @property
    def ops(self) -> list[Operation]:
        return self.facts.ops

    @property
    def leaves(self) -> list[Leaf]:
        return self.facts.leaves

    @property
    def saved_bytes(self) -> int:
        """What all ops have saved for backward, each for itself."""
        return self.facts.saved_bytes

    def to_text(self) -> str:
        """A tree: a line for each op, a branch for each module, repetitions folded."""
        if not self.ops:
            return "\n".join(nothing(self.facts))
        return text(self.facts, self._outline, self._note())

    __str__ = to_text

    def __repr__(self) -> str:
        return f"<Drawing of {self.facts.summary()[0]}>"

    def _note(self) -> str:
        # A large graph has no steps by design; only a failure is told.
        return f"No steps: {self.no_steps}" if "failed" in self.no_steps else ""

    def to_html(self, path: str | os.PathLike) -> None:
        """Writes a page that needs no other file; a small graph's steps through backward.

        Raises OSError where writing fails, FileNotFoundError where there is no such folder.
        """
        write_whole(path, self._page())

    def to_svg(self, path: str | os.PathLike) -> None:
        """Writes a picture, which Graphviz' program `dot` lays out.

        Raises RuntimeError where `dot` is not installed or fails, ValueError for a graph that is
        too large for it.
        """
        write_whole(path, dot.svg(self.facts))

    def _repr_html_(self) -> str:
        frame = html.escape(self._page(), quote=True)
        style = "width:100%;height:640px;border:1px solid #8888;border-radius:6px"
        return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{frame}"></iframe>'

    def _page(self) -> str:
        return page.page(self.facts, self._outline, self.steps, self.no_steps, nothing(self.facts))


def nothing(facts: Facts) -> list[str]:
    """What is to be said where no op was recorded."""
    if facts.ops:
        return []
    lines = [f"{facts.title}: no ops"]
    for name, kind, source, base in facts.roots:
        if source.kind == "leaf":
            text = f"{name} {kind} is a leaf that requires grad: nothing computed it"
        else:
            text = f"{name} {kind} does not require grad: no op was recorded for it"
        if base is not None:
            text += f"; it is a view of a tensor {base}, in the same memory"
        lines.append(text)
    return lines


def draw(
    tensor_or_model: Any,
    *inputs: Any,
    model: Module | None = None,
    params: Mapping[str, Tensor] | None = None,
) -> Drawing:
    """The graph behind a tensor, or that of a model's forward, as text, page and picture.

    `tensor_or_model`: a tensor, nested tuples, lists and dicts of them, or a model, which then runs
    once with `inputs`: in its own training mode, with random states and buffers as before
    afterwards. `model` names the parameters of a tensor's graph by their paths, `params` other
    leaves (both as torchviz has them). A graph of up to 40 ops without large tensors is stepped
    through backward, from a gradient of ones; that calls no hook and writes no ``.grad``, though
    functions of a user's own run, as do checkpointed ones.

    Raises TypeError for what cannot be drawn, RuntimeError for a lazy model that has not run.

    >>> import tiny_torch as torch
    >>> x = torch.ones(3, requires_grad=True)
    >>> print(torch.utils.viz.draw((x * x).sum(), params={"x": x}))
    SumBackward0: 2 ops, 1 leaf
    24 B saved for backward by 1 op, in 12 B of memory; 12 B of it is the leaves' own
    ├ #1 MulBackward0 (3,) float32 <- x, x; saved 24 B
    └ #2 SumBackward0 () float32 <- #1
    result () float32 = #2
    x: saved 2 times, by #1; that is 12 B of memory, once
    """
    if isinstance(tensor_or_model, Module):
        if model is not None:
            raise TypeError("draw: model= names the leaves of a tensor; a model was given to draw")
        with undisturbed(tensor_or_model):
            names = names_of(tensor_or_model, params)
            tensors, seen = run(tensor_or_model, inputs, names)
            wanting = parameters_of(tensor_or_model)
            return draw_graph(type(tensor_or_model).__name__, tensors, names, seen, wanting)
    if inputs:
        raise TypeError(
            f"draw: inputs are for a model, and {type(tensor_or_model).__name__} is none"
        )
    tensors = {}
    for value in leaves_of(tensor_or_model):
        if not isinstance(value, Tensor):
            raise TypeError(f"draw expected a tensor or a model, but got {type(value).__name__}")
        tensors[f"result {len(tensors)}"] = value
    if not tensors:
        raise TypeError("draw expected a tensor or a model, but got no tensor")
    if len(tensors) == 1:
        tensors = {"result": tensors["result 0"]}
    with undisturbed(model):
        return draw_graph("", tensors, names_of(model, params), None, parameters_of(model))


def names_of(model: Module | None, params: Mapping[str, Tensor] | None) -> Names:
    """The names of leaves, by the tensor's id: several of one that modules share."""
    names: Names = {}
    given = dict(params or {})
    for name, tensor in given.items():
        if not isinstance(tensor, Tensor):
            raise TypeError(f"draw: params[{name!r}] is a {type(tensor).__name__}, not a tensor")
        names.setdefault(id(tensor), []).append(name)
    if model is not None:
        for name, tensor in model.named_parameters(remove_duplicate=False):
            if name not in names.setdefault(id(tensor), []):
                names[id(tensor)].append(name)
    return names


def learn(facts: Facts, step: Step) -> None:
    """Gradients that came in are of the kinds of results, which hooks may have hidden till now."""
    if step.at.kind == "op":
        results = facts.ops[step.at.number - 1].results
        for output, gradient in enumerate(step.gradients):
            if gradient is not None and results[output] is None:
                results[output] = array_kind(gradient)


def parameters_of(model: Module | None) -> list[str]:
    """The names of those that want a gradient."""
    named = [] if model is None else model.named_parameters()
    return [name for name, parameter in named if parameter.requires_grad]


def draw_graph(
    title: str, tensors: dict[str, Tensor], names: Names, seen: Seen | None, wanting: list[str]
) -> Drawing:
    """The drawing of these tensors' graph; `wanting` are parameters that want a gradient."""
    reading = Reading(title, names)
    edges = {name: edge_of(tensor) for name, tensor in tensors.items()}
    reading.read(edge for edge in edges.values() if edge is not None)
    facts = reading.facts
    for name, tensor in tensors.items():
        edge = edges[name]
        other = Source("other", -1, 0, "a tensor without a gradient")
        source = other if edge is None else reading.source_of(edge)
        base = None if tensor._base is None else array_kind(tensor._base)
        facts.roots.append(Root(name, array_kind(tensor), source, base))
        if source.kind == "op":
            facts.ops[source.number - 1].results[source.output] = array_kind(tensor)
    if not title:
        last = facts.ops[-1].name if facts.ops else "Tensor"
        facts.title = last
    if seen is not None:
        seen.tell(reading)
    reached = {name for leaf in facts.leaves for name in leaf.names}
    facts.unreached = [name for name in wanting if name not in reached]
    complete(reading)
    steps: list[Step] = []
    why = refusal(reading)
    if not why:
        try:
            steps = Walk(reading, list(tensors.values())).run()
        except Exception as error:  # whatever a formula, a user's too, may raise
            why = f"backward failed: {str(error) or type(error).__name__}"
        for step in steps:
            learn(facts, step)
        if not why and not steps:
            why = "no gradient arrives anywhere"
    return Drawing(facts, steps, why)
