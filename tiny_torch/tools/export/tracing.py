"""Runs a model once and writes down its ops, as any mode of autograd/op_mode.py sees them.

A tensor that no op of the trace has made is a constant: a parameter, a buffer, or what a factory
such as `torch.arange` answered. Writes in place become ops with a result of their own, so that a
graph has none. What a trace cannot follow raises ExportError: random numbers, tensors that become
Python numbers, results in `out=`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from tiny_torch.autograd.grad_mode import no_grad
from tiny_torch.autograd.op_mode import IN_PLACE, OUT, VIEW
from tiny_torch.autograd.places import ModulePaths, Place
from tiny_torch.autograd.reading import ReadingMode
from tiny_torch.base.modes import Scope
from tiny_torch.base.pytree import tree_flatten, tree_unflatten
from tiny_torch.functions.random.generator import default_generator
from tiny_torch.nn import Module
from tiny_torch.ops.index.within import SliceScatter
from tiny_torch.ops.shape.split import Pieces, Rows
from tiny_torch.ops.shape.views import Permute, Reshape, Squeeze, T, Transpose, Unsqueeze, View
from tiny_torch.tensor import Tensor
from tiny_torch.tools.export.graph import ExportError, Graph, Node, Value, map_leaves
from tiny_torch.utils.viz.running import undisturbed


class Tracer(ReadingMode):
    """Records the ops of a `with`. `has(op)`: whether the op is wanted whole.

    Another op is taken apart by its composite, if it has one.
    """

    def __init__(self, title: str, has: Callable[[Any], bool]) -> None:
        self.graph = Graph(title)
        self.has = has
        self.values: dict[int, Value] = {}  # by the id of an array, which `kept` keeps
        self.stale: dict[int, str] = {}  # arrays whose memory was written through another
        self.views: dict[int, tuple[Any, Node]] = {}  # (the array that it shows, how)
        self.storages: dict[int, list[Any]] = {}  # arrays of the trace, by their memory
        self.kept: list[Any] = []
        self.paths = ModulePaths()

    # ---- what a trace begins with ---------------------------------------------------------------

    def name(self, tensor: Tensor, name: str) -> None:
        """A parameter or a buffer, should an op meet it."""
        self.add(tensor.array, Value(tensor.array, name))

    def add_input(self, tensor: Tensor, name: str) -> None:
        value = Value(tensor.array, name)
        value.from_input = True
        self.add(tensor.array, value)
        self.graph.inputs.append(value)

    def add(self, array: Any, value: Value) -> None:
        self.values[id(array)] = value
        self.stale.pop(id(array), None)
        self.kept.append(array)
        self.storages.setdefault(array.storage_id, []).append(array)

    # ---- what it sees ---------------------------------------------------------------------------

    def forward(self, call: Callable, op: Any, arguments: tuple, kind: str) -> Any:
        name, computes = op.__name__, exported_op(op)
        if op.composite is not None and kind != OUT and not self.has(computes):
            with self:
                return op.composite(*arguments)
        frame = sys._getframe(1)
        if op.draws:
            raise self.refusal(f"{name} draws random numbers", frame)
        if kind == OUT:
            raise self.refusal(f"{name} writes its result to out=", frame)
        place = Place(frame)
        node = Node(computes, (), place.line, self.paths.path(place.modules), name)
        node.arguments = map_leaves(arguments, lambda x: self.value_of(x, node))
        before = default_generator.core.get_state()
        if kind == IN_PLACE:
            self.begin_write(arguments[0].array)
        result = call(op, arguments)
        if not same_state(before, default_generator.core.get_state()):
            raise self.refusal(f"{name} draws random numbers", frame)
        results = result if isinstance(result, tuple | list) else (result,)
        dependent = any(v.from_input for v in node.inputs)
        for tensor in results:
            value = Value(tensor.array, node=node)
            value.from_input = dependent
            node.outputs.append(value)
        self.graph.nodes.append(node)
        if kind == IN_PLACE:
            self.end_write(results[0].array, node)
            return result
        for tensor, value in zip(results, node.outputs, strict=True):
            self.add(tensor.array, value)
        if kind == VIEW and len(results) == 1:
            self.views[id(results[0].array)] = arguments[0].array, node
        return result

    def value_of(self, x: Any, node: Node) -> Any:
        """An argument as a graph has it: tensors and arrays as values, other things as they are."""
        array = x.array if isinstance(x, Tensor) else x
        if not hasattr(array, "storage_id"):
            return x
        if id(array) in self.stale:
            raise ExportError(
                f"{node.name} reads a tensor whose memory was written through another, by "
                f"{self.stale[id(array)]}; clone() it first ({node.place})"
            )
        value = self.values.get(id(array))
        if value is None:
            value = self.twin_of(array, node) or Value(array)
            self.add(array, value)
        if value.is_constant and value not in self.graph.constants:
            self.graph.constants.append(value)
        return value

    def twin_of(self, array: Any, node: Node) -> Value | None:
        """The value of an array that shows the same elements; ExportError if it shows others."""
        for other in self.storages.get(array.storage_id, ()):
            value = self.values[id(other)]
            if id(other) not in self.stale and region(other) == region(array):
                return value
            if array.size and value.from_input:
                raise ExportError(
                    f"{node.name} reads a view of a traced tensor that no op has made; {node.place}"
                )
        return None

    # ---- writes in place ------------------------------------------------------------------------

    def begin_write(self, array: Any) -> None:
        """What is about to be written stays as it was in the graph."""
        for other in self.storages.get(array.storage_id, ()):
            value = self.values[id(other)]
            if value.array is other and not value.from_input:
                value.array = other.clone()

    def end_write(self, array: Any, node: Node) -> None:
        """The array's value is the node's; those of the same memory follow, or may not be read."""
        for other in self.storages[array.storage_id]:
            if other is not array:
                self.stale[id(other)] = f"{node.name} at {node.where}"
        self.add(array, node.outputs[0])
        part = array
        while id(part) in self.views:
            whole, view = self.views[id(part)]
            write = put_back(view, self.values[id(whole)], self.values[id(part)], node.where)
            value = Value(whole, node=write)
            value.from_input = any(v.from_input for v in write.inputs)
            write.outputs.append(value)
            self.graph.nodes.append(write)
            self.add(whole, value)
            part = whole

    # ---- refusals -------------------------------------------------------------------------------

    def refusal(self, what: str, frame: FrameType | None) -> ExportError:
        place = Place(frame)
        node = Node(None, (), place.line, self.paths.path(place.modules), what)
        return ExportError(f"{what}, which a trace cannot follow; {node.place}")

    def read(self, tensor: Tensor, method: str, arguments: tuple) -> None:
        """Raises if Python is about to depend on an input's elements."""
        value = self.values.get(id(tensor.array))
        if value is not None and value.from_input:
            what = f"{method}() makes a Python value of a tensor that depends on the inputs"
            raise self.refusal(what, sys._getframe(2))


