"""Matrix products, and the linear layer made of them."""

from __future__ import annotations

from math import prod
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.engine import sum_to
from tiny_torch.autograd.graph import Op, TensorBase
from tiny_torch.autograd.term import NDArray, Term
from tiny_torch.ops.public import check_tensor, into_same, offered
from tiny_torch.ops.views import T, Transpose
from tiny_torch.tensor import Tensor


def transposed(x):
    return x.transpose(-1, -2)


def rows_of(x):
    """(..., n) -> (rows, n)"""
    return x if x.ndim == 2 else x.reshape((prod(x.shape[:-1]), x.shape[-1]))


def product(edge, a, b):
    """a @ b, the gradient of a matrix, for its edge: where that is a leaf, it may have a sum."""
    if type(edge) is tuple and type(a) is NDArray:
        if isinstance(edge[0], TensorBase):
            return Term(Matmul, (a, b))
        if edge[0].op in (T, Transpose):  # so that it is contiguous behind that
            return transposed(transposed(b) @ transposed(a))
    return a @ b


class Matmul(Op):
    """x @ y, leading dims broadcast; a 1-d operand is a row on the left, a column on the right."""

    arity = 2
    saves = (0, 1)
    used_by = ((1,), (0,))

    @staticmethod
    def forward(x, y, out=None):
        return x.matmul(y, None, out), (x, y, x.shape, y.shape)

    @staticmethod
    def backward(saved, grad, needs):
        x, y, x_shape, y_shape = saved
        x_ndim, y_ndim = len(x_shape), len(y_shape)
        if x_ndim == 1 and y_ndim == 1:
            return (
                grad * y if needs[0] else None,
                grad * x if needs[1] else None,
            )
        if y_ndim == 2 and x_ndim >= 2:  # the rows of all matrices of x are those of one
            to_x = product(x_ndim == 2 and needs[0], grad, transposed(y)) if needs[0] else None
            if not needs[1]:
                return to_x, None
            return to_x, product(needs[1], transposed(rows_of(x)), rows_of(grad))
        rows = grad.unsqueeze(-2) if x_ndim == 1 else grad
        rows = rows.unsqueeze(-1) if y_ndim == 1 else rows  # (..., m, n)
        to_x = to_y = None
        if needs[0]:
            right = y.unsqueeze(-1) if y_ndim == 1 else y
            to_x = rows @ transposed(right)
            to_x = reduced(to_x, (1, *x_shape) if x_ndim == 1 else x_shape)
            to_x = to_x.reshape(x_shape)
        if needs[1]:
            left = x.unsqueeze(-2) if x_ndim == 1 else x
            to_y = transposed(left) @ rows
            to_y = reduced(to_y, (*y_shape, 1) if y_ndim == 1 else y_shape)
            to_y = to_y.reshape(y_shape)
        return to_x, to_y

    @staticmethod
    def add(total, a, b):
        a.matmul(b, None, None, total)


def reduced(grad, shape):
    """Sums over the dims along which an operand was broadcast."""
    return sum_to(grad, shape, grad.dtype) if tuple(grad.shape) != shape else grad


class Mm(Matmul):
    """A product of two matrices; these names are for the graph only."""


class Bmm(Matmul):
    """A product of two stacks of matrices."""


class Mv(Matmul):
    """A product of a matrix and a vector."""


class Dot(Matmul):
    """A product of two vectors."""


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
        to_x = grad @ weight if needs[0] else None
        to_weight = to_bias = None
        flat = rows_of(grad)  # (rows, out)
        if needs[1]:
            to_weight = product(needs[1], transposed(flat), rows_of(x))
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
    op = BY_DIMS.get((input.array.ndim, other.array.ndim), Matmul)
    if out is None:
        return apply(op, input, other)
    return into_same(out, offered(out, op, (input, other)))


BY_DIMS = {(1, 1): Dot, (2, 1): Mv, (2, 2): Mm}


