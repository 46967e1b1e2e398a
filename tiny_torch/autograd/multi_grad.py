"""`register_multi_grad_hook`: one hook on the gradients of several tensors."""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.hooks import innermost_backward
from tiny_torch.base.hooks import RemovableHandle


class MultiHandle(RemovableHandle):
    """Removes several hooks at once."""

    def __init__(self, handles: tuple[RemovableHandle, ...]) -> None:
        self.handles = handles

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> tuple[RemovableHandle, ...]:  # type: ignore[override]
        return self.handles

    def __setstate__(self, state: tuple[RemovableHandle, ...]) -> None:
        self.handles = state


def register_multi_grad_hook(
    tensors: Sequence[Any], fn: Callable, *, mode: str = "all"
) -> RemovableHandle:
    """Calls ``fn(grads)`` once a backward knows the gradients of all tensors, or of ``"any"``.

    In mode ``"all"``, `grads` has None for a tensor that this backward does not reach; in mode
    ``"any"`` it is ``fn(grad)``, with the first. Raises ValueError for another mode, AssertionError
    where ``"all"`` has a tensor that requires no gradient.
    https://pytorch.org/docs/stable/autograd.html#torch.autograd.graph.register_multi_grad_hook

    >>> import tiny_torch as torch
    >>> a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    >>> hook = lambda grads: print([grad is not None for grad in grads])
    >>> handle = torch.autograd.graph.register_multi_grad_hook((a, b), hook)
    >>> (a * 2).sum().backward()
    [True, False]
    """
    modes = ("all", "any")
    if mode not in modes:
        raise ValueError(f"Expects mode to be one of {modes} but got {mode}")
    if mode == "any":
        hook = _first(fn)
        hooked = [(tensor, hook) for tensor in tensors if tensor.requires_grad]
    else:
        hooked = list(zip(tensors, _all(tensors, fn), strict=True))
    return MultiHandle(tuple(tensor.register_hook(hook) for tensor, hook in hooked))


def _first(fn: Callable) -> Callable:
    begun: weakref.WeakSet = weakref.WeakSet()  # the runs of backward that have had a gradient

    @functools.wraps(fn)
    def hook(grad: Any) -> None:
        run = innermost_backward()
        if run not in begun:
            begun.add(run)
            fn(grad)

    return hook


def _all(tensors: Sequence[Any], fn: Callable) -> list[Callable]:
    """A hook per tensor; in each run the last of those that it calls has all gradients."""
    targets = []
    for tensor in tensors:
        edge = _core.edge_of(tensor)
        if edge is None:
            raise AssertionError("Expected gradient function to be set")
        targets.append(edge[0])
    # {run of backward: [hooks still to come, gradients so far]}
    states: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
    lock = threading.RLock()

    def hook(place: int, grad: Any) -> None:
        run = innermost_backward()
        with lock:
            if run not in states:
                states[run] = [sum(map(run.reaches, targets)), [None] * len(tensors)]
            state = states[run]
            state[0] -= 1
            state[1][place] = grad
        if state[0] == 0:
            del states[run]
            fn(state[1])

    return [functools.partial(hook, place) for place in range(len(tensors))]
