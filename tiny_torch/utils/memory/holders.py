"""Who holds a storage: parameter, gradient, optimiser, the graph, or a name in the script."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from types import FrameType, FunctionType
from typing import Any

from tiny_torch.autograd.graph import Node
from tiny_torch.nn import Module
from tiny_torch.optim import Optimizer
from tiny_torch.tensor import Tensor
from tiny_torch.utils.memory.blocks import KEY, describe, name_of_op
from tiny_torch.utils.memory.chains import Chain, Chains


def tensors() -> list[Tensor]:
    """Those that are alive."""
    return [x for x in gc.get_objects() if isinstance(x, Tensor)]


class Holders:
    """What held each storage when it was made; `frame` and its callers have the script's names."""

    # Names are looked for, some passes over the heap each, of so many tensors, and no longer.
    CHAINS, SECONDS = 40, 10.0

    def __init__(self, frame: FrameType | None) -> None:
        self.tensors: dict[int, list[Tensor]] = {}  # by storage_id
        self.nodes: dict[int, list[Node]] = {}  # those that saved it
        self.roles: dict[int, list[str]] = {}  # "parameter fc.weight"
        self.heads: dict[int, Tensor] = {}  # by id of a node: a tensor whose graph it belongs to
        modules, optimizers, found, nodes = [], [], [], []
        for thing in gc.get_objects():
            if isinstance(thing, Tensor):
                found.append(thing)
            elif isinstance(thing, Node):
                nodes.append(thing)
            elif isinstance(thing, Module):
                modules.append(thing)
            elif isinstance(thing, Optimizer):
                optimizers.append(thing)
        self.hooks = [f for m in modules for f in hooks_of(m) if isinstance(f, FunctionType)]
        self._take(found, nodes)
        self._name_parameters(modules)
        self._name_state(optimizers)
        for tensor in found:
            if tensor.is_leaf and tensor.grad is not None:
                self._role(tensor.grad, f"gradient of {self._name(tensor)}")
        own = [self.hooks, self.tensors, self.nodes, self.roles, self.heads, self.__dict__]
        own += [*self.tensors.values(), *self.nodes.values(), found, nodes, modules, optimizers]
        self._chains = Chains(frame, own)
        self._known: dict[int, Chain | None] = {}
        self._spent = 0.0  # seconds in searches

    def _take(self, found: list[Tensor], nodes: list[Node]) -> None:
        for tensor in found:
            number = storage_of(tensor.array)
            if number:
                self.tensors.setdefault(number, []).append(tensor)
        for node in nodes:
            for number in saved_by(node):
                self.nodes.setdefault(number, []).append(node)
        for tensor in found:
            edge = tensor.edge
            if isinstance(edge, tuple) and isinstance(edge[0], Node):
                for node in graph_of(edge[0], self.heads):
                    self.heads[id(node)] = tensor

    def _role(self, tensor: Tensor, text: str) -> None:
        texts = self.roles.setdefault(storage_of(tensor.array), [])
        if text not in texts:
            texts.append(text)

    def _name(self, tensor: Tensor) -> str:
        for text in self.roles.get(storage_of(tensor.array), ()):
            kind, _, name = text.partition(" ")
            if kind == "parameter":
                return name
        return f"a tensor of shape {tuple(tensor.shape)}"

    def _name_parameters(self, modules: list[Module]) -> None:
        inner = {id(child) for module in modules for child in module.children()}
        for root in modules:
            if id(root) in inner:
                continue
            name = type(root).__name__
            for path, parameter in root.named_parameters():
                self._role(parameter, f"parameter {name}.{path}")
            for path, buffer in root.named_buffers():
                self._role(buffer, f"buffer {name}.{path}")

    def _name_state(self, optimizers: list[Optimizer]) -> None:
        for optimizer in optimizers:
            for parameter, state in optimizer.state.items():
                whose = self._name(parameter) if isinstance(parameter, Tensor) else parameter
                for key, tensor in tensors_in(state):
                    text = f"state of {type(optimizer).__name__}: {key} of {whose}"
                    self._role(tensor, text)

    # ---- questions ---------------------------------------------------------------------------

    def names(self, number: int) -> list[str]:
        """Who holds a storage, in words: roles, nodes that saved it, tensors by their paths."""
        told = list(self.roles.get(number, ()))
        for node in self.nodes.get(number, ()):
            head = self.heads.get(id(node))
            chain = self.chain(head) if head is not None else None
            site = getattr(node, "_metadata", {}).get(KEY)
            saver = f"saved by {describe(site) if site else name_of_op(node)}"
            told.append(saver + (f", in the graph of {chain}" if chain else ""))
        if not told:
            for tensor in self.tensors.get(number, ()):
                chain = self.chain(tensor)
                told.append(str(chain) if chain else "a tensor without a name that was found")
        return told

    def holding(self, number: int) -> Iterator[Tensor]:
        """The tensors through which a storage is alive: its own, or those whose graph saved it."""
        yield from self.tensors.get(number, ())
        for node in self.nodes.get(number, ()):
            if id(node) in self.heads:
                yield self.heads[id(node)]

    def chain(self, tensor: Tensor) -> Chain | None:
        """How the script's names lead to a tensor; None: not found, or not looked for any more."""
        if id(tensor) not in self._known:
            if len(self._known) >= self.CHAINS or self._spent > self.SECONDS:
                return None
            start = time.perf_counter()
            self._known[id(tensor)] = self._chains.find(tensor)
            self._spent += time.perf_counter() - start
        return self._known[id(tensor)]

    def is_of_hook(self, chain: Chain) -> bool:
        """Whether it leads through a hook of a module, or begins at a global that one names."""
        return chain.through == "hook" or any(
            chain.root in hook.__code__.co_names
            and chain.where == f"a global of {hook.__globals__.get('__name__')}"
            for hook in self.hooks
        )

    def saved_in_graph(self, tensor: Tensor) -> set[int]:
        """The storages that the nodes of a tensor's graph saved."""
        edge = tensor.edge
        if not isinstance(edge, tuple) or not isinstance(edge[0], Node):
            return set()
        return {number for node in graph_of(edge[0], {}) for number in saved_by(node)}


def hooks_of(module: Module) -> Iterator[Any]:
    for name, hooks in vars(module).items():
        if name.endswith("hooks"):
            yield from hooks.values()


def storage_of(array: Any) -> int:
    """0 for an array of the device `ref`, which has none."""
    return getattr(array, "storage_id", 0)


def saved_by(node: Node) -> set[int]:
    """The storages that a node saved; what hooks have packed is theirs."""
    saved = node.saved
    return {storage_of(value) for value in saved} - {0} if type(saved) is tuple else set()


def graph_of(node: Node, known: Any) -> list[Node]:
    """The node and those behind it, but for what is known and what only known ones lead to."""
    found, seen, waiting = [], set(), [node]
    while waiting:
        node = waiting.pop()
        if id(node) in seen or id(node) in known:
            continue
        seen.add(id(node))
        found.append(node)
        waiting += [e[0] for e in node.edges if e is not None and isinstance(e[0], Node)]
    return found


def tensors_in(value: Any, key: str = "") -> Iterator[tuple[str, Tensor]]:
    """(place, tensor) within dicts and lists: ("history[2]", ...)."""
    if isinstance(value, Tensor):
        yield key, value
    elif isinstance(value, dict):
        for name, part in value.items():
            yield from tensors_in(part, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list | tuple):
        for i, part in enumerate(value):
            yield from tensors_in(part, f"{key}[{i}]")
