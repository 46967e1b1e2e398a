"""The different elements of a tensor, or slices along a dim: unique and unique_consecutive.

NaN equals nothing: each is an element of its own. There is no gradient.
"""

from __future__ import annotations

from typing import Any

from tiny_torch.autograd.apply import apply
from tiny_torch.base.arguments import as_int, check_bool
from tiny_torch.functions.common import check_dim_exists, check_tensor
from tiny_torch.functions.public import function_and_method
from tiny_torch.ops.index.unique import Unique2, UniqueConsecutive, UniqueDim, UniqueDimConsecutive
from tiny_torch.ops.shape.views import wrap_dim
from tiny_torch.tensor import Tensor


def results(name: str, input: Any, consecutive: bool, inverse: bool, counts: bool, dim: Any) -> Any:
    check_tensor(name, "input", 1, input)
    check_bool(name, "return_inverse", 3, inverse)
    check_bool(name, "return_counts", 4, counts)
    if dim is None:
        op = UniqueConsecutive if consecutive else Unique2
        found = apply(op, input, consecutive, inverse, counts)
    else:
        dim = check_slices(input, as_int("unique_dim", "dim", 2, dim))
        op = UniqueDimConsecutive if consecutive else UniqueDim
        found = apply(op, input, consecutive, inverse, counts, dim)
    wanted = [
        found[0],
        *[part for part, want in zip(found[1:], (inverse, counts), strict=True) if want],
    ]
    return tuple(wanted) if len(wanted) > 1 else wanted[0]


def check_slices(input: Tensor, dim: int) -> int:
    """The dim; IndexError where there is none, RuntimeError where slices have no elements."""
    shape = input.array.shape
    check_dim_exists(input, dim)
    dim = wrap_dim(dim, len(shape))
    if shape.count(0) > 1:
        raise RuntimeError(
            "Number of zero sized dimensions is more than one, so unique cannot be applied"
        )
    if 0 in shape and shape[dim] != 0:
        raise RuntimeError(
            "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"
        )
    return dim


@function_and_method
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The different elements in ascending order (always), or the different slices along `dim`.

    With `return_inverse` also which of them each element is, with `return_counts` how often each
    occurs: then a tuple. https://pytorch.org/docs/stable/generated/torch.unique.html

    >>> import tiny_torch as torch
    >>> torch.unique(torch.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    check_bool("_unique2", "sorted", 2, sorted)
    return results("_unique2", input, False, return_inverse, return_counts, dim)


@function_and_method
def unique_consecutive(
    input: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The elements (slices along `dim`) without those that equal the one before.

    https://pytorch.org/docs/stable/generated/torch.unique_consecutive.html

    >>> import tiny_torch as torch
    >>> torch.unique_consecutive(torch.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    return results("unique_consecutive", input, True, return_inverse, return_counts, dim)
