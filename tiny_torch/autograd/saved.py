"""Hooks on what ops save for backward; torch.autograd.graph offers them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from tiny_torch import _core
from tiny_torch.base.modes import NO_GRAD, SAVED_HOOKS, Scope, modes, module_of, thread
from tiny_torch.tensor import wrap


class Packed:
    """A node's saved values, of which some arrays have passed through a pack hook."""

    __slots__ = ("unpack_hooks", "values")

    def __init__(self, saved: tuple):
        self.values = list(saved)
        self.unpack_hooks: dict[int, Callable] = {}  # {place: the hook of what was packed there}

    def pack(self, place: int, pack_hook: Callable, unpack_hook: Callable) -> None:
        if place in self.unpack_hooks:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: "
                "only one pair of hooks is allowed at a time."
            )
        saved = self.values[place]
        stamp = saved.stamp
        packed = _core.within(PACKING, pack_hook, wrap(saved))
        if saved.stamp != stamp:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as "
                "input to pack hook cannot be modified by in-place operations as this can lead "
                "to unexpected side-effects."
            )
        self.values[place], self.unpack_hooks[place] = packed, unpack_hook

    def rest(self) -> tuple:
        """What was not packed: other arrays, and what is none."""
        return tuple([v for k, v in enumerate(self.values) if k not in self.unpack_hooks])

    def unpack(self) -> tuple:
        values = list(self.values)
        for place, unpack_hook in self.unpack_hooks.items():
            values[place] = array_of(unpack_hook(values[place]))
        return tuple(values)


def array_of(tensor: Any) -> Any:
    if not hasattr(tensor, "array"):
        raise TypeError(
            "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
            f"{type(tensor).__name__}"
        )
    return tensor.array


class saved_tensors_hooks(Scope):
    """What ops save for backward passes through `pack_hook`, and back through `unpack_hook`.

    https://pytorch.org/docs/stable/autograd.html#torch.autograd.graph.saved_tensors_hooks

    >>> import tiny_torch as torch
    >>> x = torch.tensor([2.0], requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), torch.tensor):
    ...     y = x.exp()
    >>> y.backward()
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]):
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def current(self) -> tuple:
        return modes.bits & SAVED_HOOKS, thread.saved_hooks

    def begin(self) -> None:
        thread.saved_hooks = self.pack_hook, self.unpack_hook
        modes.bits |= SAVED_HOOKS

    def restore(self, before: tuple) -> None:
        bit, thread.saved_hooks = before
        modes.bits = (modes.bits & ~SAVED_HOOKS) | bit


class save_on_cpu(saved_tensors_hooks):
    """What ops save is kept in the CPU's memory, and brought back for backward.

    https://pytorch.org/docs/stable/autograd.html#torch.autograd.graph.save_on_cpu
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda"):
        def keep(x: Any) -> Any:
            if pin_memory and not x.is_cpu:  # else there is no transfer that it would speed up
                raise NotImplementedError("save_on_cpu(pin_memory=True)")
            return x.device, x.cpu()

        super().__init__(keep, lambda packed: packed[1].to(packed[0]))


class Packing(_core.ModeScope):
    """A pack hook's own ops are neither recorded nor packed."""

    bits_on, bits_off = NO_GRAD, SAVED_HOOKS


PACKING = Packing()


def pack(node: Any) -> None:
    """Packs what a new node has saved."""
    places = [place for place, value in enumerate(node.saved) if hasattr(value, "stamp")]
    if not places:
        return
    packed = Packed(node.saved)
    for place in places:
        packed.pack(place, *thread.saved_hooks)
    node.saved = packed


module_of[SAVED_HOOKS] = sys.modules[__name__]
