"""Matrix products: matmul, mm, bmm, mv, dot."""

from __future__ import annotations

from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.graph import Op
from tiny_torch.functions.common import check_dim_exists, compute_for_out, into_same
from tiny_torch.functions.public import function_and_method, method
from tiny_torch.ops.linalg.matmul import BY_DIMS, Bmm, Dot, Matmul, Mm, Mv
from tiny_torch.ops.linalg.products import check_batches
from tiny_torch.tensor import Tensor


@function_and_method
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix product, with NumPy's rules for 1-d operands and stacks of matrices.

    Raises RuntimeError where inner sizes or dtypes differ.
    https://pytorch.org/docs/stable/generated/torch.matmul.html

    >>> import tiny_torch as torch
    >>> torch.ones(2, 3) @ torch.ones(3)
    tensor([3., 3.])
    """
    op = BY_DIMS.get((input.array.ndim, other.array.ndim), Matmul)
    if out is None:
        return apply(op, input, other)
    return into_same(out, compute_for_out(out, op, (input, other)))


def product_of_dims(
    op: type[Op], second: str, dims: tuple, x: Tensor, y: Tensor, out: Any
) -> Tensor:
    """A product of operands with a fixed number of dims."""
    if not (isinstance(x, Tensor) and isinstance(y, Tensor) and (x.ndim, y.ndim) == dims):
        name = op.__name__.lower()
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
    return into_same(out, compute_for_out(out, op, (x, y)))


@function_and_method
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices.

    https://pytorch.org/docs/stable/generated/torch.mm.html
    """
    return product_of_dims(Mm, "mat2", (2, 2), input, mat2, out)


@function_and_method
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The products of two stacks of matrices: (B, n, m), (B, m, p) -> (B, n, p).

    https://pytorch.org/docs/stable/generated/torch.bmm.html
    """
    if is_stack(input) and is_stack(mat2):
        check_batches("bmm", input, mat2)
    return product_of_dims(Bmm, "mat2", (3, 3), input, mat2, out)


def is_stack(x: Any) -> bool:
    return isinstance(x, Tensor) and x.ndim == 3


@function_and_method
def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of a matrix and a vector.

    https://pytorch.org/docs/stable/generated/torch.mv.html
    """
    if isinstance(input, Tensor):
        check_dim_exists(input, 0)
    return product_of_dims(Mv, "vec", (2, 1), input, vec, out)


@function_and_method
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inner product of two vectors.

    https://pytorch.org/docs/stable/generated/torch.dot.html
    """
    return product_of_dims(Dot, "tensor", (1, 1), input, tensor, out)


@method("__matmul__")
def matmul_operator(self: Tensor, other: Any = NotImplemented) -> Tensor:
    if isinstance(other, Tensor):
        return matmul(self, other)
    return _core.refuse_pytorchs(other) or NotImplemented


@method("__rmatmul__")
def reflected_operator(self: Tensor, other: Any = NotImplemented) -> Tensor:
    if isinstance(other, Tensor):
        return matmul(other, self)
    return _core.refuse_pytorchs(other) or NotImplemented
