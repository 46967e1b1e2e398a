"""A checkpointed call with a backward inside of its backward."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import tiny_torch as torch
from tiny_torch.autograd import Function, enable_grad, no_grad
from tiny_torch.autograd.hooks import innermost_backward
from tiny_torch.tensor import Tensor
from tiny_torch.utils.checkpoint.surroundings import Surroundings


class CheckpointFunction(Function):
    """``apply(function, preserve_rng_state, *args)``: the reentrant form of `checkpoint`."""

    @staticmethod
    def forward(ctx: Any, function: Callable, preserve_rng_state: bool, *args: Any) -> Any:
        if not any(isinstance(arg, Tensor) and arg.requires_grad for arg in args):
            warnings.warn(
                "None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2
            )
        ctx.function = function
        ctx.before = Surroundings(preserve_rng_state)
        ctx.others = [None if isinstance(arg, Tensor) else arg for arg in args]
        ctx.places = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
        ctx.save_for_backward(*[args[i] for i in ctx.places])
        with no_grad():
            return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        backward = innermost_backward()
        if backward is not None and backward.inputs is not None:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or "
                "passing an `inputs` parameter to .backward(). To resolve this error, you can "
                "either set use_reentrant=False, or call .backward() without passing the `inputs` "
                "argument."
            )
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            args[place] = tensor.detach().requires_grad_(tensor.requires_grad)
        with ctx.before.again(), enable_grad():
            outputs = ctx.function(*args)
        outputs = outputs if isinstance(outputs, tuple | list) else (outputs,)
        pairs = [
            (output, grad)
            for output, grad in zip(outputs, grads, strict=True)
            if isinstance(output, Tensor) and output.requires_grad
        ]
        if not pairs:
            raise RuntimeError(
                "none of output has requires_grad=True, this checkpoint() is not necessary"
            )
        torch.autograd.backward([output for output, _ in pairs], [grad for _, grad in pairs])
        return (None, None, *[arg.grad if isinstance(arg, Tensor) else None for arg in args])
