"""Hooks on what ops save for backward; torch.autograd.graph offers them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tiny_torch import _core
from tiny_torch.modes import NO_GRAD, SAVED_HOOKS, Scope, modes, thread
from tiny_torch.tensor import wrap


class Packed:
    """A node's saved values, of which the arrays have passed through a pack hook."""

    __slots__ = ("places", "unpack_hook", "values")

    def __init__(self, saved: tuple, places: list[int], pack_hook: Callable, unpack_hook: Callable):
        self.unpack_hook = unpack_hook
        self.places = places  # of the arrays
        self.values = list(saved)
        for place in places:
            stamp = saved[place].stamp
            self.values[place] = pack_hook(wrap(saved[place]))
            if saved[place].stamp != stamp:
                raise RuntimeError(
                    "A saved tensor pack hook is modifying its input in place. Tensors provided as "
                    "input to pack hook cannot be modified by in-place operations as this can lead "
                    "to unexpected side-effects."
                )

    def unpack(self) -> tuple:
        values = list(self.values)
        for place in self.places:
            values[place] = self.array_of(values[place])
        return tuple(values)

    def array_of(self, value: Any) -> Any:
        tensor = self.unpack_hook(value)
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
    saved = node.saved
    places = [place for place, value in enumerate(saved) if hasattr(value, "stamp")]
    if not places:
        return
    node.saved = _core.within(PACKING, Packed, saved, places, *thread.saved_hooks)
