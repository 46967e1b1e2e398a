"""Matrix products, and the linear layer made of them."""

from __future__ import annotations

from math import prod
from typing import Any

from tiny_torch.autograd.engine import sum_to
from tiny_torch.autograd.graph import Op, TensorBase
from tiny_torch.autograd.term import NDArray, Term


def transpose_last(x):
    return x.transpose(-1, -2)


def rows_of(x):
    """(..., n) -> (rows, n)"""
    return x if x.ndim == 2 else x.reshape((prod(x.shape[:-1]), x.shape[-1]))


def product(edge, a, b):
    """a @ b, the gradient of a matrix, for its edge: where that is a leaf, it may have a sum."""
    if type(edge) is tuple and type(a) is NDArray:
        if isinstance(edge[0], TensorBase):
            return Term(Matmul, (a, b))
        if edge[0].op.transposes:  # so that it is contiguous behind that
            return transpose_last(transpose_last(b) @ transpose_last(a))
    return a @ b


def product_function(x, y):
    """The function that does the work, for operands of so many dims."""
    return {(1, 1): "dot", (2, 1): "mv", (2, 2): "mm", (3, 3): "bmm"}.get((x, y), "matmul")


class Matmul(Op):
    """x @ y, leading dims broadcast; a 1-d operand is a row on the left, a column on the right."""

    arity = 2
    saves = (0, 1)
    used_by = ((1,), (0,))
    aten: Any = product_function
    cost = "product"
    autocast = "lower"

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
            to_x = product(x_ndim == 2 and needs[0], grad, transpose_last(y)) if needs[0] else None
            if not needs[1]:
                return to_x, None
            return to_x, product(needs[1], transpose_last(rows_of(x)), rows_of(grad))
        rows = grad.unsqueeze(-2) if x_ndim == 1 else grad
        rows = rows.unsqueeze(-1) if y_ndim == 1 else rows  # (..., m, n)
        to_x = to_y = None
        if needs[0]:
            right = y.unsqueeze(-1) if y_ndim == 1 else y
            to_x = rows @ transpose_last(right)
            to_x = unbroadcast(to_x, (1, *x_shape) if x_ndim == 1 else x_shape)
            to_x = to_x.reshape(x_shape)
        if needs[1]:
            left = x.unsqueeze(-2) if x_ndim == 1 else x
            to_y = transpose_last(left) @ rows
            to_y = unbroadcast(to_y, (*y_shape, 1) if y_ndim == 1 else y_shape)
            to_y = to_y.reshape(y_shape)
        return to_x, to_y

    @staticmethod
    def add(total, a, b):
        a.matmul(b, None, None, total)


def unbroadcast(grad, shape):
    """Sums over the dims along which an operand was broadcast."""
    return sum_to(grad, shape, grad.dtype) if tuple(grad.shape) != shape else grad


class Mm(Matmul):
    """A product of two matrices; these names are for the graph only."""

    node_name = "MmBackward0"
    aten = "mm"
    words = "y:mat2"


class Bmm(Matmul):
    """A product of two stacks of matrices."""

    node_name = "BmmBackward0"
    aten = "bmm"
    words = "y:mat2"


class Mv(Matmul):
    """A product of a matrix and a vector."""

    node_name = "MvBackward0"
    aten = "mv"
    words = "y:vec"
    cost = ""
    autocast = "lower on cuda"


class Dot(Matmul):
    """A product of two vectors."""

    node_name = "DotBackward0"
    aten = "dot"
    words = "y:tensor"
    cost = ""
    autocast = "widest on cuda"


class MatmulMv(Mv):
    """`matmul`'s, which autocast tells from `mv`."""

    autocast = "lower"


class MatmulDot(Dot):
    """`matmul`'s, which autocast tells from `dot`."""

    autocast = "lower"


class Linear(Op):
    """x @ weight.T + bias: x (..., in), weight (out, in), bias (out,) or None."""

    arity = 3
    saves = (0, 1)
    keeps_data = (1,)
    used_by = ((1,), (0,))
    last_first = True  # PyTorch's is addmm(bias, x, weight.t())
    cost = "linear"
    autocast = "lower"

    @staticmethod
    def forward(x, weight, bias):
        if weight.ndim > 2:
            shape = list(weight.shape)
            raise RuntimeError(f"linear(): expected a weight of 1 or 2 dimensions, not {shape}")
        return x.matmul(transpose_last(weight), bias), (x, weight)

    @staticmethod
    def backward(saved, grad, needs):
        x, weight = saved
        to_x = grad @ weight if needs[0] else None
        to_weight = to_bias = None
        flat = rows_of(grad)  # (rows, out)
        if needs[1]:
            to_weight = product(needs[1], transpose_last(flat), rows_of(x))
        if needs[2]:
            to_bias = flat.sum((0,), False)
        return to_x, to_weight, to_bias

    @staticmethod
    def words(node):
        """Those of the product that PyTorch takes."""
        return f"weight:mat2 x:{'self' if node.edges[2] is None else 'mat1'}"

    @staticmethod
    def show_saved(values, k):
        return values[k].t() if k == 1 and values[k] is not None else values[k]


BY_DIMS = {(1, 1): MatmulDot, (2, 1): MatmulMv, (2, 2): Mm}
