"""Norms of vectors and matrices, over any dims."""

from __future__ import annotations

import math
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.op_mode import as_one
from tiny_torch.base.arguments import as_number
from tiny_torch.functions.common import into, into_same
from tiny_torch.functions.linalg.factor import svdvals
from tiny_torch.functions.linalg.lapack import check_floating, check_matrix, check_precision
from tiny_torch.functions.public import function, function_and_method, method
from tiny_torch.functions.reduce.sums import amax, amin
from tiny_torch.ops.common import refuse_overlap
from tiny_torch.ops.elementwise.arithmetic import Number
from tiny_torch.ops.elementwise.cast import Cast
from tiny_torch.ops.reduce.norms import LinalgVectorNorm
from tiny_torch.ops.shape.views import unique_dims, wrap_dim
from tiny_torch.tensor import Tensor


def dims_of(dim: Any, ndim: int) -> tuple | None:
    """dim as a tuple; None means all, and so does an empty one."""
    if dim is None:
        return None
    dims = unique_dims(dim if isinstance(dim, (tuple, list)) else (dim,), ndim)
    return dims if dims and ndim else None


def in_dtype(name: str, x: Tensor, dtype: Any) -> Tensor:
    """x, in a wider dtype if one is asked for."""
    check_floating(name, x)
    if dtype is None or dtype is x.dtype:
        return x
    if not dtype.is_floating_point:
        raise RuntimeError(f"{name}: dtype should be floating point or complex, but got {dtype}")
    if _core.promote_types(x.dtype, dtype) is not dtype:
        raise RuntimeError(
            f"{name}: the dtype of the input ({x.dtype}) should be convertible without narrowing "
            f"to the specified dtype ({dtype})"
        )
    return apply(Cast, x, dtype)


def vector_norm(
    input: Tensor,
    ord: Number = 2,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Any = None,
) -> Tensor:
    """(sum |x|^ord)^(1 / ord) over `dim` (all dims without it): ord 0 counts, inf is the largest.

    Raises RuntimeError for integers, or a dtype narrower than input's.
    https://pytorch.org/docs/stable/generated/torch.linalg.vector_norm.html

    >>> import tiny_torch as torch
    >>> torch.linalg.vector_norm(torch.tensor([3.0, -4.0]))
    tensor(5.)
    """
    ord = as_number("linalg_vector_norm", "ord", 2, ord)
    input = in_dtype("linalg.vector_norm", input, dtype)
    dims = dims_of(dim, input.ndim)
    if (ord < 0 or ord == math.inf) and 0 in [input.shape[d] for d in dims or range(input.ndim)]:
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {ord} norm on the dimension of size 0 of shape "
            f"{list(input.shape)} because the operation does not have an identity"
        )
    return into_same(out, apply(LinalgVectorNorm, input, ord, dims, keepdim))


# --------------------------------------------------------------------------------------- matrices


