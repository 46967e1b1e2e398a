"""Scans: at every position along a dim, what a reduction of all up to there would answer.

Their gradients are scans from the other end; those of products and logarithms take a factor per
step (LinearScan), which is its own transpose but for the direction. Results are contiguous.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tiny_torch.autograd.apply import apply, apply_inplace
from tiny_torch.autograd.graph import Op, edge_of, run
from tiny_torch.modes import NO_GRAD, modes
from tiny_torch.ops.public import into, into_same, offered, refuse_overlap, written
from tiny_torch.ops.selection import Select, checked_dim, selected
from tiny_torch.tensor import Tensor

# ------------------------------------------------------------------------------------------- ops


class Cumsum(Op):
    @staticmethod
    def forward(x, dim, dtype=None, reverse=False, out=None):
        return written(x.cumsum(dim, dtype, reverse, out), out), (dim, reverse)

    @staticmethod
    def backward(saved, grad, needs):
        dim, reverse = saved
        return run(Cumsum, grad, dim, None, not reverse)


class Cumprod(Op):
    """d y[i] / d x[k] is y[k-1] x[k+1] ... x[i]: no division, so zeros are as good as others."""

    saves = (0, ~0)

    @staticmethod
    def forward(x, dim, dtype=None, out=None):
        y = written(x.cumprod(dim, dtype, out), out)
        return y, (x, y, dim)

    @staticmethod
    def backward(saved, grad, needs):
        x, y, dim = saved
        return run(Shift, y, dim, 1, 1) * run(LinearScan, grad, x, dim, True)


class Logcumsumexp(Op):
    """d y[i] / d x[k] is exp(x[k] - y[i]), in steps of exp(y[i-1] - y[i]), none above 1."""

    saves = (0, ~0)

    @staticmethod
    def forward(x, dim, out=None):
        y = x.logcumsumexp(dim, out)
        return y, (x, y, dim)

    @staticmethod
    def backward(saved, grad, needs):
        x, y, dim = saved
        steps = (run(Shift, y, dim, 1, -math.inf) - y).exp()
        return (x - y).exp() * run(LinearScan, grad, steps, dim, True)


class LinearScan(Op):
    """y[k] = x[k] + a[k] y[k-1]; in reverse y[k] = x[k] + a[k+1] y[k+1], which is its transpose."""

    arity = 2
    saves = (1, ~0)
    used_by = ((0, 1), (1,))

    @staticmethod
    def forward(x, a, dim, reverse):
        y = x.linear_scan(a, dim, reverse)
        return y, (a, y, dim, reverse)

    @staticmethod
    def backward(saved, grad, needs):
        a, y, dim, reverse = saved
        grad_x = run(LinearScan, grad, a, dim, not reverse)
        if not needs[1]:
            return grad_x, None
        late, early = (y, grad_x) if reverse else (grad_x, y)
        return grad_x, late * run(Shift, early, dim, 1, 0)


class Shift(Op):
    """x one position further along a dim (back for -1), and `fill` where it has left."""

    @staticmethod
    def forward(x, dim, by, fill):
        result = x.new_full(x.shape, fill)
        n = x.shape[dim] if x.ndim else 1
        if n > 1:
            front, back = (dim, 0, n - 1, 1), (dim, 1, n, 1)
            to, source = (back, front) if by > 0 else (front, back)
            result.slice(*to).copy_(x.slice(*source))
        return result, (dim, by)

    @staticmethod
    def backward(saved, grad, needs):
        dim, by = saved
        return run(Shift, grad, dim, -by, 0)


class Cummax(Select):
    method = "cummax"


class Cummin(Select):
    method = "cummin"


# ------------------------------------------------------------------------------ public functions


def accumulate(op: type[Op], name: str, input: Any, dim: Any, dtype: Any, out: Any) -> Tensor:
    dim = checked_dim(name, input, dim)
    if isinstance(out, Tensor):
        if dtype is not None and dtype is not out.array.dtype:
            raise RuntimeError(
                f"Expected out tensor to have dtype {dtype}, but got {out.array.dtype} instead"
            )
        dtype = out.array.dtype
    differentiable = edge_of(input) is not None and not modes.bits & NO_GRAD
    if differentiable and dtype is not None and dtype is not input.array.dtype:
        input = input.to(dtype)  # so that its gradient comes back in its own dtype
    if out is not None:
        refuse_overlap(out, (), (input,))
        return into(out, offered(out, op, (input,), dim, dtype))
    result = apply(op, input, dim, dtype)
    if differentiable and not result.array.dtype.is_floating_point:
        raise RuntimeError(f"{name}(): there is no gradient through dtype {result.array.dtype}")
    return result


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


def cumsum_(self: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """cumsum in place, in the tensor's own dtype; RuntimeError where `dtype` is another."""
    return accumulate_inplace(Cumsum, "cumsum_", self, dim, dtype)


def cumprod_(self: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """cumprod in place, in the tensor's own dtype; RuntimeError where `dtype` is another."""
    return accumulate_inplace(Cumprod, "cumprod_", self, dim, dtype)


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
    return into_same(out, offered(out, Logcumsumexp, (input,), dim))


def cummax(input: Tensor, dim: int, *, out: Any = None) -> Any:
    """(largest element up to each along a dim, where the last such stands); NaN counts as largest.

    https://pytorch.org/docs/stable/generated/torch.cummax.html

    >>> import tiny_torch as torch
    >>> torch.cummax(torch.tensor([1, 3, 2, 3]), 0)
    torch.return_types.cummax(
    values=tensor([1, 3, 3, 3]),
    indices=tensor([0, 1, 1, 3]))
    """
    return selected("cummax", Cummax, out, input, checked_dim("cummax", input, dim), True)


def cummin(input: Tensor, dim: int, *, out: Any = None) -> Any:
    """(smallest element up to each along a dim, where the last such stands); NaN is smallest, too.

    https://pytorch.org/docs/stable/generated/torch.cummin.html
    """
    return selected("cummin", Cummin, out, input, checked_dim("cummin", input, dim), True)


SHARED: dict[str, Callable] = {
    function.__name__: function for function in (cumsum, cumprod, logcumsumexp, cummax, cummin)
}
FUNCTIONS = SHARED
METHODS: dict[str, Callable] = {**SHARED, "cumsum_": cumsum_, "cumprod_": cumprod_}
