"""Function: a user's op, with a gradient of the user's own; and Variable, a tensor's old name."""

from __future__ import annotations

import functools
import inspect
import warnings
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import check_inplace
from tiny_torch.autograd.grad_mode import no_grad
from tiny_torch.autograd.graph import Node, Op, edge_of, note
from tiny_torch.autograd.hooks import NodeHooks, queue_callback
from tiny_torch.autograd.record import FUNCTION, enter, leave
from tiny_torch.autograd.view import IN_FUNCTION, MULTI_OUTPUT, View
from tiny_torch.autograd.writes import rebase
from tiny_torch.base.devices import array_module
from tiny_torch.base.modes import NO_GRAD, OFF, RECORDED, modes
from tiny_torch.tensor import Tensor, wrap


class FunctionCtx:
    """What forward tells backward. https://pytorch.org/docs/stable/autograd.html#context-method-mixins"""

    needs_input_grad: tuple[bool, ...] = ()  # per argument of apply

    def __init__(self, needs_input_grad: tuple[bool, ...] = ()):
        self.needs_input_grad = needs_input_grad
        self.to_save: tuple = ()
        self.dirty: tuple = ()
        self.non_differentiable: tuple = ()
        self.materialize_grads = True
        self.node: Any = None  # a weak reference: the node holds the ctx

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps inputs and outputs for backward; other tensors would keep no history.

        TypeError for what is no tensor, once forward has returned and backward will be.
        """
        self.to_save = tensors

    @property
    def saved_tensors(self) -> tuple:
        """What was saved. Raises RuntimeError where it is freed or was written since."""
        node = self.node and self.node()
        return () if node is None else tuple(node.unpack(True))

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Names inputs that forward writes in place, and returns."""
        self.dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Names outputs that have no gradient."""
        self.non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward gets zeros, rather than None, for outputs without a gradient."""
        if not isinstance(value, bool):
            raise TypeError(
                "set_materialize_grads received an invalid combination of arguments - got "
                f"({type(value).__name__}), but expected (bool)"
            )
        self.materialize_grads = value


class Function:
    """Subclass with static ``forward(ctx, *args)`` and ``backward(ctx, *grads)``; call ``apply``.

    With ``setup_context(ctx, inputs, output)`` defined, forward takes no ctx; ``vjp`` is another
    name of backward. There is neither forward mode nor vmap: ``jvp`` and ``vmap`` are not called.
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

    generate_vmap_rule = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all "
            "static, so you should invoke them on the class itself. Instantiating an autograd "
            "function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            "new-style autograd function with static forward method."
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Computes the outputs, a tensor or a tuple, from ``(ctx, *args)``."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> Any:
        """What forward would do with ctx, apart from it."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """One gradient, or None, per argument of forward from those of its outputs."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Forward mode, which nothing here calls."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """The batched function, which nothing here calls."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or "
            "set generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Runs forward and records one node for it."""
        if not modes.bits & RECORDED:
            return cls._apply_recorded(args, kwargs)
        row, result = enter(cls.__name__, FUNCTION, -1, args), None
        try:
            result = cls._apply_recorded(args, kwargs)
            return result
        finally:
            leave(row, result)

    @classmethod
    def _apply_recorded(cls, args: tuple, kwargs: dict) -> Any:
        split = cls.setup_context is not Function.setup_context
        if kwargs:
            bound = inspect.signature(cls.forward).bind(*args if split else (None, *args), **kwargs)
            args = bound.args if split else bound.args[1:]
        edges = tuple([edge_of(a) if isinstance(a, Tensor) else None for a in args])
        needs = tuple([isinstance(a, Tensor) and a.requires_grad for a in args])
        ctx = FunctionCtx(needs)
        with no_grad():
            if split:
                outputs = cls.forward(*args)
                cls.setup_context(ctx, args, outputs)
            else:
                outputs = cls.forward(ctx, *args)
        several = isinstance(outputs, tuple)
        results = list(outputs) if several else [outputs]
        if True in needs and not modes.bits & OFF:
            results = record_call(cls, ctx, args, edges, results)
        return tuple(results) if several else results[0]


def record_call(function, ctx: FunctionCtx, args: tuple, edges: tuple, outputs: list) -> list:
    """The outputs as results of a node; an input that is returned unwritten is aliased."""
    check_marks(ctx, outputs)
    op = UserOp(function, ctx, args, outputs)
    saved = tuple(tensor if tensor is None else tensor.array for tensor in ctx.to_save)
    inputs = tuple(
        [(a.array.shape, a.array.dtype) if isinstance(a, Tensor) else None for a in args]
    )
    node = Node(op, edges, saved, inputs)
    node.hooks = NodeHooks()  # none yet; but the engine calls it with care
    ctx.node = weakref.ref(node)
    if modes.bits:
        note(node)
    results: list = []
    views = []
    for j, output in enumerate(outputs):
        if not isinstance(output, Tensor):
            results.append(output)
        elif any(output is t for t in ctx.dirty):
            record_write(output, node, j, args)
            results.append(output)
        elif any(output is t for t in ctx.non_differentiable) or (
            not output.array.dtype.is_floating_point
        ):
            results.append(output.detach() if any(output is a for a in args) else output)
        else:
            results.append(wrap(output.array, (node, j)))
            if output._view is not None:
                views.append((results[-1], output._view.base))
            elif any(output is a for a in args):
                views.append((results[-1], output))
    kind = MULTI_OUTPUT if sum(is_differentiable(r, node) for r in results) > 1 else IN_FUNCTION
    for result, base in views:
        result._view = View(base, kind, result.array.stamp)
    return results


