"""backward and grad as users call them: arguments become edges and gradients for the engine."""

from __future__ import annotations

import warnings
from typing import Any

from tiny_torch.autograd.apply import apply_many
from tiny_torch.autograd.engine import run_backward
from tiny_torch.autograd.graph import GradientEdge, Op, edge_of, source_of
from tiny_torch.base.devices import array_module
from tiny_torch.tensor import Tensor, wrap


class Rows(Op):
    """Tensors of one shape and dtype as the rows of one."""

    node_name = "StackBackward0"

    @staticmethod
    def forward(*rows):
        return array_module(rows[0].device).stack(rows, 0), ()

    @staticmethod
    def backward(saved, grad, needs):
        return tuple([grad.select(0, i) if need else None for i, need in enumerate(needs)])


def stack_gradients(rows: Any) -> Tensor:
    """torch.stack, which stands above autograd, of gradients of one tensor."""
    if not rows:
        raise RuntimeError("stack expects a non-empty TensorList")
    return apply_many(Rows, rows)


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
        warnings.warn(
            "`grad_variables` is deprecated. Use `grad_tensors` instead.",
            FutureWarning,
            stacklevel=2,
        )
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to "
                "`backward()`. Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    if create_graph:
        warnings.warn(
            "Using backward() with create_graph=True will create a reference cycle between the "
            "parameter and its gradient which can cause a memory leak. We recommend using "
            "autograd.grad when creating the graph to avoid this. If you have to use this "
            "function, make sure to reset the .grad fields of your parameters to None after use to "
            "break the cycle and avoid the leak.",
            stacklevel=2,
        )
    roots = as_tuple(tensors)
    targets: Any = None
    if inputs is not None:
        targets = as_tuple(inputs)
        if not targets:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
        for target in targets:
            if isinstance(target, Tensor):
                target.retain_grad()  # leaves have theirs anyway
        targets = [required_edge(t) for t in targets]
    differentiate(roots, grad_tensors, retain_graph, create_graph, targets, accumulate=True)


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
) -> Any:
    """The gradients of `outputs`, weighted by `grad_outputs`, with respect to `inputs`.

    A dict of inputs gives a dict. Raises RuntimeError where an input was not used, unless
    `allow_unused` (None in its place) or `materialize_grads` (zeros). With `is_grads_batched`, the
    first dim of `grad_outputs` counts weightings, and that of the gradients does.
    https://pytorch.org/docs/stable/generated/torch.autograd.grad.html

    >>> import tiny_torch as torch
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> torch.autograd.grad(x**3, x)
    (tensor(12.),)
    """
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To "
            "accumulate gradient for other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    targets = as_tuple(inputs.values() if isinstance(inputs, dict) else inputs)
    roots = as_tuple(outputs)
    if not targets:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    root_edges(roots)  # whose error comes first
    edges = [required_edge(t) for t in targets]
    run_some = run_batched if is_grads_batched else differentiate
    found = run_some(roots, grad_outputs, retain_graph, create_graph, edges, accumulate=False)
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
    return dict(zip(inputs, found, strict=True)) if isinstance(inputs, dict) else tuple(found)


def differentiate(roots, weights, retain_graph, create_graph, inputs, accumulate):
    weights = (None,) * len(roots) if weights is None else as_tuple(weights)
    if len(weights) != len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(weights)} gradients")
    edges = root_edges(roots)
    gradients = [
        root_gradient(i, root, weight)
        for i, (root, weight) in enumerate(zip(roots, weights, strict=True))
    ]
    return run_backward(
        edges,
        gradients,
        retain_graph=create_graph if retain_graph is None else retain_graph,
        create_graph=create_graph,
        inputs=inputs,
        accumulate=accumulate,
    )


def run_batched(roots, weights, retain_graph, create_graph, inputs, accumulate):
    """`run` for each row of the weights, and the results stacked."""
    weights = (None,) * len(roots) if weights is None else as_tuple(weights)
    for root, weight in zip(roots, weights, strict=False):
        if weight is None:
            raise ValueError("is_grads_batched=True: every output needs a grad_output")
        if weight[0].shape != root.shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output "
                "as the batch dimension. The sizes of the remaining dimensions are expected to "
                f"match the shape of corresponding output, but got {weight.shape} and {root.shape}."
            )
    counts = sorted({len(weight) for weight in weights})
    if len(counts) != 1:
        raise ValueError(
            "Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{counts} for the mapped dimension"
        )
    last = counts[0] - 1
    rows = [
        differentiate(
            roots, [w[i] for w in weights], i < last or retain_graph, create_graph, inputs, False
        )
        for i in range(counts[0])
    ]
    return [
        None if column[0] is None else stack_gradients(column) for column in zip(*rows, strict=True)
    ]


def root_edges(roots: tuple) -> list:
    edges = []
    for i, root in enumerate(roots):
        edge = root.edge if isinstance(root, GradientEdge) else None
        if isinstance(root, Tensor):
            edge = edge_of(root)
        elif edge is None:
            raise AssertionError("Expected output to be a torch.Tensor")
        if edge is None:
            raise RuntimeError(
                f"element {i} of tensors does not require grad and does not have a grad_fn"
            )
        edges.append(edge)
    return edges


def root_gradient(i: int, root: Any, weight: Tensor | None) -> Tensor:
    if weight is None:
        if isinstance(root, GradientEdge) or root.array.size != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        return root.array.new_full(root.array.shape, 1)
    if not isinstance(weight, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(weight).__name__}")
    if isinstance(root, GradientEdge):
        return weight
    if weight.array.shape != root.array.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {weight.shape} and output[{i}] "
            f"has a shape of {root.shape}."
        )
    if weight.array.dtype is not root.array.dtype:
        return wrap(weight.array.astype(root.array.dtype))
    return weight


def required_edge(target: Any):
    if isinstance(target, GradientEdge):
        return target.edge
    if not isinstance(target, Tensor):
        raise RuntimeError(
            f"all inputs have to be Tensors or GradientEdges, but got {type(target).__name__}"
        )
    if not target.requires_grad:
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return source_of(target)


def as_tuple(values: Any) -> tuple:
    return (values,) if isinstance(values, Tensor | GradientEdge) else tuple(values)
