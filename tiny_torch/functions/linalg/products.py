"""Sums of matrix products: addmm and its family. The plain products stand in matmul.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply, apply_inplace
from tiny_torch.autograd.op_mode import as_one
from tiny_torch.base.arguments import as_number
from tiny_torch.base.docstrings import with_parameters
from tiny_torch.base.dtypes import HALVES, check_cast, check_range
from tiny_torch.functions.common import compute_for_out, into, into_same
from tiny_torch.functions.elementwise.arithmetic import addcmul, check_factor
from tiny_torch.functions.linalg.lapack import check_vectors
from tiny_torch.functions.public import function_and_method, method
from tiny_torch.ops.common import refuse_overlap, scale_by
from tiny_torch.ops.elementwise.arithmetic import Number, everywhere, result_type
from tiny_torch.ops.linalg.products import Addbmm, Addmm, Addmv, Baddbmm, check_product
from tiny_torch.tensor import Tensor


def factors(name: str, dtype: Any, beta: Number, alpha: Number) -> tuple[Number, Number]:
    """beta and alpha as factors that do not promote: integers take whole parts, bool the truth."""
    if type(beta) is int and type(alpha) is int and beta == alpha == 1:
        return 1, 1
    beta, alpha = as_number(name, "beta", None, beta), as_number(name, "alpha", None, alpha)
    for value in (beta, alpha):
        check_range(value, _core.float32 if dtype in HALVES else dtype)
    if dtype.is_floating_point:
        return beta, alpha
    whole = bool if dtype is _core.bool else int
    return whole(beta), whole(alpha)


def sum_of_products(op, x, a, b, beta, alpha, out):
    beta, alpha = factors(op.__name__.lower(), x.dtype, beta, alpha)
    if out is None:
        return apply(op, x, a, b, beta, alpha)
    if op is Addmv or (op is Addmm and x.ndim == 2):
        refuse_overlap(out, (), (x,))
    return into_same(out, compute_for_out(out, op, (x, a, b), beta, alpha))


def sum_of_products_inplace(op, x, a, b, beta, alpha):
    check_product(op, x.array, a.array, b.array)
    shape = a.array.shape[op is Addbmm : -1] + b.array.shape[max(b.ndim - 1, 1) :]
    if x.array.shape != shape:
        raise RuntimeError(
            f"Bad in-place call: input tensor size {list(x.shape)} and output tensor size "
            f"{list(shape)} should match"
        )
    return apply_inplace(op, x, a, b, *factors(op.__name__.lower(), x.dtype, beta, alpha))


def adding(op: Any, a: str, b: str, doc: str) -> Callable[..., Tensor]:
    """torch.addmm and its kin, of factors of those names; and the method that does it in place."""
    name = op.__name__.lower()

    def add(
        input: Tensor,
        a: Tensor,
        b: Tensor,
        *,
        beta: Number = 1,
        alpha: Number = 1,
        out: Tensor | None = None,
    ) -> Tensor:
        return sum_of_products(op, input, a, b, beta, alpha, out)

    def add_(self: Tensor, a: Tensor, b: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        return sum_of_products_inplace(op, self, a, b, beta, alpha)

    method(with_parameters(add_, f"{name}_", None, a=a, b=b))
    return function_and_method(with_parameters(add, name, doc, a=a, b=b))


addmm = adding(
    Addmm,
    "mat1",
    "mat2",
    """beta * input + alpha * mat1 @ mat2; input is expanded to the product's shape.

    Raises RuntimeError where dtypes or inner sizes differ.
    https://pytorch.org/docs/stable/generated/torch.addmm.html

    >>> import tiny_torch as torch
    >>> torch.addmm(torch.ones(2), torch.ones(2, 3), torch.ones(3, 2), alpha=2)
    tensor([[7., 7.],
            [7., 7.]])
    """,
)
addmv = adding(
    Addmv,
    "mat",
    "vec",
    """beta * input + alpha * mat @ vec. https://pytorch.org/docs/stable/generated/torch.addmv.html""",
)
baddbmm = adding(
    Baddbmm,
    "batch1",
    "batch2",
    """beta * input + alpha * batch1 @ batch2, of stacks of matrices.

    https://pytorch.org/docs/stable/generated/torch.baddbmm.html
    """,
)
addbmm = adding(
    Addbmm,
    "batch1",
    "batch2",
    """beta * input + alpha * (batch1 @ batch2).sum(0).

    https://pytorch.org/docs/stable/generated/torch.addbmm.html
    """,
)


@function_and_method
@as_one
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
    check_vectors("addr", vec1=vec1, vec2=vec2)
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
    return into(out, addcmul(scale_by(input, beta or 1), a, b, value=alpha))


@method
def addr_(
    self: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1
) -> Tensor:
    result = addr(self, vec1, vec2, beta=beta, alpha=alpha)
    check_cast(result.dtype, self.dtype)
    if self.shape != result.shape:
        raise RuntimeError(
            f"addr_: expected a tensor of shape {list(result.shape)}, got {list(self.shape)}"
        )
    return self.copy_(result)
