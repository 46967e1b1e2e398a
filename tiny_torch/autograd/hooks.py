"""Hooks on gradients: of a leaf, or of an output of a node."""

from __future__ import annotations

import weakref
from collections import OrderedDict

from tiny_torch import hooks
from tiny_torch.hooks import RemovableHandle


class Hook:
    """A user's function, told apart from the same function registered twice."""

    __slots__ = ("function",)
    retains = False

    def __init__(self, function):
        self.function = function

    def __call__(self, gradient):
        return self.function(gradient)


class Retain:
    """retain_grad's hook: puts the gradient in ``.grad`` of a tensor that may be gone by then."""

    __slots__ = ("tensor",)
    retains = True

    def __init__(self, tensor):
        self.tensor = weakref.ref(tensor)

    def __call__(self, gradient):
        tensor = self.tensor()
        if tensor is not None:
            tensor._grad = gradient.clone() if tensor._grad is None else tensor._grad + gradient


def checked(hook, gradient):
    """What a hook answers, which must be None or a tensor like the gradient."""
    answer = hook(gradient)
    if answer is None:
        return None
    if not hasattr(answer, "array"):
        raise TypeError(f"expected Variable, but hook returned '{type(answer).__name__}'")
    name = getattr(hook.function, "__name__", type(hook.function).__name__)
    if answer.array.dtype is not gradient.array.dtype:
        raise RuntimeError(
            f"hook '{name}' has changed the type of value (was {gradient.dtype} got {answer.dtype})"
        )
    if answer.array.shape != gradient.array.shape:
        raise RuntimeError(f"hook '{name}' has changed the size of value")
    return answer


def add_to(tensor, name: str, function) -> RemovableHandle:
    """A hook among a leaf's own."""
    own = getattr(tensor, name, None)
    if own is None:
        own = OrderedDict()
        setattr(tensor, name, own)
    return hooks.add_hook(own, Hook(function))


def add_hook(tensor, edge, function) -> RemovableHandle:
    """A hook on a leaf stands with the leaf, another with the node that made the tensor."""
    target, output = edge
    if target is tensor:
        return add_to(tensor, "_hooks", function)
    return add_to_node(target, output, Hook(function))


def add_to_node(node, output: int, hook) -> RemovableHandle:
    if node.hooks is None:
        node.hooks = OrderedDict()
    return hooks.add_hook(node.hooks, (output, hook))


def retain(tensor, edge) -> None:
    if not is_retained(tensor, edge):
        node, output = edge
        add_to_node(node, output, Retain(tensor))


def is_retained(tensor, edge) -> bool:
    if edge is None or edge[0] is tensor or edge[0].hooks is None:
        return False
    return any(hook.retains and hook.tensor() is tensor for _, hook in edge[0].hooks.values())
