"""Sums of matrix products: addmm and its family. The plain products stand in matmul.py."""

from __future__ import annotations

from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply, apply_inplace
from tiny_torch.autograd.graph import Op
from tiny_torch.dtypes import HALVES, cannot_cast
from tiny_torch.ops.matmul import Matmul, check_batches, reduced
from tiny_torch.ops.pointwise import addcmul, everywhere, result_type
from tiny_torch.ops.public import (
    check_tensors,
    into,
    into_same,
    offered,
    refuse_overlap,
    written,
)
from tiny_torch.tensor import Tensor

Number = bool | int | float


class Addmm(Op):
    """beta x + alpha a @ b, where x is broadcast; half types are computed in float32."""

    arity = 3
    saves = (1, 2)
    used_by = ((2,), (1,))

    dims = 2, 2  # of a and b

    @classmethod
    def forward(cls, x, a, b, beta, alpha, out=None):
        check_product(cls, x, a, b)
        if x.dtype in HALVES:
            total = cls.total(wide(x), wide(a), wide(b), beta, alpha).astype(x.dtype)
        else:
            free = out is not None and not out.overlaps(x)  # which is read after the product
            total = cls.total(x, a, b, beta, alpha, out if free else None)
        return written(total, out), (a, b, a.shape, b.shape, x.shape, beta, alpha)

    @classmethod
    def total(cls, x, a, b, beta, alpha, out=None):
        if cls is Addmm and beta == alpha == 1 and x.shape == (b.shape[1],):
            return a.matmul(b, x, out)
        product = cls.product(a, b, out)
        if not x.same_shape(product):
            x = x.expand(product.shape)
        if alpha != 1:
            product.mul(alpha, product)
        if beta != 0:  # else NaN in x does not count
            product.add(x if beta == 1 else x * beta, product)
        return product

    @staticmethod
    def product(a, b, out):
        return a.matmul(b, None, out)

    @staticmethod
    def backward(saved, grad, needs):
        *operands, shape, beta, alpha = saved
        to_x = reduced(scaled(grad, beta), shape) if needs[0] else None
        return to_x, *Matmul.backward(operands, scaled(grad, alpha), needs[1:3])


def wide(x):
    """x, or a copy in float32 where it is a half type."""
    return x.astype(_core.float32) if x.dtype in HALVES else x


def scaled(x, factor):
    return x if factor == 1 else x * factor


class Addmv(Addmm):
    """x (n), a (n, m), b (m)"""

    dims = 2, 1


class Baddbmm(Addmm):
    """x (B, n, p), a (B, n, m), b (B, m, p)"""

    dims = 3, 3


class Addbmm(Addmm):
    """x (n, p), a (B, n, m), b (B, m, p): the sum over B is one long product."""

    dims = 3, 3

    @staticmethod
    def product(a, b, out):
        batch, n, m = a.shape
        rows, columns = a.permute((1, 0, 2)).reshape((n, batch * m)), b.reshape((batch * m, -1))
        return rows.matmul(columns, None, out)


def numbers(name: str, dtype: Any, beta: Number, alpha: Number) -> tuple[Number, Number]:
    """beta and alpha as factors that do not promote: integers take whole parts, bool the truth."""
    if type(beta) is int and type(alpha) is int and beta == alpha == 1:
        return 1, 1
    for argument, value in (("beta", beta), ("alpha", alpha)):
        if not isinstance(value, bool | int | float):
            raise TypeError(
                f"{name}(): argument '{argument}' must be Number, not {type(value).__name__}"
            )
    if dtype.is_floating_point:
        return beta, alpha
    whole = bool if dtype is _core.bool else int
    return whole(beta), whole(alpha)


def check_product(op: type[Addmm], x: Any, a: Any, b: Any) -> None:
    """Dtypes and dims of arrays: asked in forward, where autocast has cast them."""
    dtype, ndims = x.dtype, (a.ndim, b.ndim)
    if ndims == op.dims and dtype is a.dtype and dtype is b.dtype:
        if ndims == (3, 3):
            check_batches(op.__name__.lower(), a, b)
        return
    name = op.__name__.lower()
    if op.dims == (3, 3) and (a.ndim < 2 or b.ndim < 3):
        raise IndexError(f"{name}: Dimension out of range: batches of matrices have 3 dimensions")
    if not dtype is a.dtype is b.dtype:
        raise RuntimeError(
            f"{name}: expected tensors of the same dtype, got {x.dtype}, {a.dtype} and {b.dtype}"
        )
    raise RuntimeError(
        f"{name}: expected tensors of {op.dims[0]} and {op.dims[1]} dimensions, got shapes "
        f"{list(a.shape)} and {list(b.shape)}"
    )


def sum_of_products(op, x, a, b, beta, alpha, out):
    beta, alpha = numbers(op.__name__.lower(), x.dtype, beta, alpha)
    if out is None:
        return apply(op, x, a, b, beta, alpha)
    if op is Addmv or (op is Addmm and x.ndim == 2):
        refuse_overlap(out, (), (x,))
    return into_same(out, offered(out, op, (x, a, b), beta, alpha))


