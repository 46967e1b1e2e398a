"""make_graphed_callables: one graph for a callable's forward, one for its backward.

Both are recorded on tensors that stay: the samples and, of a module, its parameters. A call copies
its arguments into the samples and replays; so does the backward with the gradients of the outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tiny_torch as torch
from tiny_torch.base.pytree import tree_flatten, tree_unflatten
from tiny_torch.cuda import device_management, streams
from tiny_torch.cuda.graphs import CUDAGraph, check_built, graph, graph_pool_handle
from tiny_torch.tensor import Tensor


class Recording:
    """What is recorded of one callable, step by step: warm up, forward, backward."""

    def __init__(self, function: Callable, args: tuple, allow_unused: bool) -> None:
        self.function, self.args, self.allow_unused = function, args, allow_unused
        self.samples = tuple(tree_flatten(args)[0])
        check_capturable(function, self.samples)
        self.parameters: tuple[Tensor, ...] = ()
        if isinstance(function, torch.nn.Module):
            self.parameters = tuple(function.parameters())
        self.inputs = self.samples + self.parameters
        self.forward_graph, self.backward_graph = CUDAGraph(), CUDAGraph()

    def warm_up(self, times: int) -> None:
        for _ in range(times):
            outputs = tree_flatten(self.function(*self.args))[0]
            self.gradients(outputs, [torch.empty_like(o) for o in outputs if o.requires_grad])

    def gradients(self, outputs: Any, grads: list[Tensor]) -> tuple:
        """Gradients of the inputs that require them, from those of the outputs that do."""
        roots = [output for output in outputs if output.requires_grad]
        if not roots:
            return ()
        inputs = [x for x in self.inputs if x.requires_grad]
        return torch.autograd.grad(roots, inputs, grads, allow_unused=self.allow_unused)

    def record_forward(self, pool: tuple[int, int]) -> None:
        with graph(self.forward_graph, pool=pool):
            result = self.function(*self.args)
        self.outputs, self.structure = tree_flatten(result)

    def record_backward(self, pool: tuple[int, int]) -> None:
        self.output_grads = [
            torch.empty_like(output) if output.requires_grad else None for output in self.outputs
        ]
        given = [grad for grad in self.output_grads if grad is not None]
        found: Any = ()
        if given:
            with graph(self.backward_graph, pool=pool):
                found = self.gradients(self.outputs, given)
        grads = iter(found)
        self.input_grads = [next(grads, None) if x.requires_grad else None for x in self.inputs]

    def callable(self) -> Callable:
        """The function that replays."""
        recording = self

        class Graphed(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, *inputs: Tensor) -> tuple[Tensor, ...]:
                for sample, given in zip(recording.samples, inputs, strict=False):
                    if sample.data_ptr() != given.data_ptr():
                        sample.copy_(given)
                recording.forward_graph.replay()
                return tuple(output.detach() for output in recording.outputs)

            @staticmethod
            @torch.autograd.function.once_differentiable
            def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
                for place, given in zip(recording.output_grads, grads, strict=True):
                    if place is not None and place.data_ptr() != given.data_ptr():
                        place.copy_(given)
                recording.backward_graph.replay()
                return tuple(
                    None if grad is None else grad.detach() for grad in recording.input_grads
                )

        def replay(*args: Any) -> Any:
            leaves = tree_flatten(args)[0]
            outputs = Graphed.apply(*leaves, *recording.parameters)
            return tree_unflatten(outputs, recording.structure)

        return replay


def check_capturable(function: Callable, samples: tuple) -> None:
    if isinstance(function, torch.nn.Module):
        if function._backward_hooks or function._forward_hooks or function._forward_pre_hooks:
            raise AssertionError(
                "Modules must not have hooks registered at the time they are passed. However, "
                "registering hooks on modules after passing them through make_graphed_callables is "
                "allowed."
            )
        if any(buffer.requires_grad for buffer in function.buffers()):
            raise AssertionError(
                "In any :class:`~torch.nn.Module` passed to :func:`~make_graphed_callables`, only "
                "parameters may be trainable. All buffers must have ``requires_grad=False``."
            )
    if not all(isinstance(sample, Tensor) for sample in samples):
        raise AssertionError(
            "In the beta API, sample_args for each callable must contain only Tensors. Other types "
            "are not allowed."
        )


def with_graphs(
    callables: tuple[Callable, ...],
    samples: tuple[tuple, ...],
    warm_ups: int,
    allow_unused: bool,
    pool: tuple[int, int],
) -> tuple[Any, ...]:
    """The callables replayed; modules stay themselves, with another `forward`."""
    recordings = [
        Recording(function, args, allow_unused)
        for function, args in zip(callables, samples, strict=True)
    ]
    device_management.synchronize()
    with streams.StreamContext(streams.Stream()):
        for recording in recordings:
            recording.warm_up(warm_ups)
    device_management.synchronize()
    # In the order in which they will run, so that none writes over what a later one still reads.
    for recording in recordings:
        recording.record_forward(pool)
    for recording in reversed(recordings):
        recording.record_backward(pool)
    return tuple(graphed_callable(recording) for recording in recordings)


def graphed_callable(recording: Recording) -> Any:
    """What stands for the callable: the function that replays, or the module with it inside.

    A module that is in another mode than it was recorded in, training or not, goes on as before.
    """
    function, replayed = recording.function, recording.callable()
    if not isinstance(function, torch.nn.Module):
        return replayed
    module, training, eager = function, function.training, function.forward

    def forward(*args: Any, **kwargs: Any) -> Any:
        run = replayed if module.training == training else eager
        return run(*args, **kwargs)

    module.forward = forward  # type: ignore[method-assign]
    return module


def make_graphed_callables(
    callables: Any,
    sample_args: tuple,
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: tuple[int, int] | None = None,
) -> Any:
    """Functions or modules whose forward and backward are replayed as graphs.

    One callable with a tuple of tensors, or a tuple of callables with a tuple of such tuples. An
    argument of a later call must have the shape and dtype of its sample; outputs of a call are
    overwritten by the next. Raises AssertionError for modules with hooks, for buffers that require
    grad, and for arguments that are no tensors.
    https://pytorch.org/docs/stable/generated/torch.cuda.make_graphed_callables.html
    """
    check_built("CUDAGraph")
    many: tuple[Callable, ...] = callables if isinstance(callables, tuple) else (callables,)
    samples = sample_args if isinstance(callables, tuple) else (sample_args,)
    shared = graph_pool_handle() if pool is None else pool
    results = with_graphs(many, samples, num_warmup_iters, allow_unused_input, shared)
    return results if isinstance(callables, tuple) else results[0]
