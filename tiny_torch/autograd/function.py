"""Function: a user's op, with a gradient of the user's own."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from tiny_torch.autograd.grad_mode import no_grad
from tiny_torch.autograd.graph import NO_GRAD, Node, Op, edge_of, modes, rebase
from tiny_torch.devices import array_module
from tiny_torch.tensor import Tensor, wrap


class FunctionCtx:
    """What forward tells backward. https://pytorch.org/docs/stable/autograd.html#context-method-mixins"""

    def __init__(self, needs_input_grad: tuple[bool, ...]):
        self.needs_input_grad = needs_input_grad
        self.to_save: tuple = ()
        self.dirty: tuple = ()
        self.non_differentiable: tuple = ()
        self.materialize_grads = True
        self.node: Any = None

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps inputs and outputs for backward; other tensors would keep no history."""
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(
                    "save_for_backward can only save variables, but argument is of type "
                    f"{type(tensor).__name__}"
                )
        self.to_save = tensors

    @property
    def saved_tensors(self) -> tuple:
        """What was saved. Raises RuntimeError where it is freed or was written since."""
        return tuple(self.node.unpack(True)[: len(self.to_save)])

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Names inputs that forward writes in place, and returns."""
        self.dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Names outputs that have no gradient."""
        self.non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward gets zeros, rather than None, for outputs without a gradient."""
        self.materialize_grads = value


class Function:
    """Subclass with static ``forward(ctx, *args)`` and ``backward(ctx, *grads)``; call ``apply``.

    With ``setup_context(ctx, inputs, output)`` defined, forward takes no ctx.
    https://pytorch.org/docs/stable/autograd.html#function

    >>> import tiny_torch as torch
    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return grad * 2
    >>> x = torch.ones(1, requires_grad=True)
    >>> Double.apply(x).backward()
    >>> x.grad
    tensor([2.])
    """

    forward: Any
    backward: Any
    setup_context: Any = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all "
            "static, so you should invoke them on the class itself. Instantiating an autograd "
            "function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Runs forward and records one node for it."""
        edges = tuple([edge_of(a) if isinstance(a, Tensor) else None for a in args])
        if modes.bits & NO_GRAD:
            edges = (None,) * len(args)
        ctx = FunctionCtx(tuple([edge is not None for edge in edges]))
        with no_grad():
            if cls.setup_context is None:
                outputs = cls.forward(ctx, *args)
            else:
                outputs = cls.forward(*args)
                cls.setup_context(ctx, args, outputs)
        several = isinstance(outputs, tuple)
        results = list(outputs) if several else [outputs]
        if edges.count(None) != len(edges):
            results = record(cls, ctx, args, edges, results)
        return tuple(results) if several else results[0]


def record(function, ctx: FunctionCtx, args: tuple, edges: tuple, outputs: list) -> list:
    """The outputs as results of a node; an input that is returned unwritten is aliased."""
    arrays = [output.array if isinstance(output, Tensor) else None for output in outputs]
    places = []
    for tensor in ctx.to_save:
        place: Any = None
        if tensor is not None:
            inputs = [i for i, a in enumerate(args) if a is tensor]
            made = [j for j, output in enumerate(outputs) if output is tensor]
            place = ~made[0] if made else inputs[0] if inputs else None
        places.append(place)
    op = type(
        function.__name__,
        (UserOp,),
        {
            "function": function,
            "ctx": ctx,
            "outputs": len(outputs),
            "likes": [None if a is None else (a.shape, a.dtype, a.device) for a in arrays],
            "saves": tuple(places),
        },
    )
    saved = tuple(tensor if tensor is None else tensor.array for tensor in ctx.to_save)
    node = ctx.node = Node(op, edges, saved)
    results: list = []
    for j, output in enumerate(outputs):
        if not isinstance(output, Tensor):
            results.append(output)
        elif any(output is t for t in ctx.dirty):
            rebase(output, node, j)
            results.append(output)
        elif any(output is t for t in ctx.non_differentiable) or (
            not output.array.dtype.is_floating_point
        ):
            output.edge = None
            results.append(output)
        else:
            results.append(wrap(output.array, (node, j)))
    return results


class UserOp(Op):
    """Calls the user's backward with tensors, whatever the engine works with."""

    function: Any = None
    ctx: Any = None
    likes: Any = None
    suffix = "Backward"

    @classmethod
    def backward(cls, saved, grads, needs):
        grads = grads if isinstance(grads, tuple) else (grads,)
        tensors = [materialized(g, like, cls.ctx) for g, like in zip(grads, cls.likes, strict=True)]
        as_tensors = any(isinstance(g, Tensor) for g in grads)
        results = cls.function.backward(cls.ctx, *tensors)
        results = results if isinstance(results, tuple) else (results,)
        count = len(cls.ctx.needs_input_grad)
        if len(results) > count and all(r is None for r in results[count:]):
            results = results[:count]
        if len(results) != count:
            raise RuntimeError(
                f"function {cls.__name__}Backward returned an incorrect number of gradients "
                f"(expected {count}, got {len(results)})"
            )
        return tuple(r if r is None or as_tensors else r.array for r in results)


def materialized(gradient, like, ctx: FunctionCtx):
    """The gradient of one output as a tensor; zeros where there is none, unless unwanted."""
    if gradient is None:
        if not ctx.materialize_grads or like is None:
            return None
        shape, dtype, device = like
        return wrap(array_module(device).full(shape, 0, dtype))
    return gradient if isinstance(gradient, Tensor) else wrap(gradient)


def once_differentiable(function: Callable) -> Callable:
    """A backward that is not recorded: differentiating its results raises."""

    @functools.wraps(function)
    def wrapper(ctx, *grads):
        with no_grad():
            results = function(ctx, *grads)
        if modes.bits & NO_GRAD or not any(
            isinstance(g, Tensor) and edge_of(g) is not None for g in grads
        ):
            return results
        several = isinstance(results, tuple)
        guarded = [
            wrap(r.array, (Node(NotDifferentiable, (edge_of(grads[0]),), ()), 0))
            if isinstance(r, Tensor)
            else r
            for r in (results if several else (results,))
        ]
        return tuple(guarded) if several else guarded[0]

    return wrapper


class NotDifferentiable(Op):
    @staticmethod
    def backward(saved, grad, needs):
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )


__all__ = ["Function", "FunctionCtx", "once_differentiable"]
