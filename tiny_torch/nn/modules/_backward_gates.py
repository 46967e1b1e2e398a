"""How a Module's backward hooks see gradients.

A module's gradients are seen by two gates: differentiable identities around its inputs and its
outputs. All gradients of the outputs meet in the one, then all those of the inputs in the other.

    inputs -> input gate -> forward -> output gate -> outputs
           <- grad_input  <-         <- grad_output <-
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import tiny_torch as torch
from tiny_torch.autograd import Function
from tiny_torch.tensor import Tensor

Grads = tuple[Any, ...]  # one entry per input or output; None for what has no gradient


class _Gate(Function):
    """Identity on tensors; all their gradients meet in its node."""

    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> tuple[Tensor, ...]:
        results = tuple(tensor.view_as(tensor) for tensor in tensors)
        pairs = zip(tensors, results, strict=True)
        ctx.mark_non_differentiable(*(out for x, out in pairs if not x.requires_grad))
        return results

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Grads:
        return grads


class BackwardGates:
    """The two gates of one call of a module, and the user's hooks that run in them."""

    def __init__(
        self, module: Any, pre_hooks: Sequence[Callable], hooks: Sequence[Callable]
    ) -> None:
        self.module = module
        self.pre_hooks = pre_hooks
        self.hooks = hooks
        self.grad_output: Grads | None = None
        self.n_inputs = 0
        self.inputs_need_grad = False

    def around_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        self.n_inputs = len(args)
        gated = _gate(args, self._input_backward, True)
        self.inputs_need_grad = gated is not None
        return args if gated is None else gated

    def around_outputs(self, result: Any) -> Any:
        if not isinstance(result, (Tensor, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of "
                f"Tensors but received {type(result)}",
                stacklevel=4,
            )
        outputs = result if isinstance(result, tuple) else (result,)
        gated = _gate(outputs, self._output_backward, False)
        if gated is None:
            return result
        if not isinstance(result, tuple):
            return gated[0]
        return gated if type(result) is tuple else type(result)(*gated)

    def _output_backward(self, grads: Grads) -> Grads:
        for hook in self.pre_hooks:
            changed = hook(self.module, grads)
            if changed is not None:
                _check_length("pre hook", "grad_output", changed, grads)
                grads = changed
        if self.inputs_need_grad:
            self.grad_output = grads
        else:
            self._run_without_inputs(grads)
        return grads

    def _input_backward(self, grads: Grads) -> Grads:
        grad_output, self.grad_output = self.grad_output, None
        if grad_output is None:  # backward came to the inputs without passing the outputs
            return grads
        for hook in self.hooks:
            changed = hook(self.module, grads, grad_output)
            if changed is not None:
                _check_length("hook", "grad_input", changed, grads)
                grads = changed
        return grads

    def _run_without_inputs(self, grad_output: Grads) -> None:
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module "
            "outputs since no inputs require gradients.",
            stacklevel=2,
        )
        for hook in self.hooks:
            changed = hook(self.module, (None,) * self.n_inputs, grad_output)
            if changed is not None and any(grad is not None for grad in changed):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always "
                    "return None or None for all gradients."
                )


def _check_length(kind: str, name: str, changed: Grads, grads: Grads) -> None:
    if len(changed) != len(grads):
        raise RuntimeError(
            f"Backward {kind} returned an invalid number of {name}, got {len(changed)}, "
            f"but expected {len(grads)}"
        )


def _gate(
    values: tuple[Any, ...], callback: Callable[[Grads], Grads], zeros: bool
) -> tuple[Any, ...] | None:
    """`values` with their tensors through a gate; None where none of them needs a gradient.

    `callback` sees one entry per value, None for those that are no tensors; what gets no gradient
    has zeros there, or None unless `zeros`. What it answers goes on.
    """
    places = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
    if not torch.is_grad_enabled() or not any(values[i].requires_grad for i in places):
        return None

    def hook(passed_on: Grads, arrived: Grads) -> Grads:
        spread: list[Any] = [None] * len(values)
        for i, grad in zip(places, passed_on if zeros else arrived, strict=True):
            spread[i] = grad
        changed = callback(tuple(spread))
        return tuple(changed[i] for i in places)

    gated = list(values)
    results = _Gate.apply(*(values[i] for i in places))
    node = next(tensor.grad_fn for tensor in results if tensor.grad_fn is not None)
    node.register_hook(hook)
    for i, tensor in zip(places, results, strict=True):
        gated[i] = tensor
    return tuple(gated)
