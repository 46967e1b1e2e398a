"""What torch.autograd.graph offers beside nodes: hooks on what is saved, and edges as objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tiny_torch.autograd import graph


class GradientEdge(NamedTuple):
    """Where the gradient of a tensor goes: may stand for it in grad and backward."""

    node: Any
    output_nr: int

    @property
    def edge(self) -> tuple:
        """As the engine has it: of a leaf, the tensor."""
        if isinstance(self.node, graph.AccumulateGrad):
            return self.node.variable, 0
        return self.node, self.output_nr


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """The edge of a tensor that requires grad; RuntimeError for another.

    https://pytorch.org/docs/stable/autograd.html#torch.autograd.graph.get_gradient_edge
    """
    edge = graph.edge_of(tensor)
    if edge is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not "
                           "require gradients")  # fmt: skip
    target, number = edge
    if isinstance(target, graph.Node):
        return GradientEdge(graph.named(target), number)
    return GradientEdge(graph.AccumulateGrad(target), number)


class Packed:
    """A node's saved values, of which the arrays have passed through a pack hook."""

    __slots__ = ("unpack_hook", "values", "which")

    def __init__(self, saved: tuple, pack_hook: Callable, unpack_hook: Callable):
        from tiny_torch.tensor import wrap

        self.unpack_hook = unpack_hook
        self.which = [hasattr(value, "stamp") for value in saved]
        self.values = [
            pack_hook(wrap(value)) if packed else value
            for value, packed in zip(saved, self.which, strict=True)
        ]

    def unpack(self) -> tuple:
        return tuple(
            self.array_of(value) if packed else value
            for value, packed in zip(self.values, self.which, strict=True)
        )

    def array_of(self, value: Any) -> Any:
        tensor = self.unpack_hook(value)
        if not hasattr(tensor, "array"):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(tensor).__name__}"
            )
        return tensor.array


class saved_tensors_hooks:
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

    def __enter__(self) -> None:
        self.before = graph.modes.bits & graph.SAVED_HOOKS, graph.thread.saved_hooks
        graph.modes.bits |= graph.SAVED_HOOKS
        graph.thread.saved_hooks = self.pack_hook, self.unpack_hook

    def __exit__(self, *exception: Any) -> None:
        bit, graph.thread.saved_hooks = self.before
        graph.modes.bits = (graph.modes.bits & ~graph.SAVED_HOOKS) | bit


class save_on_cpu(saved_tensors_hooks):
    """What ops save is kept in the CPU's memory, and brought back for backward.

    https://pytorch.org/docs/stable/autograd.html#torch.autograd.graph.save_on_cpu
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda"):
        if pin_memory:
            raise NotImplementedError("save_on_cpu(pin_memory=True)")
        super().__init__(lambda x: (x.device, x.cpu()), lambda packed: packed[1].to(packed[0]))


def pack(node: Any) -> None:
    """Packs what a new node has saved."""
    if not any(hasattr(value, "stamp") for value in node.saved):
        return
    bits = graph.modes.bits
    graph.modes.bits = (bits | graph.NO_GRAD) & ~graph.SAVED_HOOKS
    try:
        node.saved = Packed(node.saved, *graph.thread.saved_hooks)
    finally:
        graph.modes.bits = bits


__all__ = ["GradientEdge", "get_gradient_edge", "save_on_cpu", "saved_tensors_hooks"]