def sum_of_products_inplace(op, x, a, b, beta, alpha):
    check_product(op, x.array, a.array, b.array)
    shape = a.array.shape[op is Addbmm : -1] + b.array.shape[max(b.ndim - 1, 1) :]
    if x.array.shape != shape:
        raise RuntimeError(
            f"Bad in-place call: input tensor size {list(x.shape)} and output tensor size "
            f"{list(shape)} should match"
        )
    return apply_inplace(op, x, a, b, *numbers(op.__name__.lower(), x.dtype, beta, alpha))


def addmm(
    input: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: Number = 1,
    alpha: Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """beta * input + alpha * mat1 @ mat2; input is expanded to the product's shape.

    Raises RuntimeError where dtypes or inner sizes differ.
    https://pytorch.org/docs/stable/generated/torch.addmm.html

    >>> import tiny_torch as torch
    >>> torch.addmm(torch.ones(2), torch.ones(2, 3), torch.ones(3, 2), alpha=2)
    tensor([[7., 7.],
            [7., 7.]])
    """
    check_tensors("addmm", {"input": input, "mat1": mat1, "mat2": mat2})
    return sum_of_products(Addmm, input, mat1, mat2, beta, alpha, out)


def addmm_(
    self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1
) -> Tensor:
    check_tensors("addmm_", {"self": self, "mat1": mat1, "mat2": mat2})
    return sum_of_products_inplace(Addmm, self, mat1, mat2, beta, alpha)


def addmv(
    input: Tensor,
    mat: Tensor,
    vec: Tensor,
    *,
    beta: Number = 1,
    alpha: Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """beta * input + alpha * mat @ vec. https://pytorch.org/docs/stable/generated/torch.addmv.html"""
    check_tensors("addmv", {"input": input, "mat": mat, "vec": vec})
    return sum_of_products(Addmv, input, mat, vec, beta, alpha, out)


def addmv_(
    self: Tensor, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1
) -> Tensor:
    check_tensors("addmv_", {"self": self, "mat": mat, "vec": vec})
    return sum_of_products_inplace(Addmv, self, mat, vec, beta, alpha)


def baddbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: Number = 1,
    alpha: Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """beta * input + alpha * batch1 @ batch2, of stacks of matrices.

    https://pytorch.org/docs/stable/generated/torch.baddbmm.html
    """
    check_tensors("baddbmm", {"input": input, "batch1": batch1, "batch2": batch2})
    return sum_of_products(Baddbmm, input, batch1, batch2, beta, alpha, out)


def baddbmm_(
    self: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1
) -> Tensor:
    check_tensors("baddbmm_", {"self": self, "batch1": batch1, "batch2": batch2})
    return sum_of_products_inplace(Baddbmm, self, batch1, batch2, beta, alpha)


def addbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: Number = 1,
    alpha: Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """beta * input + alpha * (batch1 @ batch2).sum(0).

    https://pytorch.org/docs/stable/generated/torch.addbmm.html
    """
    check_tensors("addbmm", {"input": input, "batch1": batch1, "batch2": batch2})
    return sum_of_products(Addbmm, input, batch1, batch2, beta, alpha, out)


def addbmm_(
    self: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1
) -> Tensor:
    check_tensors("addbmm_", {"self": self, "batch1": batch1, "batch2": batch2})
    return sum_of_products_inplace(Addbmm, self, batch1, batch2, beta, alpha)


def addr(
    input: Tensor,
    vec1: Tensor,
    vec2: Tensor,
    *,
    beta: Number = 1,
    alpha: Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """beta * input + alpha * outer(vec1, vec2); dtypes promote, unlike in the others.

    https://pytorch.org/docs/stable/generated/torch.addr.html
    """
    check_tensors("addr", {"input": input, "vec1": vec1, "vec2": vec2})
    for name, vector in (("vec1", vec1), ("vec2", vec2)):
        if vector.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {vector.ndim}-D")
    refuse_overlap(out, (), (input, vec1, vec2))
    dtype = result_type(input, vec1, vec2)
    check_factor("beta", beta, dtype)
    check_factor("alpha", alpha, dtype)
    input, a, b = input.to(dtype), vec1.to(dtype).unsqueeze(1), vec2.to(dtype).unsqueeze(0)
    input = input.expand(vec1.shape[0], vec2.shape[0])
    if dtype is _core.bool:
        return into(out, (input & bool(beta)) | (a & b & bool(alpha)))
    if beta == 0:  # NaN in input does not count
        input = everywhere(input, False).to(dtype)
    return into(out, addcmul(scaled(input, beta or 1), a, b, value=alpha))


def addr_(
    self: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1
) -> Tensor:
    result = addr(self, vec1, vec2, beta=beta, alpha=alpha)
    if not _core.can_cast(result.dtype, self.dtype):
        raise cannot_cast(result.dtype, self.dtype)
    if self.shape != result.shape:
        raise RuntimeError(
            f"addr_: expected a tensor of shape {list(result.shape)}, got {list(self.shape)}"
        )
    return self.copy_(result)


def check_factor(name: str, value: Number, dtype: Any) -> None:
    if isinstance(value, bool) and dtype is not _core.bool:
        raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
    if isinstance(value, float) and not dtype.is_floating_point:
        raise RuntimeError(
            f"For integral input tensors, argument {name} must not be a floating point number."
        )


FUNCTIONS = {f.__name__: f for f in (addmm, addmv, baddbmm, addbmm, addr)}
METHODS = {
    **FUNCTIONS,
    **{f.__name__: f for f in (addmm_, addmv_, baddbmm_, addbmm_, addr_)},
}
