"""Gradients that a user's hook or Function has seen.

They are on their way as the tensors that were seen, so that the next hook finds there what the last
one has set, while formulas go on working with arrays. As in PyTorch, an op that passes its gradient
on, as addition does, passes the tensor on; a sum and a leaf's ``.grad`` are new tensors.
"""

from __future__ import annotations

from tiny_torch import _core
from tiny_torch.tensor import wrap

TensorBase = _core.TensorBase


def as_users_see(gradient):
    """Gradients as a user sees them: each a tensor, or None."""
    if gradient is None or isinstance(gradient, TensorBase):
        return gradient
    return tuple([as_users_see(g) for g in gradient]) if type(gradient) is tuple else wrap(gradient)


def as_formulas_see(gradient):
    """Gradients as formulas take them: each an array, a Term or None; a list becomes a tuple."""
    if isinstance(gradient, TensorBase):
        return gradient.array
    return (
        tuple([as_formulas_see(g) for g in gradient])
        if type(gradient) in (tuple, list)
        else gradient
    )


def passed_on(results, grad, seen):
    """A backward's results, where one is what came in (`grad`) as what was `seen` of that."""
    values, tensors = (grad, seen) if type(grad) is tuple else ((grad,), (seen,))
    for value, tensor in zip(values, tensors, strict=True):
        if results is value:
            return tensor
        if type(results) is tuple and value is not None:
            results = tuple([tensor if r is value else r for r in results])
    return results
