"""A tensor's gradient and history. `backward()` begins here; `Run` in engine.py walks the graph."""

from __future__ import annotations

import warnings
from typing import Any, NoReturn

from tiny_torch import _core
from tiny_torch.autograd import gradients
from tiny_torch.autograd.graph import edge_of, name_of_edge
from tiny_torch.autograd.view import LEAF
from tiny_torch.base.arguments import check_bool
from tiny_torch.base.modes import INFERENCE, modes
from tiny_torch.tensor import Tensor, wrap

# Whether ops on it are recorded. A view does so once its base does; of one from before that, a
# leaf, no gradient arrives anywhere, as in PyTorch.
requires_grad = _core.requires_grad


def set_requires_grad(self: Tensor, value: bool) -> None:
    if not isinstance(value, bool):
        raise RuntimeError("requires_grad must be a bool")
    if value and self.edge is None:
        if self.is_inference() and not modes.bits & INFERENCE:
            raise RuntimeError(
                "Setting requires_grad=True on inference tensor outside InferenceMode is not "
                "allowed."
            )
        if not self.array.dtype.is_floating_point:
            raise RuntimeError(
                "only Tensors of floating point and complex dtype can require gradients"
            )
        self.edge = LEAF
    elif not value and self.edge is not None:
        if self.edge is not LEAF:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use "
                "a computed variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach()."
            )
        self.edge = None


def delete_requires_grad(self: Tensor) -> NoReturn:
    raise RuntimeError("requires_grad must be a bool")


def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    check_bool("requires_grad_", "requires_grad", 1, requires_grad)
    self.requires_grad = requires_grad
    return self


def output_nr(self: Tensor) -> int:
    edge = edge_of(self)
    return 0 if edge is None else edge[1]


def is_leaf(self: Tensor) -> bool:
    edge = edge_of(self)
    return edge is None or edge[0] is self


def grad(self: Tensor) -> Tensor | None:
    """The gradient, once backward has computed it; of a leaf, or after retain_grad."""
    grad = self._grad
    edge = self.edge
    if grad is not None or edge is None or edge is LEAF:
        return grad
    hooks = edge[0].hooks
    if hooks is None or not hooks.retains(self):
        warnings.warn(
            "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its "
            ".grad attribute won't be populated during autograd.backward(). If you indeed want "
            "the .grad field to be populated for a non-leaf Tensor, use .retain_grad() on the "
            "non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you "
            "access the leaf Tensor instead.",
            stacklevel=2,
        )
    return grad


def check_assigned(tensor, grad) -> None:
    """Whether it may be the ``.grad`` of a tensor; RuntimeError if not."""
    if grad is tensor:
        raise RuntimeError("can't assign Variable as its own grad")
    if grad.array.dtype is not tensor.array.dtype:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{grad.array.dtype.cpp_name}' to a tensor "
            f"with grad_dtype '{tensor.array.dtype.scalar_type}'. The gradient must match the "
            "tensor's grad_dtype (defaults to the tensor's dtype)."
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


def set_grad(self: Tensor, value: Tensor | None) -> None:
    if value is not None:
        if not isinstance(value, Tensor):
            raise TypeError(
                "assigned grad expected to be a Tensor or None but got grad of type "
                f"{type(value).__name__}"
            )
        check_assigned(self, value)
    self._grad = value


def delete_grad(self: Tensor) -> None:
    self._grad = None


def backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Adds the gradient of this tensor to ``.grad`` of the leaves it was computed from.

    ``gradient`` has this tensor's shape; it may be left out if that has one element. Raises
    RuntimeError if nothing requires grad, or the graph was freed.
    https://pytorch.org/docs/stable/generated/torch.Tensor.backward.html

    >>> import tiny_torch as torch
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> (x * x).backward()
    >>> x.grad
    tensor(6.)
    """
    gradients.backward(self, gradient, retain_graph, create_graph, inputs=inputs)


def detach(self: Tensor) -> Tensor:
    """The same memory without history; writes to either are noticed by both."""
    return wrap(self.array)


def detach_(self: Tensor) -> Tensor:
    """Forgets its history; RuntimeError for a view, but of integers, which have none.

    In inference mode it does nothing, as PyTorch's.
    """
    if modes.bits & INFERENCE:
        return self
    if self._view is not None and not self.is_inference():
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead. If you are using "
            "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as "
            "True, gradients are views of DDP buckets, and hence detach_() cannot be called "
            "on these gradients. To fix this error, please refer to the Optimizer.zero_grad() "
            "function in torch/optim/optimizer.py as the solution."
        )
    self.edge = None
    return self


def zero_without_history(grad: Tensor) -> None:
    """Fills a gradient with 0 in place; it may be a view of a bucket, which has no history."""
    grad.requires_grad_(False) if grad.grad_fn is None else grad.detach_()
    grad.zero_()


def data(self: Tensor) -> Tensor:
    """The same memory, without history and with a version of its own."""
    return wrap(self.array.alias())


def set_data(self: Tensor, value: Tensor) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
    if self.edge is not None and not value.array.dtype.is_floating_point:
        raise RuntimeError(
            "data set to a tensor that requires gradients must be floating point or complex dtype"
        )
    edge = edge_of(self)  # which renews a view's
    before, self.array = self.array, value.array.alias()
    if type(before) is _core.NDArray:  # nodes that saved it read the new data: Node.with_new_data
        latest = self._latest
        if latest is None:
            latest = self._latest = [None, None]
        latest[:] = self.array, name_of_edge(edge)
        before.replace_by(latest)
    if self._view is not None:
        self._view.stamp = self.array.stamp


METHODS: dict[str, Any] = {
    **{f.__name__: f for f in (backward, detach, detach_, requires_grad_)},
    **{f.__name__: property(f) for f in (is_leaf, output_nr)},
    "data": property(data, set_data),
    "grad": property(grad, set_grad, delete_grad),
    "requires_grad": property(requires_grad, set_requires_grad, delete_requires_grad),
}  # fmt: skip
FUNCTIONS: dict[str, Any] = {}
