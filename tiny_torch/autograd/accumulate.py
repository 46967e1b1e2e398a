"""Adding to a leaf's ``.grad``, which other backwards may do meanwhile.

A backward may be interrupted by another, of a signal's handler or of another thread: between any
two calls, but not within one of C++, nor between a look at ``_grad`` and the assignment that
follows it. So there is no lock, on which a handler would wait for ever.
"""

from __future__ import annotations

from tiny_torch.autograd.graph import InLayout, run
from tiny_torch.autograd.view import LEAF
from tiny_torch.tensor import wrap


def add_to_grad(leaf, term) -> bool:
    """Adds a part of its gradient to ``leaf.grad``, if that is there and no hook is to see all."""
    hooks = getattr(leaf, "_hooks", None) or getattr(leaf, "_post_hooks", None)
    if hooks or leaf.edge is not LEAF:
        return False
    so_far = leaf._grad
    return so_far is not None and term.add_to(so_far.array)


def accumulate(leaf, gradient, sole, create_graph) -> None:
    """Adds to ``leaf.grad``. A first gradient is moved in if nobody else holds it (`sole`)."""
    if leaf.edge is not LEAF:
        if leaf.edge is None:  # it was detached, or told not to require grad, since
            return
        raise RuntimeError("leaf variable has been moved into the graph interior")
    so_far = leaf._grad
    if so_far is None:
        if create_graph:
            first = run(InLayout, gradient, leaf.array)
        elif sole and has_layout_of(gradient, leaf.array):
            first = wrap(gradient)
        else:
            first = wrap(run(InLayout, gradient, leaf.array))
        if leaf._grad is None:
            leaf._grad = first
            return
        so_far = leaf._grad
    if not create_graph:
        so_far.array.add(gradient, so_far.array)
        return
    while True:
        total = so_far + gradient
        if leaf._grad is so_far:
            leaf._grad = total
            return
        so_far = leaf._grad


def call_post_hooks(leaf) -> None:
    for hook in list(leaf._post_hooks.values()):
        answer = hook(leaf)
        if answer is not None and not hasattr(answer, "array"):
            raise TypeError(f"expected Variable, but hook returned '{type(answer).__name__}'")


def has_layout_of(gradient, array) -> bool:
    """Whether a gradient has the strides that ``.grad`` of a leaf should have."""
    if gradient.dtype is not array.dtype:
        return False
    if not array.is_dense():
        return gradient.is_contiguous()
    return gradient.strides == array.strides or all(
        n == 1 or a == b
        for n, a, b in zip(array.shape, gradient.strides, array.strides, strict=True)
    )
