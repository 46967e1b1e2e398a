"""Automatic differentiation. https://pytorch.org/docs/stable/autograd.html"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tiny_torch.autograd import functional as functional
from tiny_torch.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
from tiny_torch.autograd.function import Function
from tiny_torch.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)
from tiny_torch.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from tiny_torch.autograd.graph import edge_of
from tiny_torch.tensor import Tensor, wrap

Variable = Tensor


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Adds the gradients of `tensors`, weighted by `grad_tensors`, to ``.grad`` of the leaves.

    Weights have their tensor's shape and may be None for one of a single element. With `inputs`,
    only these tensors get theirs. Raises RuntimeError where nothing requires grad, a shape differs
    or the graph was freed. https://pytorch.org/docs/stable/generated/torch.autograd.backward.html
    """
    if grad_variables is not None:
        raise NotImplementedError("backward(grad_variables=) was renamed to grad_tensors")
    roots = as_tuple(tensors)
    targets: Any = None
    if inputs is not None:
        targets = as_tuple(inputs)
        if not targets:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
        for tensor in targets:
            tensor.retain_grad()  # leaves have theirs anyway
        targets = [required_edge(t) for t in targets]
    run(roots, grad_tensors, retain_graph, create_graph, targets, accumulate=True)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of `outputs`, weighted by `grad_outputs`, with respect to `inputs`.

    Raises RuntimeError where an input was not used, unless `allow_unused` (None in its place) or
    `materialize_grads` (zeros). https://pytorch.org/docs/stable/generated/torch.autograd.grad.html

    >>> import tiny_torch as torch
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> torch.autograd.grad(x**3, x)
    (tensor(12.),)
    """
    if not only_inputs:
        raise NotImplementedError("grad(only_inputs=False)")
    if is_grads_batched:
        raise NotImplementedError("grad(is_grads_batched=True)")
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    targets = as_tuple(inputs)
    if not targets:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    edges = [required_edge(t) for t in targets]
    found = run(
        as_tuple(outputs), grad_outputs, retain_graph, create_graph, edges, accumulate=False
    )
    for i, gradient in enumerate(found):
        if gradient is None and materialize_grads:
            array = targets[i].array.empty_like()
            array.copy_(0)
            found[i] = wrap(array)
        elif gradient is None and not allow_unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {i} appears to not have been used in the "
                "graph. Set allow_unused=True if this is the desired behavior."
            )
    return tuple(found)


def run(roots, weights, retain_graph, create_graph, inputs, accumulate):
    from tiny_torch.autograd.engine import run_backward

    weights = (None,) * len(roots) if weights is None else as_tuple(weights)
    if len(weights) != len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(weights)} gradients")
    edges = []
    gradients = []
    for i, (root, weight) in enumerate(zip(roots, weights, strict=True)):
        edge = edge_of(root)
        if edge is None:
            raise RuntimeError(
                f"element {i} of tensors does not require grad and does not have a grad_fn"
            )
        edges.append(edge)
        gradients.append(root_gradient(i, root, weight))
    return run_backward(
        edges,
        gradients,
        retain_graph=create_graph if retain_graph is None else retain_graph,
        create_graph=create_graph,
        inputs=inputs,
        accumulate=accumulate,
    )


def root_gradient(i: int, root: Tensor, weight: Tensor | None) -> Tensor:
    if weight is None:
        if root.array.size != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        array = root.array.empty_like()
        array.copy_(1)
        return wrap(array)
    if not isinstance(weight, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(weight).__name__}")
    if weight.array.shape != root.array.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {weight.shape} and output[{i}] "
            f"has a shape of {root.shape}."
        )
    if weight.array.dtype is not root.array.dtype:
        return wrap(weight.array.astype(root.array.dtype))
    return weight


def required_edge(tensor: Tensor):
    edge = edge_of(tensor)
    if edge is None:
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return edge


def as_tuple(tensors: Any) -> tuple:
    return tuple(tensors) if isinstance(tensors, Sequence) else (tensors,)


__all__ = [
    "Function",
    "GradcheckError",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "is_grad_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]