def fixed(op: type[Op], second: str, dims: tuple, x: Tensor, y: Tensor, out: Any) -> Tensor:
    """A product of operands with a fixed number of dims."""
    if not (isinstance(x, Tensor) and isinstance(y, Tensor) and (x.ndim, y.ndim) == dims):
        name = op.__name__.lower()
        check_tensor(name, "input", 1, x)
        check_tensor(name, second, 2, y)
        raise RuntimeError(
            {
                "mm": f"{'self' if x.ndim != 2 else second} must be a matrix",
                "bmm": f"batch{1 if x.ndim != 3 else 2} must be a 3D tensor",
                "mv": f"vector + matrix @ vector expected, got 1, {x.ndim}, {y.ndim}",
                "dot": f"1D tensors expected, but got {x.ndim}D and {y.ndim}D tensors",
            }[name]
        )
    if out is None:
        return apply(op, x, y)
    return into_same(out, offered(out, op, (x, y)))


def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices.

    https://pytorch.org/docs/stable/generated/torch.mm.html
    """
    return fixed(Mm, "mat2", (2, 2), input, mat2, out)


def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The products of two stacks of matrices: (B, n, m), (B, m, p) -> (B, n, p).

    https://pytorch.org/docs/stable/generated/torch.bmm.html
    """
    if is_stack(input) and is_stack(mat2):
        check_batches("bmm", input, mat2)
    return fixed(Bmm, "mat2", (3, 3), input, mat2, out)


def is_stack(x: Any) -> bool:
    return isinstance(x, Tensor) and x.ndim == 3


def check_batches(name: str, x: Any, y: Any) -> None:
    """RuntimeError where two stacks differ in their number of matrices."""
    if x.shape[0] != y.shape[0]:
        raise RuntimeError(
            "Expected size for first two dimensions of batch2 tensor to be: "
            f"{[x.shape[0], x.shape[2]]} but got: {list(y.shape[:2])}."
        )


def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of a matrix and a vector.

    https://pytorch.org/docs/stable/generated/torch.mv.html
    """
    if isinstance(input, Tensor) and input.ndim == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return fixed(Mv, "vec", (2, 1), input, vec, out)


def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inner product of two vectors.

    https://pytorch.org/docs/stable/generated/torch.dot.html
    """
    return fixed(Dot, "tensor", (1, 1), input, tensor, out)


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias: input (..., in), weight (out, in), bias (out,).

    https://pytorch.org/docs/stable/generated/torch.nn.functional.linear.html
    """
    check_tensor("linear", "input", 1, input)
    check_tensor("linear", "weight", 2, weight)
    if weight.ndim != 2:
        return linear_of_vector(input, weight, bias)
    if bias is not None and bias.ndim != 1:
        return matmul(input, weight.t()) + bias
    return apply(Linear, input, weight, bias)


def linear_of_vector(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    if weight.ndim > 2:
        raise RuntimeError(
            f"linear(): expected a weight of 1 or 2 dimensions, but got shape {weight.shape}"
        )
    product = matmul(input, weight)
    if bias is None:
        return product
    if bias.ndim or input.ndim == 2:
        raise RuntimeError("linear(): a weight of 1 dimension takes a bias without dimensions")
    return product + bias


FUNCTIONS = {f.__name__: f for f in (matmul, mm, bmm, mv, dot)}


def matmul_operator(self: Tensor, other: Any = NotImplemented) -> Tensor:
    if isinstance(other, Tensor):
        return matmul(self, other)
    return _core.refuse_pytorchs(other) or NotImplemented


def reflected_operator(self: Tensor, other: Any = NotImplemented) -> Tensor:
    if isinstance(other, Tensor):
        return matmul(other, self)
    return _core.refuse_pytorchs(other) or NotImplemented


METHODS = {**FUNCTIONS, "__matmul__": matmul_operator, "__rmatmul__": reflected_operator}
