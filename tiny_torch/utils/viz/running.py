"""Runs a model once, to see its ops: in its own training mode, and as if it had not run."""

from __future__ import annotations

import inspect
import random
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tiny_torch.autograd.grad_mode import enable_grad
from tiny_torch.autograd.graph import Node, edge_of
from tiny_torch.autograd.op_mode import IN_PLACE, OpMode
from tiny_torch.autograd.places import Place
from tiny_torch.base.pytree import tree_flatten
from tiny_torch.functions.random.generator import Forked
from tiny_torch.nn import Module
from tiny_torch.nn.modules.lazy import UninitializedTensorMixin
from tiny_torch.tensor import Tensor
from tiny_torch.utils.viz.facts import Kind, Operation
from tiny_torch.utils.viz.reading import Reading, array_kind

Names = dict[int, list[str]]


class Seen(OpMode):
    """What the ops of a run tell beside their nodes: results, inputs, and the modules around."""

    def __init__(self, model: Module, names: Names) -> None:
        self.model = model
        self.names = names  # of tensors, by id
        self.paths = {id(module): path for path, module in model.named_modules()}
        self.results: dict[Node, dict[int, Kind]] = {}
        self.inputs: dict[Node, tuple] = {}  # where the node is the op's own: texts of its inputs
        self.in_place: set[Node] = set()
        self.numbers: list[int] = []  # of nodes, rising; and the modules in which each was made
        self.chains: list[tuple[str, ...]] = []

    def forward(self, call: Callable, op: Any, arguments: tuple, kind: str) -> Any:
        chain = self.chain()
        result = call(op, arguments)
        for tensor in result if isinstance(result, tuple) else (result,):
            if not isinstance(tensor, Tensor) or (edge := edge_of(tensor)) is None:
                continue
            node, output = edge
            if not isinstance(node, Node):
                continue
            self.results.setdefault(node, {})[output] = array_kind(tensor)
            self.numbers.append(node.sequence)
            self.chains.append(chain)
            if node.op is op:
                self.inputs[node] = tuple([self.text(argument) for argument in arguments])
                if kind == IN_PLACE:
                    self.in_place.add(node)
        return result

    def chain(self) -> tuple[str, ...]:
        """The paths of the modules whose forward runs, the outermost first, from the model on."""
        modules = Place(sys._getframe(2)).modules[::-1]
        start = next((i for i, module in enumerate(modules) if module is self.model), len(modules))
        return tuple([self.path(module) for module in modules[start:]])

    def path(self, module: Module) -> str:
        return self.paths.get(id(module), f"({type(module).__name__})")

    def text(self, argument: Any) -> str:
        if not isinstance(argument, Tensor):
            return ""
        names = self.names.get(id(argument))
        return names[0] if names else str(array_kind(argument))

    def tell(self, reading: Reading) -> None:
        """Adds what was seen to the facts of the graph."""
        for op, node in zip(reading.facts.ops, reading.nodes, strict=True):
            for output, kind in self.results.get(node, {}).items():
                op.results[output] = kind
            op.modules = self.modules_of(node)
            if node in self.in_place:
                op.notes.append("in place")
            self.name_inputs(op, self.inputs.get(node, ()))
        for path, module in self.model.named_modules():
            reading.facts.classes[path] = type(module).__name__

    def modules_of(self, node: Node) -> tuple[str, ...]:
        """Those of the first op that ended with a node as young: it made this one, too."""
        i = bisect_left(self.numbers, node.sequence)
        return self.chains[i] if i < len(self.chains) else ()

    @staticmethod
    def name_inputs(op: Operation, texts: tuple) -> None:
        """Names the inputs that have no gradient."""
        for i, (source, text) in enumerate(zip(op.sources, texts, strict=False)):
            if source.kind == "other" and text:
                op.sources[i] = source._replace(text=text)


def run(model: Module, inputs: tuple, names: Names) -> tuple[dict[str, Tensor], Seen]:
    """The model's outputs that have a gradient, by name, and what was seen of its ops.

    Call it `undisturbed`.
    """
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        if isinstance(tensor, UninitializedTensorMixin):
            raise RuntimeError(
                f"draw: {name} has no shape yet; run the {type(model).__name__} once before"
            )
    for name, value in inputs_by_name(model, inputs):
        names.setdefault(id(value), []).append(name)
    seen = Seen(model, names)
    with enable_grad(), seen:
        answer = model(*inputs)
    tensors = [value for value in leaves_of(answer) if isinstance(value, Tensor)]
    if not tensors:
        raise TypeError(
            f"draw: {type(model).__name__} answered a {type(answer).__name__} without tensors"
        )
    several = len(tensors) > 1
    return {f"output {i}" if several else "output": x for i, x in enumerate(tensors)}, seen


def leaves_of(value: Any) -> list[Any]:
    """What nested tuples, lists and dicts hold; an object of a user's holds its attributes."""
    found = []
    for leaf in tree_flatten(value)[0]:
        found += tree_flatten(vars(leaf))[0] if is_record(leaf) else [leaf]
    return found


def is_record(value: Any) -> bool:
    return hasattr(value, "__dict__") and not isinstance(value, Tensor | Module | type)


def inputs_by_name(model: Module, inputs: tuple) -> Iterator[tuple[str, Tensor]]:
    """The tensors among a forward's arguments: ("x", ...), ("batch[0]", ...)."""
    try:
        bound = inspect.signature(model.forward).bind(*inputs).arguments
    except (TypeError, ValueError):  # the call itself will say what is wrong
        bound = {}
    for name, value in bound.items():
        if isinstance(value, Tensor):
            yield name, value
            continue
        found = [leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, Tensor)]
        for i, leaf in enumerate(found):
            yield f"{name}[{i}]", leaf


class undisturbed(Forked):
    """Leaves random states and the model's buffers as they were, whatever the block does.

    The modules have copies of their buffers within, so that not even a version changes.
    """

    def __init__(self, model: Module | None) -> None:
        super().__init__(None, enabled=True)
        self.modules = [] if model is None else list(model.modules())

    def current(self) -> Any:
        buffers = [(module, dict(module._buffers)) for module in self.modules]
        return super().current(), random.getstate(), np.random.get_state(), buffers

    def begin(self) -> None:
        copies: dict[int, Tensor] = {}
        for module in self.modules:
            for name, buffer in module._buffers.items():
                if buffer is not None and not isinstance(buffer, UninitializedTensorMixin):
                    copy = copies.setdefault(id(buffer), buffer.detach().clone())
                    module._buffers[name] = copy

    def restore(self, before: Any) -> None:
        states, python, numpy, buffers = before
        super().restore(states)
        random.setstate(python)
        np.random.set_state(numpy)
        for module, own in buffers:
            module._buffers.clear()
            module._buffers.update(own)