@as_one
def matrix_norm(
    input: Tensor,
    ord: Any = "fro",
    dim: Any = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Any = None,
) -> Tensor:
    """The norm of matrices: "fro", "nuc", or 1, 2, inf and their negatives.

    2 is the largest singular value, -2 the smallest, "nuc" their sum; 1 is the largest sum of a
    column, inf of a row. Raises RuntimeError for another order.
    https://pytorch.org/docs/stable/generated/torch.linalg.matrix_norm.html

    >>> import tiny_torch as torch
    >>> torch.linalg.matrix_norm(torch.tensor([[1.0, -2.0], [3.0, 4.0]]), 1)
    tensor(6.)
    """
    if ord is None or not isinstance(dim, (tuple, list)):
        raise TypeError("linalg_matrix_norm() received an invalid combination of arguments")
    check_matrix("linalg.matrix_norm", input)
    if ord not in ("fro", "nuc") if isinstance(ord, str) else abs(ord) not in (1, 2, math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    if len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {dim}")
    rows, columns = [wrap_dim(d, input.ndim) for d in dim]
    if rows == columns:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got {tuple(dim)}")
    if ord in ("nuc", 2, -2):
        check_precision("linalg.matrix_norm", input, RuntimeError)
    input = in_dtype("linalg.matrix_norm", input, dtype)
    if ord == "fro":
        return into_same(out, apply(LinalgVectorNorm, input, 2, (rows, columns), keepdim))
    if ord in ("nuc", 2, -2):
        return into_same(out, spectral_norm(input, ord, rows, columns, keepdim))
    first, second = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = apply(LinalgVectorNorm, input, 1, (first,), True)
    return into_same(out, extreme(sums, second, ord > 0, keepdim, first))


def spectral_norm(A: Tensor, ord: Any, rows: int, columns: int, keepdim: bool) -> Tensor:
    others = [d for d in range(A.ndim) if d not in (rows, columns)]
    order = [*others, rows, columns]
    values = svdvals(A.permute(order))
    result = values.sum(-1, keepdim) if ord == "nuc" else extreme(values, -1, ord > 0, keepdim)
    if not keepdim:
        return result
    return result.unsqueeze(-1).permute([order.index(d) for d in range(A.ndim)])


def extreme(x: Tensor, dim: int, largest: bool, keepdim: bool, also: int | None = None) -> Tensor:
    """The largest along a dim, 0 if there is none; or the smallest. `also` is of size 1."""
    dims = [dim] if also is None else [dim, also]
    if not largest:
        return amin(x, dims, keepdim)
    return amax(x, dims, keepdim) if x.shape[dim] else x.sum(dims, keepdim)


# ---------------------------------------------------------------------------------- either of them


def norm(
    input: Tensor,
    ord: Any = None,
    dim: Any = None,
    keepdim: bool = False,
    *,
    out: Any = None,
    dtype: Any = None,
) -> Tensor:
    """A vector's norm for one dim, a matrix's for two; without `ord` the root of all squares.

    https://pytorch.org/docs/stable/generated/torch.linalg.norm.html
    """
    dims = (dim,) if dim is not None and not isinstance(dim, (tuple, list)) else dim
    if dims is not None and len(dims) not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}"
        )
    if ord is None:
        return vector_norm(input, 2, dims, keepdim, dtype=dtype, out=out)
    if dims is None and input.ndim not in (1, 2):
        raise RuntimeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
            f"{input.ndim}D."
        )
    if isinstance(ord, str) or (input.ndim if dims is None else len(dims)) == 2:
        return matrix_norm(input, ord, dims or (-2, -1), keepdim, dtype=dtype, out=out)
    return vector_norm(input, ord, dims, keepdim, dtype=dtype, out=out)


@function("norm")
def old_norm(
    input: Tensor,
    p: Any = "fro",
    dim: Any = None,
    keepdim: bool = False,
    out: Any = None,
    dtype: Any = None,
) -> Tensor:
    """The p-norm of the elements over `dim`: p is a number, inf, -inf, "fro" (2) or "nuc".

    https://pytorch.org/docs/stable/generated/torch.norm.html
    """
    dims = (dim,) if dim is not None and not isinstance(dim, (tuple, list)) else dim
    if isinstance(p, str) and (p != "fro" or (dims is not None and len(dims) > 2)):
        dims = tuple(range(input.ndim)) if dims is None else dims
        return matrix_norm(input, p, dims, keepdim, dtype=dtype, out=out)
    order = 2 if p is None or p == "fro" else p
    return vector_norm(input, order, dims, keepdim, dtype=dtype, out=out)


@method("norm")
def norm_method(
    self: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Tensor:
    return old_norm(self, p, dim, keepdim, dtype=dtype)


@function_and_method
@as_one
def dist(input: Tensor, other: Tensor, p: Number = 2, *, out: Any = None) -> Tensor:
    """The p-norm of input - other. https://pytorch.org/docs/stable/generated/torch.dist.html"""
    return vector_norm(input - other, p, out=out)


@function_and_method
@as_one
def renorm(input: Tensor, p: Number, dim: int, maxnorm: Number, *, out: Any = None) -> Tensor:
    """Scales each slice along `dim` whose p-norm is above maxnorm down to it.

    https://pytorch.org/docs/stable/generated/torch.renorm.html

    >>> import tiny_torch as torch
    >>> torch.renorm(torch.tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 1)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if input.ndim < 2:
        raise RuntimeError(
            f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions"
        )
    refuse_overlap(out, (), (input,))
    kept = wrap_dim(dim, input.ndim)
    others = tuple([d for d in range(input.ndim) if d != kept])
    x = input if input.itemsize > 2 or not input.is_floating_point() else input.float()
    norms = vector_norm(x, p, others, True)
    factor = (maxnorm / (norms + 1e-7)).masked_fill(~(norms.detach() > maxnorm), 1)
    return into(out, (input * factor.to(input.dtype)).contiguous())


@method
def renorm_(self: Tensor, p: Number, dim: int, maxnorm: Number) -> Tensor:
    return self.copy_(renorm(self.clone(), p, dim, maxnorm))
