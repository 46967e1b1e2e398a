"""Functions of masks: masked_fill, masked_select, masked_scatter, where, nonzero."""

from __future__ import annotations

from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply, apply_inplace
from tiny_torch.autograd.op_mode import as_one
from tiny_torch.base.arguments import check_bool
from tiny_torch.base.devices import array_module
from tiny_torch.base.dtypes import HALVES, check_range, cpp_name
from tiny_torch.functions.common import check_tensor, compute_for_out, into_same
from tiny_torch.functions.index.values import single_value, warn_expanded
from tiny_torch.functions.public import function, function_and_method, method
from tiny_torch.ops.common import refuse_overlap
from tiny_torch.ops.elementwise.arithmetic import Where
from tiny_torch.ops.index.masks import MaskedFill, MaskedScatter, MaskedSelect, Nonzero
from tiny_torch.ops.shape.join import broadcast_shapes
from tiny_torch.tensor import Tensor

OPERANDS = (Tensor, bool, int, float)


def not_boolean(name: str, dtype: Any) -> RuntimeError:
    return RuntimeError(
        f"{name}_ only supports boolean masks, but got mask with dtype {cpp_name(dtype)}"
    )


def mask_arguments(name: str, x: Tensor, mask: Any, value: Any) -> tuple:
    if mask.array.dtype is not _core.bool:
        raise not_boolean(name, mask.array.dtype)
    return mask, single_value(name + "_", value, x)


@function_and_method
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """A copy with one value (a number, or a 0-d tensor) where the mask holds; they broadcast.

    Raises RuntimeError where the mask is not bool, or the value does not fit the dtype.
    https://pytorch.org/docs/stable/generated/torch.Tensor.masked_fill_.html

    >>> import tiny_torch as torch
    >>> torch.masked_fill(torch.zeros(2), torch.tensor([True, False]), 5)
    tensor([5., 0.])
    """
    mask, value = mask_arguments("masked_fill", input, mask, value)
    return apply(MaskedFill, input, mask, value)


@method
def masked_fill_(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """masked_fill in place; the mask broadcasts to the tensor."""
    mask, value = mask_arguments("masked_fill", self, mask, value)
    warn_expanded("masked_fill_", self.array)
    return apply_inplace(MaskedFill, self, mask, value)


@function_and_method
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy with the first elements of source, in order, where a bool mask holds; they broadcast.

    Raises RuntimeError where source has too few, or another dtype.
    https://pytorch.org/docs/stable/generated/torch.Tensor.masked_scatter_.html

    >>> import tiny_torch as torch
    >>> torch.masked_scatter(torch.zeros(3), torch.tensor([True, False, True]), torch.ones(2))
    tensor([1., 0., 1.])
    """
    return apply(MaskedScatter, input, mask, source)


@method
def masked_scatter_(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """masked_scatter in place; the mask broadcasts to the tensor."""
    return apply_inplace(MaskedScatter, self, mask, source)


@function_and_method
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements where a bool mask holds, as a vector; input and mask broadcast.

    https://pytorch.org/docs/stable/generated/torch.masked_select.html

    >>> import tiny_torch as torch
    >>> torch.masked_select(torch.tensor([1, 2]), torch.tensor([False, True]))
    tensor([2])
    """
    if mask.array.dtype is not _core.bool:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    if not input.array.same_shape(mask.array):
        shape = tuple(broadcast_shapes(input.array.shape, mask.array.shape))
        input, mask = input.expand(shape), mask.expand(shape)
    refuse_overlap(out, (input, mask))
    return into_same(out, apply(MaskedSelect, input, mask), "masked_select")


@function
def where(
    condition: Tensor, input: Any = None, other: Any = None, *, out: Tensor | None = None
) -> Any:
    """`input` where the condition (bool) holds, else `other`: tensors that broadcast, or numbers.

    With the condition only, the positions where it holds: one index tensor per dim.
    https://pytorch.org/docs/stable/generated/torch.where.html

    >>> import tiny_torch as torch
    >>> torch.where(torch.tensor([True, False]), torch.tensor([1.0, 2.0]), 0.0)
    tensor([1., 0.])
    """
    if input is None and other is None and out is None:
        return nonzero(condition, as_tuple=True)
    allowed = OPERANDS if out is None else Tensor
    if (
        not isinstance(condition, Tensor)
        or not isinstance(input, allowed)
        or not isinstance(other, allowed)
    ):
        kinds = ", ".join([_core.type_name(value) for value in (condition, input, other)])
        raise TypeError(f"where() received an invalid combination of arguments - got ({kinds})")
    if condition.array.dtype is _core.uint8:
        condition = condition.bool()
    if not isinstance(input, Tensor):
        check_beside(input, other)
    elif not isinstance(other, Tensor):
        check_beside(other, input)
    if out is None:
        return apply(Where, condition, input, other)
    refuse_overlap(out, (), (condition, input, other))
    return into_same(out, compute_for_out(out, Where, (condition, input, other)), "where")


def check_beside(value: Any, beside: Any) -> None:
    """RuntimeError where a number does not fit the dtype that it has beside a tensor."""
    if isinstance(beside, Tensor):
        dtype = array_module(beside.array.device).result_type(value, beside.array)
        if dtype not in HALVES:  # there it becomes infinity
            check_range(value, dtype)


@method("where")
def where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """self where the condition holds, else other."""
    return where(condition, self, other)


@function_and_method
def nonzero(input: Tensor, *, as_tuple: bool = False, out: Tensor | None = None) -> Any:
    """The positions of all elements that are not 0: (count, ndim), or one vector per dim.

    https://pytorch.org/docs/stable/generated/torch.nonzero.html

    >>> import tiny_torch as torch
    >>> torch.nonzero(torch.tensor([[0, 1], [1, 0]]))
    tensor([[0, 1],
            [1, 0]])
    """
    check_bool("nonzero", "as_tuple", None, as_tuple)
    if not as_tuple:
        if out is None:
            return apply(Nonzero, input)
        refuse_overlap(out, (input,))
        return into_same(out, apply(Nonzero, input), "nonzero")
    if out is not None:
        check_tensor("nonzero", "out", 2, out)
        raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
    return nonzero(input if input.array.ndim else input.reshape(1)).unbind(1)


@function_and_method
@as_one
def argwhere(input: Tensor) -> Tensor:
    """nonzero. https://pytorch.org/docs/stable/generated/torch.argwhere.html"""
    return apply(Nonzero, input)
