"""Hooks on gradients: of a leaf, or of an output of a node."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable
from math import prod
from operator import attrgetter
from typing import Any

from tiny_torch.autograd.engine import Run, sum_to
from tiny_torch.autograd.graph import edge_of, source_of
from tiny_torch.autograd.seen import as_users_see
from tiny_torch.base import hooks, layouts
from tiny_torch.base.hooks import RemovableHandle
from tiny_torch.base.modes import thread
from tiny_torch.tensor import Tensor

# The order in which a node's hooks run: those of its tensors, retain_grad, its own before its op's
# backward and after it, and those of `utils.viz`, which see the gradients of inputs.
OF_TENSOR, RETAIN, BEFORE, AFTER, OF_INPUTS = range(5)
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
                is_sparse = gradient.array.strides is None
                form = layouts.preserve_format if is_sparse else layouts.contiguous_format
                tensor._grad = gradient.clone(memory_format=form)
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


class OfInputs(Hook):
    """Ours: ``function(gradients, grad_outputs)`` sees one gradient per input of our op."""

    __slots__ = ()
    turn = OF_INPUTS


def replace_gradients(hook, grads: tuple, *others: tuple) -> tuple:
    """Gradients after a node's own hook has seen them; an answer replaces them."""
    answer = hook.function(grads, *others)
    if answer is None:
        return grads
    if not isinstance(answer, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(answer).__name__}'")
    if len(answer) != len(grads):
        raise RuntimeError(
            f"hook '{hook_name(hook)}' has returned an incorrect number of values (got "
            f"{len(answer)}, but expected {len(grads)})"
        )
    for before, after in zip(grads, answer, strict=True):
        if after is not None:
            check_answer(hook, before, after)
    return answer


def hook_answer(hook, gradient):
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
            f"hook '{hook_name(hook)}' has changed the type of value "
            f"(was {before.type()} got {after.type()})"
        )
    if after.array.shape != before.array.shape:
        raise RuntimeError(f"hook '{hook_name(hook)}' has changed the size of value")


def hook_name(hook) -> str:
    return getattr(hook.function, "__name__", type(hook.function).__name__)


class NodeHooks(OrderedDict):
    """{id: (output number, hook)}: a node's, which the engine calls around its backward."""

    def of_turn(self, turn: int) -> list:
        return [hook for _, hook in list(self.values()) if hook.turn == turn]

    def see(self, run: Run, grad: Any) -> Any:
        """The node's gradient, a list if it has several outputs, after its tensors' hooks."""
        several = type(grad) is list
        for output, hook in sorted(self.values(), key=lambda entry: entry[1].turn):
            if hook.turn >= BEFORE:
                break
            tensor = as_users_see(grad[output] if several else grad)
            thread.enter_backward(run)
            answer = hook_answer(hook, tensor)
            tensor = tensor if answer is None else answer
            if several:
                grad[output] = tensor
            else:
                grad = tensor
        return grad

    def call_between(self, call: Callable, node: Any, grad: Any, needs: Any) -> Any:
        """``call(node, grad, needs)``, its backward, between its own hooks, which see tuples."""
        several = type(grad) is list
        if all(hook.turn < BEFORE for _, hook in self.values()):
            return call(node, tuple(grad) if several else grad, needs)
        grads = as_users_see(tuple(grad) if several else (grad,))
        for hook in self.of_turn(BEFORE):
            grads = replace_gradients(hook, grads)
        results = self.call_before_its_own(call, node, grads, needs)
        for hook in self.of_turn(OF_INPUTS):
            hook.function(as_users_see(results), grads)
        return results

    def call_before_its_own(self, call: Callable, node: Any, grads: tuple, needs: Any) -> tuple:
        """The gradients of the inputs, after hooks of the node have seen them."""
        after = self.of_turn(AFTER)
        parts = node.op.parts(node) if node.op.parts is not None and after else None
        if parts is not None and len(parts) == 1:
            (grad,) = see_of_view(after, grads)
            return call(node, grad, needs) if grad is not None else (None,) * len(needs)
        results: Any = (None,) * len(needs)
        if any(grad is not None for grad in grads):
            results = call(node, grads if node.op.outputs > 1 else grads[0], needs)
            results = results if type(results) is tuple else (results,)
        shapes = node.inputs or (None,) * len(needs)
        whole = node.op.takes_tensors  # of a user's Function, hooks see what no input wants, too
        results = [
            sum_to(r, *like) if r is not None and need and like else r if need or whole else None
            for r, need, like in zip(results, needs, shapes, strict=False)
        ]
        results = as_users_see(tuple(results))
        if parts is not None:
            return see_of_parts(after, parts, results, grads)
        for hook in after:
            results = replace_gradients(hook, results, grads)
        return results

    def call_without_gradient(self, run: Run, node: Any) -> None:
        """Those of a node that got no gradient."""
        grads = (None,) * node.op.outputs
        self.see(run, list(grads))
        for hook in self.of_turn(BEFORE):
            replace_gradients(hook, grads)
        parts = node.edges if node.op.parts is None else node.op.parts(node)
        results = (None,) * len(parts)
        for hook in self.of_turn(AFTER):
            replace_gradients(hook, results, grads)
        for hook in self.of_turn(OF_INPUTS):
            hook.function((None,) * len(node.edges), grads)

    def retains(self, tensor: Any) -> bool:
        """Whether the gradient that comes in is put in the tensor's ``.grad``."""
        return any(hook.tensor() is tensor for hook in self.of_turn(RETAIN))

    def move_retained(self, output: int, edge: tuple) -> None:
        """retain_grad of an output follows its tensor to another edge; other hooks stay."""
        node, place = edge
        for key, (number, hook) in list(self.items()):
            if number == output and hook.turn == RETAIN:
                node.hooks = NodeHooks() if node.hooks is None else node.hooks
                node.hooks[key] = place, self.pop(key)[1]


