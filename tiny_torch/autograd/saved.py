"""What a node has saved: hooks on it, and how `grad_fn._saved_self` and the like show it.

torch.autograd.graph offers the hooks. Names follow from the op: `saves` tells which inputs and
outputs are there, its forward what inputs and constants are called. So a node shows what our
formula keeps: mostly what PyTorch's does.
"""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from tiny_torch import _core
from tiny_torch.base.modes import NO_GRAD, SAVED_HOOKS, Scope, Setting, modes, module_of, thread
from tiny_torch.tensor import wrap


class Packed:
    """A node's saved values, of which some arrays have passed through a pack hook."""

    __slots__ = ("unpack_hooks", "values")

    def __init__(self, saved: tuple):
        self.values = list(saved)
        self.unpack_hooks: dict[int, Callable] = {}  # {place: the hook of what was packed there}

    def pack(self, node: Any, place: int, pack_hook: Callable, unpack_hook: Callable) -> None:
        if place in self.unpack_hooks:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: "
                "only one pair of hooks is allowed at a time."
            )
        saved = self.values[place]
        stamp = saved.stamp
        packed = _core.within(PACKING, pack_hook, shown_to_hooks(node, place, saved))
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


def shown_to_hooks(node: Any, place: int, value: Any) -> Any:
    """An input as it was, a leaf itself; a result without its history, which is this node."""
    places = node.op.saves
    if place >= len(places) or places[place] is None or places[place] < 0:
        return wrap(value)
    return node.as_tensors((*(None,) * place, value), node)[place]


def array_of(tensor: Any) -> Any:
    if not hasattr(tensor, "array"):
        raise TypeError(
            "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
            f"{type(tensor).__name__}"
        )
    return tensor.array


class Disabled(threading.local):
    """What saved_tensors_hooks raises on this thread; None where it is allowed."""

    message: str | None = None


disabled = Disabled()


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
        if disabled.message is not None:
            raise RuntimeError(disabled.message)
        thread.saved_hooks = self.pack_hook, self.unpack_hook
        modes.bits |= SAVED_HOOKS

    def restore(self, before: tuple) -> None:
        bit, thread.saved_hooks = before
        modes.bits = (modes.bits & ~SAVED_HOOKS) | bit


class disable_saved_tensors_hooks(Setting):
    """Within it, or around it, saved_tensors_hooks raises RuntimeError(error_message).

    https://pytorch.org/docs/stable/autograd.html#torch.autograd.graph.disable_saved_tensors_hooks

    >>> import tiny_torch as torch
    >>> with torch.autograd.graph.disable_saved_tensors_hooks("no hooks here"):
    ...     with torch.autograd.graph.save_on_cpu():
    ...         pass
    Traceback (most recent call last):
    RuntimeError: no hooks here
    """

    def __init__(self, error_message: str):
        if not isinstance(error_message, str):
            raise TypeError("disable_saved_tensors_hooks(): error_message must be a str")
        super().__init__(disabled, "message", error_message)

    def begin(self) -> None:
        if modes.bits & SAVED_HOOKS:
            raise RuntimeError(self.value)
        super().begin()


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
        packed.pack(node, place, *thread.saved_hooks)
    node.saved = packed


module_of[SAVED_HOOKS] = sys.modules[__name__]


