"""torch.autograd.functional: Jacobians, Hessians, and their products with vectors, at a point.

Inputs and outputs are a tensor or a tuple of tensors, and results have the same form. Without
`create_graph` they have no history. With `strict`, RuntimeError where a derivative is zero because
nothing connects the two. There is no forward mode: where PyTorch would use it, the same numbers are
computed by backward. https://pytorch.org/docs/stable/autograd.html#functional-higher-level-api
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tiny_torch.autograd.grad_mode import enable_grad, is_grad_enabled, recording
from tiny_torch.autograd.gradients import grad, stack_gradients
from tiny_torch.tensor import Tensor

UNLESS = "This is not allowed in strict mode."
USER = "The output of the user-provided function"


def vjp(
    func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple:
    """(outputs, v @ Jacobian): v is shaped as the outputs; None is 1 where they have one element.

    https://pytorch.org/docs/stable/generated/torch.autograd.functional.vjp.html

    >>> import tiny_torch as torch
    >>> torch.autograd.functional.vjp(torch.square, torch.tensor([3.0]))
    (tensor([9.]), tensor([6.]))
    """
    with enable_grad():
        point = Point("vjp", func, inputs, create_graph)
        point.run(strict)
        vectors = point.vectors(v, point.outputs, point.tuple_out, "returns a single Tensor")
    with recording(create_graph or is_grad_enabled()):
        found = gradients(point.outputs, point.inputs, vectors, create_graph)
        text = f"{USER} is independent of input {{}}. {UNLESS}"
        products = point.fill_missing(found, point.inputs, strict, text, "jacobian")
    return point.form(point.outputs, point.tuple_out), point.form(products, point.tuple_in)


def jvp(
    func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple:
    """(outputs, Jacobian @ v): v is shaped as the inputs; None is 1 where they have one element.

    The vector-Jacobian product is linear in its vector: this is its derivative by that vector.
    https://pytorch.org/docs/stable/generated/torch.autograd.functional.jvp.html
    """
    with enable_grad():
        point = Point("jvp", func, inputs, create_graph)
        vectors = point.input_vectors(v)
        point.run(strict)
        dual = tuple(detached_zeros(y).requires_grad_() for y in point.outputs)
        pulled = gradients(point.outputs, point.inputs, dual, True)
        if strict:
            text = "The gradient with respect to input {} is independent of the inputs of the "
            require_graph(pulled, f"{text}user-provided function. {UNLESS}")
    with recording(create_graph or is_grad_enabled()):
        found = gradients(pulled, dual, vectors, create_graph)
        text = (
            "The gradient with respect to the input is independent of entry {} in the grad_outputs "
            f"when using the double backward trick to compute forward mode gradients. {UNLESS}"
        )
        products = point.fill_missing(found, point.outputs, strict, text, "jacobian")
    return point.form(point.outputs, point.tuple_out), point.form(products, point.tuple_out)


def vhp(
    func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple:
    """(output, v @ Hessian) of a function of one element: v is shaped as the inputs.

    https://pytorch.org/docs/stable/generated/torch.autograd.functional.vhp.html
    """
    with enable_grad():
        point = Point("vhp", func, inputs, create_graph)
        vectors = point.input_vectors(v)
        first = point.gradient(strict)
    with recording(create_graph or is_grad_enabled()):
        found = gradients(first, point.inputs, vectors, create_graph)
        text = f"The jacobian of the user-provided function is independent of input {{}}. {UNLESS}"
        products = point.fill_missing(found, point.inputs, strict, text, "hessian")
    return point.form(point.outputs, point.tuple_out), point.form(products, point.tuple_in)


def hvp(
    func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple:
    """(output, Hessian @ v) of a function of one element; `vhp`, the same for most, is cheaper.

    https://pytorch.org/docs/stable/generated/torch.autograd.functional.hvp.html
    """
    with enable_grad():
        point = Point("hvp", func, inputs, create_graph)
        vectors = point.input_vectors(v)
        first = point.gradient(strict)
        dual = tuple(detached_zeros(x).requires_grad_() for x in point.inputs)
        twice = gradients(first, point.inputs, dual, True)
    with recording(create_graph or is_grad_enabled()):
        found = gradients(twice, dual, vectors, create_graph)
        text = (
            "The hessian of the user-provided function is independent of entry {} in the "
            f"grad_jacobian. {UNLESS[:-1]} as it prevents from using the double backward trick to "
            "replace forward mode AD."
        )
        products = point.fill_missing(found, point.inputs, strict, text, "hessian")
    return point.form(point.outputs, point.tuple_out), point.form(products, point.tuple_in)


def jacobian(
    func: Callable,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian at a point: of shape output.shape + input.shape.

    Tuples of outputs give a tuple of what tuples of inputs give a tuple of. `vectorize` and
    `strategy` change nothing but what they are refused with, as in PyTorch.
    https://pytorch.org/docs/stable/generated/torch.autograd.functional.jacobian.html

    >>> import tiny_torch as torch
    >>> torch.autograd.functional.jacobian(torch.square, torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    check_strategy(strategy, create_graph, strict)
    with enable_grad():
        point = Point("jacobian", func, inputs, create_graph)
        if strategy == "forward-mode" and not vectorize:
            raise NotImplementedError(
                "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only "
                "implemented for `vectorize=True`."
            )
        point.run(strict)
        if vectorize and strict:
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not "
                "supported together. Please either set `strict=False` or `vectorize=False`."
            )
        rows = tuple(point.jacobian_of(i, y, strict) for i, y in enumerate(point.outputs))
    return point.nest(rows, point.tuple_out, point.tuple_in)


def hessian(
    func: Callable,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The second derivatives of a function of one element: of shape input.shape + input.shape.

    A tuple of inputs gives a tuple of tuples.
    https://pytorch.org/docs/stable/generated/torch.autograd.functional.hessian.html

    >>> import tiny_torch as torch
    >>> torch.autograd.functional.hessian(lambda x: (x**3).sum(), torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    several, inputs = tensors_of(inputs, "inputs", "hessian")

    def first(*x: Tensor) -> tuple:
        def scalar(*x: Tensor) -> Tensor:
            output = func(*x)
            outputs = tensors_of(output, "outputs of the user-provided function", "hessian")[1]
            check_outputs(outputs, strict)
            check_single(output, outputs, "hessian")
            return output.squeeze()

        found = jacobian(scalar, x, create_graph=True)
        if strict:
            check_jacobian(found)
        return found

    rows = jacobian(first, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return rows if several else rows[0][0]


class Point:
    """A function's inputs, which end its gradients, and its outputs there."""

    def __init__(self, name: str, func: Callable, inputs: Any, create_graph: bool):
        self.name = name
        self.func = func
        self.create_graph = create_graph
        self.tuple_in, inputs = tensors_of(inputs, "inputs", name)
        self.inputs = tuple(self.mark(x, True) for x in inputs)
        self.outputs: tuple = ()
        self.tuple_out = False

    def mark(self, x: Tensor, needed: bool) -> Tensor:
        if self.create_graph and x.requires_grad:
            return x.view_as(x)
        return x.detach().requires_grad_(needed)

    def run(self, strict: bool) -> None:
        what = "outputs of the user-provided function"
        self.tuple_out, self.outputs = tensors_of(self.func(*self.inputs), what, self.name)
        check_outputs(self.outputs, strict)

    def gradient(self, strict: bool) -> tuple:
        """The first derivative, recorded, of a function of one element."""
        self.run(strict)
        single = self.outputs if self.tuple_out else self.outputs[0]
        check_single(single, self.outputs, self.name)
        found = gradients(self.outputs, self.inputs, None, True)
        if strict:
            check_jacobian(found)
        return found

    def input_vectors(self, v: Any) -> Any:
        return self.vectors(v, self.inputs, self.tuple_in, "is a single Tensor")

    def vectors(self, v: Any, like: tuple, several: bool, single: str) -> Any:
        """v as a tuple, checked against what it multiplies."""
        if v is None:
            if len(like) == 1 and like[0].numel() == 1:
                return None
            if like is self.inputs:
                single = "the input to the user-provided function " + single
            else:
                single = "the user-provided function " + single
            raise RuntimeError(f"The vector v can only be None if {single} with a single element.")
        v = tensors_of(v, "v", self.name)[1]
        v = tuple(self.mark(x, False) for x in v)
        if len(v) != len(like):
            if several:
                raise RuntimeError(
                    f"v is a tuple of invalid length: should be {len(like)} but got {len(v)}."
                )
            raise RuntimeError("The given v should contain a single Tensor.")
        for i, (x, y) in enumerate(zip(v, like, strict=True)):
            if x.shape != y.shape:
                raise RuntimeError(
                    f"{f'Entry {i} in ' if several else ''}v has invalid size: should be {y.shape} "
                    f"but got {x.shape}."
                )
        return v

    def fill_missing(self, found: tuple, like: tuple, strict: bool, text: str, what: str) -> tuple:
        """Zeros in place of None; where `strict`, an error instead."""
        for i, x in enumerate(found if strict else ()):
            if x is None:
                raise RuntimeError(text.format(i))
            if self.create_graph and not x.requires_grad:
                raise RuntimeError(
                    f"The {what} of the user-provided function is independent of input {i}. This "
                    "is not allowed in strict mode when create_graph=True."
                )
        return tuple(
            detached_zeros(y) if x is None else x for x, y in zip(found, like, strict=True)
        )

    def jacobian_of(self, i: int, output: Tensor, strict: bool) -> tuple:
        """The derivatives of every element of one output by each input."""
        flat = output.reshape(-1)
        rows: list[list] = [[] for _ in self.inputs]
        for j in range(output.numel()):
            found = gradients((flat[j],), self.inputs, None, self.create_graph, True)
            for k, gradient in enumerate(found):
                if strict and gradient is None:
                    raise RuntimeError(
                        f"Output {i} of the user-provided function is independent of input {k}. "
                        + UNLESS
                    )
                if strict and self.create_graph and not gradient.requires_grad:
                    raise RuntimeError(
                        "The jacobian of the user-provided function is independent of input "
                        f"{i}. This is not allowed in strict mode when create_graph=True."
                    )
                rows[k].append(detached_zeros(self.inputs[k]) if gradient is None else gradient)
        return tuple(
            stack_gradients(row).view(output.shape + x.shape)
            for row, x in zip(rows, self.inputs, strict=True)
        )

    def form(self, results: tuple, several: bool) -> Any:
        if not self.create_graph:
            results = tuple(x.detach() for x in results)
        return results if several else results[0]

    def nest(self, rows: tuple, outer: bool, inner: bool) -> Any:
        results = tuple(self.form(row, inner) for row in rows)
        return results if outer else results[0]


