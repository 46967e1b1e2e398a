"""Adding to a leaf's ``.grad``, which other backwards may do meanwhile.

Another thread waits: a kernel that adds a large gradient runs without the GIL. A backward of the
same thread does not, or it would wait for ever: a signal's handler, a callback of the collector and
a destructor run between any two calls. So what was read before a call is looked at again after it.
"""

from __future__ import annotations

import os
import threading

from tiny_torch.autograd.graph import InLayout, run
from tiny_torch.autograd.term import NDArray
from tiny_torch.autograd.view import LEAF
from tiny_torch.tensor import wrap

accumulating = threading.RLock()


def renew_lock() -> None:
    """In a forked child: another thread of the parent may have held it."""
    global accumulating
    accumulating = threading.RLock()


os.register_at_fork(after_in_child=renew_lock)


def add_to_grad(leaf, term) -> bool:
    """Adds a part of its gradient to ``leaf.grad``, if that is there and no hook is to see all."""
    if leaf._hooks or leaf._post_hooks or leaf.edge is not LEAF:
        return False
    with accumulating:
        so_far = leaf._grad
        return so_far is not None and term.add_to(so_far.array)


def accumulate(leaf, gradient, sole, create_graph) -> None:
    """Adds to ``leaf.grad``. A first gradient is moved in if nobody else holds it (`sole`)."""
    if leaf.edge is not LEAF:
        if leaf.edge is None:  # it was detached, or told not to require grad, since
            return
        raise RuntimeError("leaf variable has been moved into the graph interior")
    with accumulating:
        add_gradient(leaf, gradient, sole, create_graph)


def add_gradient(leaf, gradient, sole, create_graph) -> None:
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
    total = so_far.array
    if not create_graph and type(gradient) is type(total):
        total.add(gradient, total)
        return
    if not create_graph and type(total) is NDArray:
        gradient.add_to(total)  # a sparse one
        return
    while True:
        total = so_far + gradient if create_graph else wrap(so_far.array + gradient)
        if leaf._grad is so_far:
            leaf._grad = total
            return
        so_far = leaf._grad


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
