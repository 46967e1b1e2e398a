"""Sorting, and elements by their rank. NaN is the largest; of equal elements the first comes first.

Results along a dim have names: values, and indices (int64), which say where the values stand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.op_mode import as_one
from tiny_torch.base.arguments import as_int, check_bool
from tiny_torch.base.docstrings import give_name
from tiny_torch.functions.common import (
    check_given,
    check_kind,
    compute_for_out,
    into,
    into_same,
    standalone,
)
from tiny_torch.functions.index.selection import checked_dim, select_pair
from tiny_torch.functions.public import function_and_method
from tiny_torch.ops.index.sort import Argsort, Kthvalue, Median, MedianOfAll, Mode, Sort, Topk
from tiny_torch.tensor import Tensor


@function_and_method
def sort(
    input: Tensor,
    dim: int = -1,
    descending: bool = False,
    *,
    stable: bool | None = False,
    out: Any = None,
) -> Any:
    """(values, indices) in ascending order along a dim. Equal elements always keep their order.

    https://pytorch.org/docs/stable/generated/torch.sort.html

    >>> import tiny_torch as torch
    >>> torch.sort(torch.tensor([[3, 1, 2]]), descending=True)
    torch.return_types.sort(
    values=tensor([[3, 2, 1]]),
    indices=tensor([[0, 2, 1]]))
    """
    dim = checked_dim("sort", input, dim)
    check_bool("sort", "descending", 3, descending)
    return select_pair("sort", Sort, out, input, dim, True, descending)


@function_and_method
def argsort(
    input: Tensor,
    dim: int = -1,
    descending: bool = False,
    *,
    stable: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The indices that sort along a dim. https://pytorch.org/docs/stable/generated/torch.argsort.html"""
    dim = checked_dim("argsort", input, dim)
    check_bool("argsort", "descending", 3, descending)
    if out is None:
        return apply(Argsort, input, dim, descending)
    return into_same(out, compute_for_out(out, Argsort, (input,), dim, descending))


@function_and_method
def msort(input: Tensor, *, out: Any = None) -> Tensor:
    """The values of sort along the first dim. https://pytorch.org/docs/stable/generated/torch.msort.html"""
    return into(out, sort(input, 0)[0])


@function_and_method
def topk(
    input: Tensor,
    k: int,
    dim: int = -1,
    largest: bool = True,
    sorted: bool = True,
    *,
    out: Any = None,
) -> Any:
    """(values, indices) of the k largest (or smallest) along a dim, always in order.

    Raises RuntimeError where k is above the dim's size, and for bool.
    https://pytorch.org/docs/stable/generated/torch.topk.html

    >>> import tiny_torch as torch
    >>> torch.topk(torch.tensor([3, 1, 4, 1, 5]), 2).values
    tensor([5, 4])
    """
    dim = checked_dim("topk", input, dim, 3)
    if type(largest) is not bool or type(sorted) is not bool:
        check_bool("topk", "largest", 4, largest)
        check_bool("topk", "sorted", 5, sorted)
    k = as_int("topk", "k", 2, k)
    return select_pair("topk", Topk, out, input, dim, True, k, largest)


@function_and_method
def kthvalue(
    input: Tensor, k: int, dim: int = -1, keepdim: bool = False, *, out: Any = None
) -> Any:
    """(values, indices) of the k-th smallest along a dim, counted from 1.

    Raises RuntimeError where k is 0 or above the dim's size, IndexError where that is 0.
    https://pytorch.org/docs/stable/generated/torch.kthvalue.html

    >>> import tiny_torch as torch
    >>> torch.kthvalue(torch.tensor([3, 1, 4, 1, 5]), 3).values
    tensor(3)
    """
    dim = checked_dim("kthvalue", input, dim, 3)
    k = as_int("kthvalue", "k", 2, k)
    return select_pair("kthvalue", Kthvalue, out, input, dim, keepdim, k)


def median_of(name: str, input: Any, dim: Any, keepdim: Any, out: Any, ignore_nan: bool) -> Any:
    if dim is None:
        check_given(name, "dim", not keepdim and out is None)
        return apply(MedianOfAll, input, ignore_nan)
    dim = checked_dim(name, input, dim)
    return select_pair(name, Median, out, input, dim, keepdim, ignore_nan)