def exported_op(op: Any) -> Any:
    """The op; of one that only goes by another name, or by the same, the class above it."""
    parent = op.__base__
    renamed = parent in (Pieces, Rows) or parent.__name__ == op.__name__
    return exported_op(parent) if renamed else op


def put_back(view: Node, whole: Value, part: Value, where: str) -> Node:
    """The node that makes the whole of a view of it that was written."""
    _, *rest = view.arguments
    if view.op in (View, Squeeze, Unsqueeze):
        return Node(Reshape, (part, whole.shape), where, view.module)
    if view.op in (Transpose, T):
        return Node(view.op, (part, *rest), where, view.module)
    if view.op is Permute:
        order = [dim % len(rest[0]) for dim in rest[0]]
        back = tuple([order.index(dim) for dim in range(len(order))])
        return Node(Permute, (part, back), where, view.module)
    if rest and type(rest[0]) is tuple and rest[0] and type(rest[0][0]) is tuple:
        return Node(SliceScatter, (whole, part, rest[0]), where, view.module)
    raise ExportError(f"a write through {view.name} cannot be traced; {view.place}")


def region(array: Any) -> tuple:
    return array.offset, tuple(array.shape), tuple(array.strides), array.dtype


def same_state(a: Any, b: Any) -> bool:
    return bool((a == b).all()) if hasattr(a == b, "all") else a == b


class in_eval(Scope):
    """Within it each module is in eval mode."""

    def __init__(self, model: Any) -> None:
        self.modules = list(model.modules()) if isinstance(model, Module) else []

    def current(self) -> list[bool]:
        return [module.training for module in self.modules]

    def begin(self) -> None:
        for module in self.modules:
            module.training = False

    def restore(self, before: list[bool]) -> None:
        for module, training in zip(self.modules, before, strict=True):
            module.training = training


def trace(
    model: Callable,
    args: Sequence[Any],
    kwargs: dict[str, Any] | None = None,
    has: Callable[[Any], bool] = lambda op: True,
) -> Graph:
    """The graph of a call of the model, without gradients, as its modules' modes are.

    `args` and `kwargs` may nest tensors, which are the graph's inputs, and other things, which stay
    as they are. `has(op)` says which ops are wanted whole; others are taken apart by their
    composite. Raises ExportError for what a trace cannot follow, TypeError for no input.
    """
    tracer = Tracer(type(model).__name__, has)
    args, kwargs, leaves = clone_arguments(args, kwargs or {})
    if not leaves:
        raise TypeError("[export] expected a tensor among the model's arguments, got none")
    module = model if isinstance(model, Module) else None
    with undisturbed(module):
        for name, tensor in named_state(module):
            tracer.name(tensor, name)
        for i, tensor in enumerate(leaves):
            tracer.add_input(tensor, f"input_{i}")
        with no_grad(), tracer:
            answer = model(*args, **kwargs)
    finish(tracer, answer)
    return tracer.graph


def named_state(module: Module | None) -> list[tuple[str, Tensor]]:
    """Parameters and buffers by name."""
    return [] if module is None else [*module.named_parameters(), *module.named_buffers()]


def clone_arguments(
    args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[tuple, dict, list[Tensor]]:
    """The arguments with copies of their tensors, which a model may write, and these copies."""
    leaves, spec = tree_flatten((tuple(args), kwargs))
    leaves = [x.detach().clone() if isinstance(x, Tensor) else x for x in leaves]
    copies = tree_unflatten(leaves, spec)
    return copies[0], copies[1], [x for x in leaves if isinstance(x, Tensor)]


def finish(tracer: Tracer, answer: Any) -> None:
    """What the model answered are the outputs."""
    outputs = [x for x in tree_flatten(answer)[0] if isinstance(x, Tensor)]
    if not outputs:
        raise ExportError(f"the model answered a {type(answer).__name__} without tensors")
    node = Node(None, (), "", tracer.graph.title, "return")
    tracer.graph.outputs = [tracer.value_of(tensor, node) for tensor in outputs]
    for value in list(tracer.values.values()):
        if value.from_input:
            value.array = None
