"""Matrix products, and the linear layer made of them."""

from __future__ import annotations

from typing import Any

from tiny_torch.autograd.apply import apply2, applyn
from tiny_torch.autograd.engine import sum_to
from tiny_torch.autograd.graph import Op, run
from tiny_torch.ops.public import check_tensor, into
from tiny_torch.tensor import Tensor


def transposed(x):
    return x.transpose(-1, -2)


class Matmul(Op):
    """x @ y, leading dims broadcast; a 1-d operand is a row on the left, a column on the right."""

    arity = 2
    saves = (0, 1)
    used_by = ((1,), (0,))

    @staticmethod
    def forward(x, y):
        return x.matmul(y), (x, y, x.shape, y.shape)

    @staticmethod
    def backward(saved, grad, needs):
        x, y, x_shape, y_shape = saved
        x_ndim, y_ndim = len(x_shape), len(y_shape)
        if x_ndim == 1 and y_ndim == 1:
            return (
                grad * y if needs[0] else None,
                grad * x if needs[1] else None,
            )
        rows = grad.unsqueeze(-2) if x_ndim == 1 else grad
        rows = rows.unsqueeze(-1) if y_ndim == 1 else rows  # (..., m, n)
        to_x = to_y = None
        if needs[0]:
            right = y.unsqueeze(-1) if y_ndim == 1 else y
            to_x = run(Matmul, rows, transposed(right))
            to_x = reduced(to_x, (1, *x_shape) if x_ndim == 1 else x_shape)
            to_x = to_x.reshape(x_shape)
        if needs[1]:
            left = x.unsqueeze(-2) if x_ndim == 1 else x
            to_y = run(Matmul, transposed(left), rows)
            to_y = reduced(to_y, (*y_shape, 1) if y_ndim == 1 else y_shape)
            to_y = to_y.reshape(y_shape)
        return to_x, to_y


def reduced(grad, shape):
    """Sums over the dims along which an operand was broadcast."""
    return sum_to(grad, shape, grad.dtype) if tuple(grad.shape) != shape else grad


class Linear(Op):
    """x @ weight.T + bias: x (..., in), weight (out, in), bias (out,) or None."""

    arity = 3
    saves = (0, 1)
    used_by = ((1,), (0,))

    @staticmethod
    def forward(x, weight, bias):
        return x.matmul(transposed(weight), bias), (x, weight)

    @staticmethod
    def backward(saved, grad, needs):
        x, weight = saved
        to_x = run(Matmul, grad, weight) if needs[0] else None
        to_weight = to_bias = None
        flat = grad.reshape((-1, grad.shape[-1])) if grad.ndim != 2 else grad  # (rows, out)
        if needs[1]:
            rows = x.reshape((-1, x.shape[-1])) if x.ndim != 2 else x
            to_weight = run(Matmul, transposed(flat), rows)
        if needs[2]:
            to_bias = flat.sum((0,), False)
        return to_x, to_weight, to_bias


def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix product, with NumPy's rules for 1-d operands and stacks of matrices.

    Raises RuntimeError where inner sizes or dtypes differ.
    https://pytorch.org/docs/stable/generated/torch.matmul.html

    >>> import tiny_torch as torch
    >>> torch.ones(2, 3) @ torch.ones(3)
    tensor([3., 3.])
    """
    check_tensor("matmul", "input", 1, input)
    check_tensor("matmul", "other", 2, other)
    return into_same(out, apply2(Matmul, input, other))


def into_same(out: Tensor | None, result: Tensor) -> Tensor:
    if out is not None and out.dtype is not result.dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {result.dtype}, but got {out.dtype}")
    return into(out, result)


def fixed(name: str, left: int, right: int, what: str) -> Any:
    """A product of operands with a fixed number of dims."""

    def function(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
        check_tensor(name, "input", 1, input)
        check_tensor(name, "mat2", 2, mat2)
        if input.ndim != left or mat2.ndim != right:
            raise RuntimeError(
                f"{name}: expected tensors of {left} and {right} dimensions, got shapes "
                f"{list(input.shape)} and {list(mat2.shape)}"
            )
        if name == "bmm" and input.shape[0] != mat2.shape[0]:
            raise RuntimeError(
                f"bmm: expected the same batch size, got shapes {list(input.shape)} and "
                f"{list(mat2.shape)}"
            )
        return into_same(out, apply2(Matmul, input, mat2))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{what}\n\nhttps://pytorch.org/docs/stable/generated/torch.{name}.html"
    return function


mm = fixed("mm", 2, 2, "The product of two matrices.")
bmm = fixed("bmm", 3, 3, "The products of two stacks of matrices.")
mv = fixed("mv", 2, 1, "The product of a matrix and a vector.")
dot = fixed("dot", 1, 1, "The inner product of two vectors.")


def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The outer product of two vectors."""
    for name, vector in (("self", input), ("vec2", vec2)):
        if vector.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {vector.ndim}-D")
    return into(out, input.unsqueeze(1) * vec2.unsqueeze(0))


def addmm(
    input: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: float = 1,
    alpha: float = 1,
    out: Tensor | None = None,
) -> Tensor:
    """beta * input + alpha * mat1 @ mat2; input is expanded to the product's shape."""
    product = mm(mat1, mat2)
    if input.dtype is not product.dtype:
        raise RuntimeError(
            f"self and mat2 must have the same dtype, but got {input.dtype} and {mat2.dtype}"
        )
    input = input.expand(product.shape)
    product = product if alpha == 1 else product * alpha
    if beta != 0:
        product = product + (input if beta == 1 else input * beta)
    return into_same(out, product)


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias: input (..., in), weight (out, in), bias (out,).

    https://pytorch.org/docs/stable/generated/torch.nn.functional.linear.html
    """
    check_tensor("linear", "input", 1, input)
    check_tensor("linear", "weight", 2, weight)
    if weight.ndim == 1:
        product = matmul(input, weight)
        return product if bias is None else product + bias
    if bias is not None and bias.ndim != 1:
        return matmul(input, weight.t()) + bias
    return applyn(Linear, (input, weight, bias))


FUNCTIONS = {f.__name__: f for f in (matmul, mm, bmm, mv, dot, outer, addmm)}
METHODS = {
    **FUNCTIONS,
    "__matmul__": lambda self, other: (
        matmul(self, other) if isinstance(other, Tensor) else NotImplemented
    ),
}