@function_and_method
def median(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """The middle element, the lower of two; along `dim` with its position. NaN if there is one.

    Raises IndexError where the dim's size is 0, NotImplementedError for bool.
    https://pytorch.org/docs/stable/generated/torch.median.html

    >>> import tiny_torch as torch
    >>> torch.median(torch.tensor([3.0, 1.0, 4.0, 2.0]))
    tensor(2.)
    """
    return median_of("median", input, dim, keepdim, out, False)


@function_and_method
def nanmedian(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """The median of what is not NaN; NaN where nothing is.

    https://pytorch.org/docs/stable/generated/torch.nanmedian.html
    """
    return median_of("nanmedian", input, dim, keepdim, out, True)


@function_and_method
def mode(input: Tensor, dim: int = -1, keepdim: bool = False, *, out: Any = None) -> Any:
    """(the most frequent element along a dim, the smallest of several, where its last stands).

    Raises IndexError where the dim's size is 0.
    https://pytorch.org/docs/stable/generated/torch.mode.html

    >>> import tiny_torch as torch
    >>> torch.mode(torch.tensor([3, 1, 3, 1, 2]))
    torch.return_types.mode(
    values=tensor(1),
    indices=tensor(3))
    """
    dim = checked_dim("mode", input, dim)
    return select_pair("mode", Mode, out, input, dim, keepdim)


# -------------------------------------------------------------------------------------- quantiles

INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def check_quantile(name: str, input: Any, q: Any, interpolation: str, out: Any) -> Tensor:
    dtype = input.array.dtype
    if input.array.size == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if dtype is not _core.float32 and dtype is not _core.float64:
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if interpolation not in INTERPOLATIONS:
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, "
            f"but got {interpolation}"
        )
    if isinstance(out, Tensor) and out.array.dtype is not dtype:
        raise RuntimeError(f"{name}() out tensor must be same dtype as the input tensor")
    if not isinstance(q, Tensor):
        check_kind(name, "q", None, q, "Tensor or float", int | float)
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q}")
        return input.new_full((), q)
    if q.array.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if q.array.dtype is not dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    if not q.is_meta and not bool(((q >= 0) & (q <= 1)).all()):
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    return q


def quantiles(
    name: str, input: Any, q: Any, dim: Any, keepdim: bool, interpolation: str, out: Any
) -> Tensor:
    q = check_quantile(name, input, q, interpolation, out)
    shape: tuple = (1,) * input.array.ndim if keepdim else ()
    if dim is None:
        rows = input.reshape(-1)
    else:
        dim = checked_dim(name, input, dim, 3)
        rows = input.reshape(1) if not input.array.ndim else input.movedim(dim, -1)
        kept = list(input.array.shape)
        if kept:
            kept[dim : dim + 1] = [1] if keepdim else []
        shape = tuple(kept)
    rows = sort(rows)[0].reshape(*shape, -1)  # (*shape, n)
    ranks = ranks_of(rows, q.reshape(-1), name == "nanquantile")  # (*shape, quantiles)
    rounding = {"lower": "floor", "higher": "ceil", "nearest": "round"}.get(interpolation)
    if rounding:
        ranks = getattr(ranks, rounding)()
    below = ranks.to(_core.int64)
    values = rows.gather(-1, below)
    if interpolation in ("linear", "midpoint"):
        above = rows.gather(-1, ranks.ceil().to(_core.int64))
        values = values.lerp(above, 0.5 if interpolation == "midpoint" else ranks - below)
    values = values.movedim(-1, 0)
    return into(out, standalone(values if q.array.ndim else values[0]))


def ranks_of(rows: Tensor, q: Tensor, ignore_nan: bool) -> Tensor:
    """Where quantiles stand in sorted rows: fractions of the last position."""
    numbers = (rows == rows).sum(-1, True)
    if ignore_nan:
        return (q * (numbers - 1)).clamp(min=0)
    n = rows.array.shape[-1]
    return (q * (n - 1)).where(numbers == n, float(n - 1))  # the last position is a NaN's


def quantile_by(name: str, doc: str) -> Callable[..., Tensor]:
    """torch.quantile and nanquantile."""

    @function_and_method
    @as_one
    @give_name(name, doc)
    def find(
        input: Tensor,
        q: Any,
        dim: int | None = None,
        keepdim: bool = False,
        *,
        interpolation: str = "linear",
        out: Any = None,
    ) -> Tensor:
        return quantiles(name, input, q, dim, keepdim, interpolation, out)

    return find


quantile = quantile_by(
    "quantile",
    """Values below which a fraction q (a number, or a 1-d tensor) of the elements lies.

    The quantiles are the first dim of the result; `interpolation` says what lies between two
    elements. Raises RuntimeError where q is outside [0, 1], for no elements, and unless the input
    is float32 or float64. https://pytorch.org/docs/stable/generated/torch.quantile.html

    >>> import tiny_torch as torch
    >>> torch.quantile(torch.tensor([0.0, 1.0, 2.0, 3.0]), torch.tensor([0.25, 0.5]))
    tensor([0.7500, 1.5000])
    """,
)
nanquantile = quantile_by(
    "nanquantile",
    """quantile of what is not NaN; NaN where nothing is.

    https://pytorch.org/docs/stable/generated/torch.nanquantile.html
    """,
)