def check_marks(ctx: FunctionCtx, outputs: list) -> None:
    for tensor in ctx.to_save:
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                "save_for_backward can only save variables, but argument is of type "
                f"{type(tensor).__name__}"
            )
    for i, tensor in enumerate(ctx.dirty):
        if not isinstance(tensor, Tensor):
            raise RuntimeError(
                f"mark_dirty can only accept variables, but argument {i} is of type "
                f"{type(tensor).__name__}"
            )
        if not any(tensor is output for output in outputs):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as "
                "output. The inputs that are modified inplace must all be outputs of the Function."
            )
    for tensor in ctx.non_differentiable:
        if not isinstance(tensor, Tensor):
            raise RuntimeError(
                "mark_non_differentiable only accepts variable arguments, but got "
                f"{type(tensor).__name__}"
            )


def is_differentiable(result: Any, node: Node) -> bool:
    return isinstance(result, Tensor) and result.edge is not None and result.edge[0] is node


def record_write(output: Tensor, node: Node, j: int, args: tuple) -> None:
    """Gives an input that forward has written the history of that write."""
    check_inplace(output, "has been")
    if output._view is not None and (node.op.outputs > 1 or output is not args[0]):
        raise NotImplementedError(
            f"{node.op.__name__}: mark_dirty of a view that is not the first input, or where there "
            "are several outputs"
        )
    rebase(output, node, j)


class UserOp(Op):
    """Calls the user's backward with tensors, whatever the engine works with."""

    takes_tensors = True

    def __init__(self, function, ctx: FunctionCtx, args: tuple, outputs: list):
        self.__name__ = function.__name__
        self.node_name = f"{function.__name__}Backward"
        self.function = function
        self.ctx = ctx
        self.outputs = len(outputs)
        arrays = [y.array if isinstance(y, Tensor) else None for y in outputs]
        self.likes = [None if a is None else (a.shape, a.dtype, a.device) for a in arrays]
        self.shapes = [a.array.shape if isinstance(a, Tensor) else None for a in args]
        self.saves = tuple([self.place(tensor, args, outputs) for tensor in ctx.to_save])

    @staticmethod
    def place(tensor, args: tuple, outputs: list) -> int | None:
        """Which output (~j) or input (i) a saved tensor is."""
        for j, output in enumerate(outputs):
            if tensor is not None and output is tensor:
                return ~j
        for i, argument in enumerate(args):
            if tensor is not None and argument is tensor:
                return i
        return None

    def rule(self) -> Callable:
        """backward, or vjp."""
        function = self.function
        if function.vjp is Function.vjp:
            return function.backward
        if function.backward is not Function.backward:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You "
                "should only implement one of them."
            )
        return function.vjp

    def backward(self, saved, grads, needs):
        grads = grads if isinstance(grads, tuple) else (grads,)
        pairs = zip(grads, self.likes, strict=True)
        tensors = [materialize(g, like, self.ctx) for g, like in pairs]
        results = self.rule()(self.ctx, *tensors)
        results = results if isinstance(results, tuple) else (results,)
        count = len(self.shapes)
        if len(results) > count and all(r is None for r in results[count:]):
            results = results[:count]
        if len(results) != count:
            raise RuntimeError(
                f"function {self.__name__}Backward returned an incorrect number of gradients "
                f"(expected {count}, got {len(results)})"
            )
        for i, (r, shape) in enumerate(zip(results, self.shapes, strict=True)):
            if r is not None and not isinstance(r, Tensor):
                raise RuntimeError(f"expected Variable or None (got {type(r).__name__})")
            if r is not None and needs[i] and not expands(shape, r.array.shape):
                raise RuntimeError(
                    f"Function {self.__name__}Backward returned an invalid gradient at index {i} - "
                    f"got {list(r.shape)} but expected shape compatible with {list(shape)}"
                )
        return results


def expands(shape: tuple, larger: tuple) -> bool:
    """Whether `shape` can be broadcast to `larger`, whose gradient then sums to it."""
    lead = len(larger) - len(shape)
    return lead >= 0 and all(n in (1, m) for n, m in zip(shape, larger[lead:], strict=True))


def materialize(gradient, like, ctx: FunctionCtx):
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
    node_name = "torch::autograd::Error"

    @staticmethod
    def backward(saved, grad, needs):
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )


# What a tensor with gradients was called before tensors had them.


class VariableMeta(type):
    """``isinstance(x, Variable)`` asks for a Tensor."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=VariableMeta):
    """Answers a Tensor on the memory of `data`, without its history; `volatile` is warned of.

    https://pytorch.org/docs/stable/autograd.html#variable-deprecated
    """

    _execution_engine = SimpleNamespace(queue_callback=queue_callback)

    def __new__(cls, data: Any = None, requires_grad: Any = False, volatile: Any = False) -> Any:
        if volatile:
            warnings.warn(
                "volatile was removed and now has no effect. Use `with torch.no_grad():` instead.",
                stacklevel=2,
            )
        if data is None:
            data = wrap(array_module().empty((0,), _core.get_default_dtype()))
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        if not hasattr(requires_grad, "__index__"):
            kind = type(requires_grad).__name__
            raise TypeError(f"'{kind}' object cannot be interpreted as an integer")
        if requires_grad and not data.is_floating_point():
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients"
            )
        return wrap(data.array).requires_grad_(bool(requires_grad))


__all__ = ["Function", "FunctionCtx", "Variable", "VariableMeta", "once_differentiable"]