def tensors_of(value: Any, what: str, name: str) -> tuple[bool, tuple[Tensor, ...]]:
    """(whether it is a tuple, a tuple); TypeError for anything but tensors."""
    several = isinstance(value, tuple)
    values = value if several else (value,)
    for i, x in enumerate(values):
        if not isinstance(x, Tensor):
            place = f"value at index {i}" if several else f"given {what}"
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the "
                f"{place} has type {type(x)}."
            )
    return several, values


def gradients(
    outputs: tuple, inputs: tuple, weights: Any, create_graph: bool, retain: bool | None = None
) -> tuple:
    """autograd.grad of the outputs that require grad; None for an input that is not reached."""
    weights = (None,) * len(outputs) if weights is None else weights
    pairs = [
        (y, w) for y, w in zip(outputs, weights, strict=True) if y is not None and y.requires_grad
    ]
    if not pairs:
        return (None,) * len(inputs)
    return grad(
        [y for y, _ in pairs],
        inputs,
        [w for _, w in pairs],
        retain_graph=retain,
        create_graph=create_graph,
        allow_unused=True,
    )


def detached_zeros(like: Tensor) -> Tensor:
    return like.detach().new_zeros(like.shape)


def require_graph(tensors: tuple, text: str) -> None:
    """Where nothing may be None or constant."""
    for i, x in enumerate(tensors):
        if x is None:
            raise RuntimeError(f"{USER} is independent of input {i}. {UNLESS}")
        if not x.requires_grad:
            raise RuntimeError(text.format(i))