# ---- what a node's own hooks see where PyTorch has several nodes: Op.parts -----------------------
def see_of_view(hooks: list, grads: tuple) -> tuple:
    """(gradient,) after hooks of a view of a matrix, which see it in that matrix's shape."""
    if grads[0] is None:
        return grads
    *lead, columns = shape = grads[0].shape
    seen: tuple = (grads[0].reshape(prod(lead), columns),)
    for hook in hooks:
        seen = replace_gradients(hook, seen, grads)
    return (None if seen[0] is None else seen[0].reshape(shape),)


def see_of_parts(hooks: list, parts: tuple, results: tuple, grads: tuple) -> tuple:
    """The gradients of inputs after hooks, which see one per part; of (name, (i,)) a transpose."""

    def transpose(gradient: Any) -> Any:
        return None if gradient is None else gradient.t()

    seen = tuple(
        [results[part] if type(part) is int else transpose(results[part[1][0]]) for part in parts]
    )
    for hook in hooks:
        seen = replace_gradients(hook, seen, grads)
    found = list(results)
    for part, gradient in zip(parts, seen, strict=True):
        if type(part) is int:
            found[part] = gradient
        else:
            found[part[1][0]] = transpose(gradient)
    return tuple(found)


class LeafHooks(OrderedDict):
    """{id: hook}: a leaf's."""

    def see(self, run: Run, leaf: Any) -> None:
        """Those called before its gradient is added to ``.grad``."""
        for hook in sorted(self.values(), key=by_turn):
            gradient = run.leaf_grads.get(leaf)
            if gradient is not None:
                gradient = run.leaf_grads[leaf] = as_users_see(gradient)
            thread.enter_backward(run)
            if hook.turn == OF_TENSOR:
                answer = hook_answer(hook, gradient)
                run.leaf_grads[leaf] = gradient if answer is None else answer
            elif run.accumulate:
                (run.leaf_grads[leaf],) = replace_gradients(hook, (gradient,))

    def want_gradient(self) -> bool:
        """Whether one sees, afterwards, what was added."""
        return any(hook.turn == AFTER for hook in self.values())

    def call_after(self, leaf: Any, gradient: Any) -> None:
        """Those of the leaf, which see ``.grad``, then of its node, which see what was added."""
        for hook in sorted(self.values(), key=by_turn):
            if hook.turn == AFTER:
                replace_gradients(hook, (), (gradient,))
            elif (answer := hook(leaf)) is not None and not hasattr(answer, "array"):
                raise TypeError(f"expected Variable, but hook returned '{type(answer).__name__}'")


def add_to(leaf, name: str, hook: Hook) -> RemovableHandle:
    """A hook among a leaf's own."""
    own = getattr(leaf, name)
    if own is None:
        own = LeafHooks()
        setattr(leaf, name, own)
    return hooks.add_hook(own, hook)


def add_to_node(node, output: int, hook) -> RemovableHandle:
    if node.hooks is None:
        node.hooks = NodeHooks()
    return hooks.add_hook(node.hooks, (output, hook))


def innermost_backward() -> Any:
    """The Run in this thread that has called users' code last, of those that go on, or None."""
    running = (run() for run in reversed(thread.backwards))
    return next((run for run in running if run is not None), None)


def queue_callback(function: Callable[[], None]) -> None:
    """Calls a function at the end of the backward that calls the hook that calls this.

    RuntimeError outside of a hook.
    """
    run = innermost_backward()
    if run is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    run.callbacks = (*run.callbacks, function)


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


# ---- methods of Tensor --------------------------------------------------------------------------
def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> Any:
    """Calls ``hook(grad)`` when this tensor's gradient is known; an answer replaces it."""
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    target, output = source_of(self)
    if target is self:
        return add_to(self, "_hooks", Hook(hook))
    return add_to_node(target, output, Hook(hook))


def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> Any:
    """Calls ``hook(tensor)`` after ``.grad`` of this leaf was added to."""
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if not self.is_leaf:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    return add_to(self, "_post_hooks", Hook(hook))


def retain_grad(self: Tensor) -> None:
    """Keeps the gradient of a tensor that is not a leaf in ``.grad``, too."""
    if not self.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if not self.is_leaf and not retains_grad(self):
        node, output = edge_of(self)
        add_to_node(node, output, Retain(self))


def retains_grad(self: Tensor) -> bool:
    edge = edge_of(self)
    hooks = None if edge is None or edge[0] is self else edge[0].hooks
    return hooks is not None and hooks.retains(self)


FUNCTIONS: dict[str, Any] = {}
METHODS: dict[str, Any] = {
    **{f.__name__: f for f in (register_hook, register_post_accumulate_grad_hook, retain_grad)},
    "retains_grad": property(retains_grad),
}
