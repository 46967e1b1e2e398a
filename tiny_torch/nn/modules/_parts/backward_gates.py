"""How a Module's backward hooks see gradients.

A module's gradients are seen by two gates: differentiable identities around its inputs and its
outputs. All gradients of the outputs meet in the one, then all those of the inputs in the other.

    inputs -> input gate -> forward -> output gate -> outputs
           <- grad_input  <-         <- grad_output <-

The hooks of `register_backward_hook`, from before there were full ones, see a module's last node
alone: grad_input is what that node hands on, in the node's order. Of a module with several nodes
that is not the gradient of the module's inputs; a warning says so.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any

import tiny_torch as torch
from tiny_torch.autograd import Function
from tiny_torch.tensor import Tensor

Grads = tuple[Any, ...]  # one entry per input or output; None for what has no gradient


class BackwardHookFunction(Function):
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
    results = BackwardHookFunction.apply(*(values[i] for i in places))
    node = next(tensor.grad_fn for tensor in results if tensor.grad_fn is not None)
    node.register_hook(hook)
    for i, tensor in zip(places, results, strict=True):
        gated[i] = tensor
    return tuple(gated)


class _OfModule:
    """A node's hook that calls hook(module, grad_input, grad_output), and keeps no module alive."""

    def __init__(self, hook: Callable, module: Any) -> None:
        update_wrapper(self, hook)
        self.hook = hook
        self.module = weakref.ref(module)

    def __call__(self, *grads: Any) -> Any:
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *grads)


def add_to_last_node(module: Any, hooks: Sequence[Callable], args: Any, result: Any) -> None:
    """Put the hooks into the node of the first tensor of what forward has answered."""
    first = result
    while not isinstance(first, Tensor):
        if isinstance(first, dict):
            first = next(value for value in first.values() if isinstance(value, Tensor))
        else:
            first = first[0]
    node = first.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(_OfModule(hook, module))
    missed = _blind_spot(node, args, result)
    if missed is not None:
        warnings.warn(missed, FutureWarning, stacklevel=4)


def _blind_spot(node: Any, args: Any, result: Any) -> str | None:
    """What hooks in this node do not see of the module; None if they see all."""
    full = "Please use register_full_backward_hook to get the documented behavior."
    old = "is deprecated and will be removed in future versions. This hook will be missing"
    outputs = (result,) if isinstance(result, Tensor) else result
    if not _are_tensors(outputs):
        return (
            "Using non-full backward hooks on a Module that does not return a single Tensor or a "
            f"tuple of Tensors {old} some of the grad_output. {full}"
        )
    if not _are_tensors(args):
        return (
            "Using non-full backward hooks on a Module that does not take as input a single Tensor "
            f"or a tuple of Tensors {old} some of the grad_input. {full}"
        )
    made_by = {output.grad_fn for output in outputs} - {None}
    if len(made_by) > 1:
        return (
            "Using a non-full backward hook when outputs are generated by different autograd Nodes "
            f"{old} some grad_output. {full}"
        )
    if made_by != {node}:
        return (
            "Using a non-full backward hook when outputs are nested in python data structure "
            f"{old} some grad_output."
        )
    if {x.grad_fn for x in args} - {None} != {target for target, _ in node.next_functions}:
        return (
            "Using a non-full backward hook when the forward contains multiple autograd Nodes "
            f"{old} some grad_input. {full}"
        )
    return None


def _are_tensors(values: Any) -> bool:
    return isinstance(values, tuple) and all(isinstance(value, Tensor) for value in values)