def check_outputs(outputs: tuple, strict: bool) -> None:
    for i, y in enumerate(outputs if strict else ()):
        if not y.requires_grad:
            raise RuntimeError(
                f"Output {i} of the user-provided function does not require gradients. The outputs "
                "must be computed in a differentiable manner from the input when running in strict "
                "mode."
            )


def check_jacobian(found: tuple) -> None:
    require_graph(
        found,
        "While computing the hessian, found that the jacobian of the user-provided function with "
        "respect to input {} is independent of the input. This is not allowed in strict mode. You "
        "should ensure that your function is twice differentiable and that the jacobian depends on "
        "the inputs (this would be violated by a linear function for example).",
    )


def check_single(output: Any, outputs: tuple, name: str) -> None:
    if not isinstance(output, Tensor):
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {name} should contain a single element"
        )


def check_strategy(strategy: str, create_graph: bool, strict: bool) -> None:
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your '
            'function has more outputs than inputs, "forward-mode" tends to be more performant. '
            'Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "reverse-mode":
        return
    refused = 'and `strategy="forward-mode"` are not supported together (yet). Please either set'
    if create_graph:
        raise NotImplementedError(
            f"torch.autograd.functional.jacobian: `create_graph=True` {refused} "
            '`create_graph=False` or `strategy="reverse-mode"`.'
        )
    if strict:
        raise RuntimeError(
            f"torch.autograd.functional.jacobian: `strict=True` {refused} `strict=False` or "
            '`strategy="reverse-mode"`.'
        )


__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
