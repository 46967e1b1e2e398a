"""What a view knows of its base, the tensor that it shows, and which writes through it are refused.

They share memory and version; what a write does to the base's graph: writes.py. Note [Views and
writes], src/README.md.
"""

from __future__ import annotations

from typing import Any

from tiny_torch import _core

# The edge of a leaf that requires grad: a reference to itself would keep it alive.
LEAF: Any = ("leaf", 0)

# How a view was made: by an ordinary op, as one of several results, under no_grad, in inference
# mode, in a user's Function. Only a PLAIN view may be written in place where that is recorded. A
# PLAIN view of another view has the kind of that one.
PLAIN, MULTI_OUTPUT, MADE_WITHOUT_GRAD, MADE_IN_INFERENCE, IN_FUNCTION = range(5)


# View(base, kind, stamp): what a view tensor knows of its origin. The base is never a view itself;
# `kind` is one of the above; `stamp` is that of the memory when the view's edge was last right.
# C++ makes it with the tensor (`view_of` in autograd/tensor.cpp: a view of a view takes its base).
View: Any = _core.View


def refusal(tensor, modified: str) -> RuntimeError:
    """PyTorch's error for a write that would leave a view without a gradient that can be found."""
    kind, edge = tensor._view.kind, tensor.edge
    mode, now, block = "no_grad", "with grad mode enabled", "no_grad"
    if kind == MADE_IN_INFERENCE:
        mode, now, block = "inference", "in normal mode", "inference_mode"
    made = f"A view was created in {mode} mode"
    if edge is not None and edge is not LEAF:
        made = f"Output {edge[1]} of {edge[0].op.__name__} is a view"
        if kind in (MULTI_OUTPUT, IN_FUNCTION):
            now = ""
        else:
            made += f" of a view which was created in {mode} mode"
    text = f"{made} and {modified} modified inplace{now and ' ' + now}. "
    if kind == MULTI_OUTPUT:
        return RuntimeError(
            text + "This view is the output of a function that returns multiple views. Such "
            "functions do not allow the output views to be modified inplace. You should replace "
            "the inplace operation by an out-of-place one."
        )
    if kind == IN_FUNCTION:
        return RuntimeError(
            text + "This view was created inside a custom Function (or because an input was "
            "returned as-is) and the autograd logic to handle view+inplace would override the "
            "custom backward associated with the custom Function, leading to incorrect gradients. "
            "This behavior is forbidden. You can fix this by cloning the output of the custom "
            "Function."
        )
    return RuntimeError(
        text + "Given that this use case is ambiguous and error-prone, it is forbidden. You can "
        f"clarify your code by moving both the view and the inplace either both inside the {block} "
        "block (if you don't want the inplace to be tracked) or both outside (if you want the "
        "inplace to be tracked)."
    )
