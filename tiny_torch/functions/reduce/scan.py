"""Scans: at every position along a dim, what a reduction of all up to there would answer."""

from __future__ import annotations

from typing import Any

from tiny_torch.autograd.apply import apply, apply_inplace
from tiny_torch.autograd.graph import Op, edge_of
from tiny_torch.base.modes import NO_GRAD, modes
from tiny_torch.functions.common import compute_for_out, into, into_same
from tiny_torch.functions.index.selection import checked_dim, select_pair
from tiny_torch.functions.public import function_and_method, method
from tiny_torch.functions.reduce.sums import dtype_of
from tiny_torch.ops.common import refuse_overlap
from tiny_torch.ops.reduce.scan import Cummax, Cummin, Cumprod, Cumsum, Logcumsumexp
from tiny_torch.tensor import Tensor


def accumulate(op: type[Op], name: str, input: Any, dim: Any, dtype: Any, out: Any) -> Tensor:
    dim = checked_dim(name, input, dim)
    if out is not None:
        dtype = dtype_of(out, dtype)
    differentiable = edge_of(input) is not None and not modes.bits & NO_GRAD
    if differentiable and dtype is not None and dtype is not input.array.dtype:
        input = input.to(dtype)  # so that its gradient comes back in its own dtype
    if out is not None:
        refuse_overlap(out, (), (input,))
        return into(out, compute_for_out(out, op, (input,), dim, dtype))
    result = apply(op, input, dim, dtype)
    if differentiable and not result.array.dtype.is_floating_point:
        raise RuntimeError(f"{name}(): there is no gradient through dtype {result.array.dtype}")
    return result


@function_and_method
def cumsum(input: Tensor, dim: int, *, dtype: Any = None, out: Any = None) -> Tensor:
    """Sums of all elements up to each along a dim; of integers and bools in int64.

    Raises NotImplementedError for `dtype` bool, IndexError where there is no such dim.
    https://pytorch.org/docs/stable/generated/torch.cumsum.html

    >>> import tiny_torch as torch
    >>> torch.cumsum(torch.tensor([[1, 2, 3], [4, 5, 6]]), 1)
    tensor([[ 1,  3,  6],
            [ 4,  9, 15]])
    """
    return accumulate(Cumsum, "cumsum", input, dim, dtype, out)


@function_and_method
def cumprod(input: Tensor, dim: int, *, dtype: Any = None, out: Any = None) -> Tensor:
    """Products of all elements up to each along a dim; of integers and bools in int64.

    https://pytorch.org/docs/stable/generated/torch.cumprod.html

    >>> import tiny_torch as torch
    >>> torch.cumprod(torch.tensor([1.0, 2.0, 3.0]), 0)
    tensor([1., 2., 6.])
    """
    return accumulate(Cumprod, "cumprod", input, dim, dtype, out)


def accumulate_inplace(op: type[Op], name: str, self: Tensor, dim: Any, dtype: Any) -> Tensor:
    dim, own = checked_dim(name, self, dim), self.array.dtype
    if dtype is not None and dtype is not own:
        raise RuntimeError(
            f"Bad in-place call: input tensor dtype {own} and output tensor dtype {dtype} should "
            "match"
        )
    return apply_inplace(op, self, dim, own)


@method
def cumsum_(self: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """cumsum in place, in the tensor's own dtype; RuntimeError where `dtype` is another."""
    return accumulate_inplace(Cumsum, "cumsum_", self, dim, dtype)


@method
def cumprod_(self: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """cumprod in place, in the tensor's own dtype; RuntimeError where `dtype` is another."""
    return accumulate_inplace(Cumprod, "cumprod_", self, dim, dtype)


@function_and_method
def logcumsumexp(input: Tensor, dim: int, *, out: Any = None) -> Tensor:
    """log(cumsum(exp(input), dim)), where exp cannot overflow. NotImplementedError for integers.

    https://pytorch.org/docs/stable/generated/torch.logcumsumexp.html

    >>> import tiny_torch as torch
    >>> torch.logcumsumexp(torch.tensor([100.0, 100.0]), 0)
    tensor([100.0000, 100.6931])
    """
    dim = checked_dim("logcumsumexp", input, dim)
    if out is None:
        return apply(Logcumsumexp, input, dim)
    refuse_overlap(out, (), (input,))
    return into_same(out, compute_for_out(out, Logcumsumexp, (input,), dim))


@function_and_method
def cummax(input: Tensor, dim: int, *, out: Any = None) -> Any:
    """(largest element up to each along a dim, where the last such stands); NaN counts as largest.

    https://pytorch.org/docs/stable/generated/torch.cummax.html

    >>> import tiny_torch as torch
    >>> torch.cummax(torch.tensor([1, 3, 2, 3]), 0)
    torch.return_types.cummax(
    values=tensor([1, 3, 3, 3]),
    indices=tensor([0, 1, 1, 3]))
    """
    return select_pair("cummax", Cummax, out, input, checked_dim("cummax", input, dim), True)


@function_and_method
def cummin(input: Tensor, dim: int, *, out: Any = None) -> Any:
    """(smallest element up to each along a dim, where the last such stands); NaN is smallest, too.

    https://pytorch.org/docs/stable/generated/torch.cummin.html
    """
    return select_pair("cummin", Cummin, out, input, checked_dim("cummin", input, dim), True)