# PyTorch's words for arguments of forward, where ours are others. An op's own are its `words`, with
# commas for a tuple of settings.
WORDS = """
    x:self y:other low:min high:max dims:dim edge:lambd slope:negative_slope p:ord w:weight
    q:query k:key v:value mask:attn_mask causal:is_causal
"""
# Arguments that PyTorch's nodes do not have; settings are several in one.
UNSAID = {
    *("arguments", "by_frequency", "core", "dtype", "momentum", "options", "out", "settings"),
    *("shape", "size", "sizes", "windows"),
}
# The arguments of a step that a view takes.
STEPS: dict[str, tuple[str, ...]] = {
    "diagonal": ("offset", "dim1", "dim2"),
    "select": ("dim", "index"),
    "slice": ("dim", "start", "end", "step"),
    "squeeze": ("dim",),
    "unsqueeze": ("dim",),
}
REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def names_of(node: Any) -> Iterator[tuple[str, Callable, Any]]:
    """(name, how it is read, which) of all that a node shows."""
    op: Any = node.op
    if not isinstance(node.op, type) or op.forward is None:  # a user's Function has `saved_tensors`
        return
    takes: tuple[str, ...] = ("x", "y", "z")
    if not isinstance(op.forward, _core.Method):
        takes = tuple(inspect.signature(op.forward).parameters)
    said = op.words(node) if callable(op.words) else op.words
    words = dict(pair.split(":") for pair in [*WORDS.split(), *said.split()])
    count = len(node.edges)
    for k, place in enumerate(op.saves):
        if place is None or (place >= 0 and place >= len(takes)):
            continue
        name = takes[place] if place >= 0 else "result" if op.outputs == 1 else f"result{~place}"
        yield words.get(name, name), read_saved, k
    for j, name in enumerate(takes[count : count + len(node.constants)]):
        if name == "steps":
            for last, _ in node.constants[j][-1:]:  # none, of an alias
                yield from ((word, read_step, i) for i, word in enumerate(STEPS.get(last, ())))
        elif name == "indices":
            yield name, read_indices, j
        elif name in words or name not in UNSAID:
            parts = words.get(name, name).split(",")
            several = [(part, read_part, (j, i)) for i, part in enumerate(parts)]
            yield from several if len(parts) > 1 else [(*parts, read_constant, j)]
    if 0 not in op.saves and type(node.saved) is tuple and ".nn." not in op.__module__:
        k = sum(place is not None for place in op.saves)
        value = node.saved[k] if k < len(node.saved) else None
        if type(value) is tuple and not any(value is constant for constant in node.constants):
            yield "self_sym_sizes", read_saved, k


def read_saved(node: Any, k: int) -> Any:
    return node.op.show_saved(node.unpack(True), k)


def read_constant(node: Any, j: int) -> Any:
    value = node.constants[j]
    return REDUCTIONS.get(value, value) if isinstance(value, str) else value


def read_part(node: Any, place: tuple[int, int]) -> Any:
    return node.constants[place[0]][place[1]]


def read_indices(node: Any, j: int) -> tuple:
    return tuple(wrap(x) if hasattr(x, "stamp") else x for x in node.constants[j:])


def read_step(node: Any, i: int) -> Any:
    _, arguments = node.constants[0][-1]
    value = arguments[i]
    return value[0] if type(value) is tuple and len(value) == 1 else value


def properties_of(node: Any) -> dict[str, property]:
    """`_saved_*` of a node, and `_raw_saved_*` of what may be a tensor."""
    found: dict[str, property] = {}
    for name, read, place in names_of(node):
        found[f"_saved_{name}"] = shown_by(read, place)
        if read is read_saved and name != "self_sym_sizes":
            found[f"_raw_saved_{name}"] = shown_by(SavedTensor, place)
    return found


def shown_by(read: Callable, place: Any) -> property:
    def value(node: Any) -> Any:
        try:
            return read(node, place)
        except IndexError:  # another node of this op has more
            raise AttributeError(f"{node.name()} has saved nothing of this name") from None

    return property(value)


class SavedTensor:
    """A place among what a node saved, which may have a pair of hooks of its own."""

    def __init__(self, node: Any, place: int) -> None:
        self._node, self._place = node, place

    def register_hooks(self, pack_hook: Callable, unpack_hook: Callable) -> None:
        """Packs what is there now; backward gets what `unpack_hook` makes of that.

        Raises RuntimeError where it was freed, is None, or has hooks already.
        https://pytorch.org/docs/stable/notes/autograd.html#hooks-for-saved-tensors
        """
        if not callable(pack_hook) or not callable(unpack_hook):
            raise TypeError("register_hooks(): incompatible function arguments")
        saved = self._node.saved
        if type(saved) is Packed:
            values = saved.values
        elif self._node.is_freed():
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed. Saved "
                "intermediate values of the graph are freed when you call .backward() or "
                "autograd.grad(). Specify retain_graph=True if you need to backward through the "
                "graph a second time or if you need to access saved variables after calling "
                "backward."
            )
        else:
            values = saved
        if values[self._place] is None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor with value None is forbidden"
            )
        packed = saved if type(saved) is Packed else Packed(tuple(values))
        packed.pack(self._node, self._place, pack_hook, unpack_hook)
        self._node.saved = packed
