"""Hooks on gradients, with handles that take them off again."""

from __future__ import annotations

import weakref
from typing import Any


class RemovableHandle:
    """What registering a hook answers; ``remove()``, or leaving a ``with``, takes the hook off."""

    def __init__(self, hooks: HookList, entry: Any):
        self.hooks = weakref.ref(hooks)
        self.entry = entry

    def remove(self) -> None:
        hooks = self.hooks()
        if hooks is not None:
            hooks[:] = [entry for entry in hooks if entry is not self.entry]

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.remove()


class HookList(list):
    """A list that handles may refer to weakly, so that a handle keeps no graph alive."""

    __slots__ = ("__weakref__",)


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
    """A hook in one of a leaf's own lists."""
    hooks = getattr(tensor, name, None)
    if hooks is None:
        hooks = HookList()
        setattr(tensor, name, hooks)
    hook = Hook(function)
    hooks.append(hook)
    return RemovableHandle(hooks, hook)


def add_hook(tensor, edge, function) -> RemovableHandle:
    """A hook on a leaf stands with the leaf, another with the node that made the tensor."""
    target, output = edge
    if target is tensor:
        return add_to(tensor, "_hooks", function)
    if target.hooks is None:
        target.hooks = HookList()
    entry = (output, Hook(function))
    target.hooks.append(entry)
    return RemovableHandle(target.hooks, entry)


def retain(tensor, edge) -> None:
    node, output = edge
    if not is_retained(tensor, edge):
        if node.hooks is None:
            node.hooks = HookList()
        node.hooks.append((output, Retain(tensor)))


def is_retained(tensor, edge) -> bool:
    if edge is None or edge[0] is tensor or edge[0].hooks is None:
        return False
    return any(hook.retains and hook.tensor() is tensor for _, hook in edge[0].hooks)
