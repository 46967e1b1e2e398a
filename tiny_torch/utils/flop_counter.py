"""`torch.utils.flop_counter`: the floating point operations of matrix products, by module.

Counted are matrix products, convolutions and attention, forward and backward; a multiplication and
an addition are two. The formulas are the profiler's (autograd/_profiler/costs.py).
https://pytorch.org/docs/stable/torch.utils.html
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from tiny_torch.autograd._profiler.costs import flops_of, flops_of_backward
from tiny_torch.autograd.op_mode import OpMode
from tiny_torch.nn import Module
from tiny_torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from tiny_torch.tensor import Tensor

__all__ = ["FlopCounterMode"]

# Where an op has the factors of its product, by its `cost`.
FACTORS = {
    "attention": (0, 1, 2),
    "convolution": (0, 1),
    "linear": (0, 1),
    "product": (0, 1),
    "sum of a product": (1, 2),
    "transposed convolution": (0, 1),
}


def describe(argument: Any) -> Any:
    """An argument as the formulas take it: (shape, dtype) of a tensor."""
    return (tuple(argument.shape), argument.dtype) if isinstance(argument, Tensor) else argument


def tensors_in(answer: Any) -> Iterator[Tensor]:
    for part in answer if isinstance(answer, (tuple, list)) else (answer,):
        if isinstance(part, Tensor):
            yield part


class FlopCounterMode(OpMode):
    """Counts while its ``with`` lasts, from 0 each time; prints a table at the end if `display`.

    What a module's backward does is counted where its forward was. `mods` is not needed.
    NotImplementedError for `custom_mapping`. PyTorch counts no attention on the CPU.
    Source: https://pytorch.org/docs/stable/torch.utils.html

    >>> import tiny_torch as torch
    >>> from tiny_torch.utils.flop_counter import FlopCounterMode
    >>> with FlopCounterMode(display=False) as counter:
    ...     y = torch.nn.Linear(4, 8)(torch.ones(5, 4))
    >>> counter.get_total_flops(), counter.get_flop_counts()["Linear"]
    (320, {'aten.linear': 320})
    """

    def __init__(
        self,
        mods: Any = None,
        depth: int = 2,
        display: bool = True,
        custom_mapping: dict | None = None,
    ) -> None:
        if custom_mapping:
            raise NotImplementedError("FlopCounterMode: custom_mapping is not supported")
        self.depth, self.display = depth, display
        self.flop_counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self._within: list[tuple[Module, str]] = []  # the modules that run, and their names
        self._hooks: list[Any] = []

    def begin(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self._hooks = [
            register_module_forward_pre_hook(self._enter),
            register_module_forward_hook(self._leave, always_call=True),
        ]
        return super().begin()

    def restore(self, before: int) -> None:
        super().restore(before)
        for hook in self._hooks:
            hook.remove()
        if self._hooks and self.display:
            print(self.get_table(self.depth))
        self._hooks, self._within = [], []

    def _enter(self, module: Module, inputs: Any) -> None:
        name = type(module).__name__
        if self._within:
            parent, known = self._within[-1]
            for path, child in parent.named_modules():
                if child is module and path:
                    name = f"{known}.{path}"
                    break
        self._within.append((module, name))

    def _leave(self, module: Module, inputs: Any, result: Any) -> None:
        if self._within:
            self._within.pop()

    def _add(self, op: str, flops: int, names: tuple[str, ...]) -> None:
        for name in names:
            self.flop_counts[name][f"aten.{op}"] += flops

    def forward(self, call: Callable, op: Any, arguments: tuple, kind: str) -> Any:
        answer = call(op, arguments)
        cost = getattr(op, "cost", None)
        if cost in FACTORS:
            told = tuple(map(describe, arguments))
            names = ("Global", *dict.fromkeys(name for _, name in self._within))
            self._add(op.__name__.lower(), flops_of(op, told), names)
            for result in tensors_in(answer):
                if result.grad_fn is not None:
                    result.grad_fn.metadata[self] = op, told, names
        return answer

    def backward(self, call: Callable, node: Any, grad: Any, needs: Any) -> Any:
        if self in node.metadata:
            op, told, names = node.metadata[self]
            wanted = sum(bool(needs[i]) for i in FACTORS[op.cost])
            flops = flops_of_backward(op, told, wanted)
            self._add(f"{op.__name__.lower()}_backward", flops, names)
        return call(node, grad, needs)

    def get_total_flops(self) -> int:
        """All operations."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[str, int]]:
        """{module: {op: operations}}; "Global" is all of them."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """A line for each module, as deep as `depth`: its operations and their share."""
        depth = self.depth if depth is None else depth
        total = max(self.get_total_flops(), 1)
        names = [name for name in self.flop_counts if name.count(".") < depth]
        names = ["Global", *[name for name in names if name != "Global"]]
        rows = [("Module", "FLOP", "% Total")]
        for name in names:
            flops = sum(self.flop_counts[name].values())
            indent = " " * (0 if name == "Global" else 1 + name.count("."))
            rows.append((indent + name, f"{flops:,}", f"{flops / total:.2%}"))
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        return "\n".join(
            f"{name:<{widths[0]}}  {flops:>{widths[1]}}  {share:>{widths[2]}}"
            for name, flops, share in rows
        )
