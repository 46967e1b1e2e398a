"""Hooks on gradients: of a leaf, or of an output of a node."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from operator import attrgetter

from tiny_torch.base import hooks, layouts
from tiny_torch.base.dtypes import cpp_name, scalar_type
from tiny_torch.base.hooks import RemovableHandle

# The order in which a node's hooks run: those of its tensors, retain_grad, then its own.
OF_TENSOR, RETAIN, BEFORE, AFTER = range(4)
by_turn = attrgetter("turn")


class Hook:
    """A user's function, told apart from the same function registered twice."""

    __slots__ = ("function",)
    turn = OF_TENSOR

    def __init__(self, function):
        self.function = function

    def __call__(self, gradient):
        return self.function(gradient)


class Retain:
    """retain_grad's hook: puts the gradient in ``.grad`` of a tensor that may be gone by then."""

    __slots__ = ("tensor",)
    turn = RETAIN

    def __init__(self, tensor):
        self.tensor = weakref.ref(tensor)

    def __call__(self, gradient):
        tensor = self.tensor()
        if tensor is not None and gradient is not None:
            so_far = tensor._grad
            if so_far is None:
                tensor._grad = gradient.clone(memory_format=layouts.contiguous_format)
            else:
                tensor._grad = so_far + gradient


class Before(Hook):
    """A node's own: ``function(grad_outputs)``, a tuple; an answer replaces it."""

    __slots__ = ()
    turn = BEFORE


class After(Hook):
    """A node's own: ``function(grad_inputs, grad_outputs)``; an answer replaces the first."""

    __slots__ = ()
    turn = AFTER


def check_assigned(tensor, grad) -> None:
    """Whether it may be the ``.grad`` of a tensor; RuntimeError if not."""
    if grad is tensor:
        raise RuntimeError("can't assign Variable as its own grad")
    if grad.array.dtype is not tensor.array.dtype:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{cpp_name(grad.dtype)}' to a tensor with "
            f"grad_dtype '{scalar_type(tensor.dtype)}'. The gradient must match the tensor's "
            "grad_dtype (defaults to the tensor's dtype)."
        )
    if grad.array.device != tensor.array.device:
        raise RuntimeError(
            f"assigned grad has data located on a different device: {grad.device}, "
            f"expected {tensor.device}"
        )
    if grad.array.shape != tensor.array.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(grad.shape)}' to a tensor of "
            f"size '{list(tensor.shape)}'. Please ensure that the gradient and the tensor "
            "are the same size"
        )


def replaced(hook, grads: tuple, *others: tuple) -> tuple:
    """Gradients after a node's own hook has seen them; an answer replaces them."""
    answer = hook.function(grads, *others)
    if answer is None:
        return grads
    if not isinstance(answer, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(answer).__name__}'")
    if len(answer) != len(grads):
        raise RuntimeError(
            f"hook '{name_of(hook)}' has returned an incorrect number of values (got "
            f"{len(answer)}, but expected {len(grads)})"
        )
    for before, after in zip(grads, answer, strict=True):
        if after is not None:
            check_answer(hook, before, after)
    return answer


def checked(hook, gradient):
    """What a hook answers, which must be None or a tensor like the gradient."""
    answer = hook(gradient)
    if answer is not None:
        check_answer(hook, gradient, answer)
    return answer


def check_answer(hook, before, after) -> None:
    if before is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if not hasattr(after, "array"):
        raise TypeError(f"expected Variable, but hook returned '{type(after).__name__}'")
    if after.array.dtype is not before.array.dtype:
        raise RuntimeError(
            f"hook '{name_of(hook)}' has changed the type of value "
            f"(was {before.type()} got {after.type()})"
        )
    if after.array.shape != before.array.shape:
        raise RuntimeError(f"hook '{name_of(hook)}' has changed the size of value")


def name_of(hook) -> str:
    return getattr(hook.function, "__name__", type(hook.function).__name__)


def add_to(tensor, name: str, hook: Hook) -> RemovableHandle:
    """A hook among a leaf's own."""
    own = getattr(tensor, name, None)
    if own is None:
        own = OrderedDict()
        setattr(tensor, name, own)
    return hooks.add_hook(own, hook)


def add_hook(tensor, edge, function) -> RemovableHandle:
    """A hook on a leaf stands with the leaf, another with the node that made the tensor."""
    target, output = edge
    if target is tensor:
        return add_to(tensor, "_hooks", Hook(function))
    return add_to_node(target, output, Hook(function))


def add_to_node(node, output: int, hook) -> RemovableHandle:
    if node.hooks is None:
        node.hooks = OrderedDict()
    return hooks.add_hook(node.hooks, (output, hook))


class AccumulateGrad:
    """Where the gradient of a leaf ends, as ``next_functions`` show it: a node in name only."""

    next_functions = ()

    def __init__(self, variable):
        self.variable = variable

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    @property
    def metadata(self) -> dict:
        return self.variable.__dict__.setdefault("_accumulate_metadata", {})

    def register_prehook(self, function) -> RemovableHandle:
        """Calls ``function((grad,))`` before it is added to ``.grad``; an answer replaces it."""
        return add_to(self.variable, "_hooks", Before(function))

    def register_hook(self, function) -> RemovableHandle:
        """Calls ``function((), (grad,))`` after it was added to ``.grad``."""
        return add_to(self.variable, "_post_hooks", After(function))

    def __eq__(self, other) -> bool:
        return isinstance(other, AccumulateGrad) and other.variable is self.variable

    def __hash__(self) -> int:
        return id(self.variable)

    def __repr__(self) -> str:
        return f"<AccumulateGrad object at {id(self.variable):#x}>"


def retain(tensor, edge) -> None:
    if not is_retained(tensor, edge):
        node, output = edge
        add_to_node(node, output, Retain(tensor))


def is_retained(tensor, edge) -> bool:
    if edge is None or edge[0] is tensor or edge[0].hooks is None:
        return False
    hooks_of_node = edge[0].hooks.values()
    return any(hook.turn == RETAIN and hook.tensor() is tensor for _, hook in hooks_of_node)
