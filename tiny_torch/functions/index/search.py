"""Finding values among sorted boundaries, or among others: searchsorted, bucketize, isin.

The results are integers or bools: there is no gradient.
"""

from __future__ import annotations

from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.op_mode import as_one
from tiny_torch.functions.common import check_kind, into, into_same, place_of
from tiny_torch.functions.public import function
from tiny_torch.ops.elementwise.arithmetic import result_type
from tiny_torch.tensor import Tensor, wrap


def common(*operands: Any) -> list:
    """Tensors and numbers as arrays of the dtype that they promote to."""
    dtype = result_type(*sorted(operands, key=lambda x: not isinstance(x, Tensor)))
    like = next(x.array for x in operands if isinstance(x, Tensor))
    arrays = [x.array if isinstance(x, Tensor) else like.new_full((), x, dtype) for x in operands]
    return [array if array.dtype is dtype else array.astype(dtype) for array in arrays]


OPERAND = Tensor | int | float


def check_out(name: str, out: Any, out_int32: bool) -> None:
    wanted = _core.int32 if out_int32 else _core.int64
    if isinstance(out, Tensor) and out.array.dtype is not wanted:
        raise RuntimeError(f"torch.{name}(): output tensor's dtype is {out.dtype}, not {wanted}")


@function
@as_one
def searchsorted(
    sorted_sequence: Tensor,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
    out: Any = None,
) -> Tensor:
    """Where values would stand among ascending boundaries: before equal ones, or after (`right`).

    The boundaries are 1-d, or have the leading dims of `input`, each line ascending (in the order
    of `sorter`). int64, or int32. Raises RuntimeError where shapes do not fit.
    https://pytorch.org/docs/stable/generated/torch.searchsorted.html

    >>> import tiny_torch as torch
    >>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 4]))
    tensor([1, 2])
    """
    check_kind("searchsorted", "input", None, input, "Tensor or Number", OPERAND)
    if side not in (None, "left", "right"):
        raise RuntimeError(
            f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}"
        )
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left "
            "while right was True"
        )
    check_out("searchsorted", out, out_int32)
    ours = sorted_sequence.array.shape
    theirs = input.array.shape if isinstance(input, Tensor) else ()
    if not ours:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 "
            "dimension"
        )
    if len(ours) > 1 and (len(ours) != len(theirs) or ours[:-1] != theirs[:-1]):
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
            "dimensions of boundaries tensor and input value tensor must match, but we got "
            f"boundaries tensor {list(ours)} and input value tensor {list(theirs)}"
        )
    boundaries, values = common(sorted_sequence, input)
    order = None if sorter is None else sorter.array
    place = place_of("searchsorted", out)
    right = right or side == "right"
    return into(out, wrap(boundaries.searchsorted(values, right, out_int32, order, place)))


@function
@as_one
def bucketize(
    input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False, out: Any = None
) -> Tensor:
    """The number of the bucket between 1-d boundaries in which each value lies.

    https://pytorch.org/docs/stable/generated/torch.bucketize.html

    >>> import tiny_torch as torch
    >>> torch.bucketize(torch.tensor([0.5, 1.0, 7.0]), torch.tensor([1.0, 5.0]))
    tensor([0, 0, 2])
    """
    check_kind("bucketize", "input", None, input, "Tensor or Number", OPERAND)
    if boundaries.array.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right, out=out)


@function
@as_one
def isin(
    elements: Any = None,
    test_elements: Any = None,
    *,
    assume_unique: bool = False,
    invert: bool = False,
    element: Any = None,
    test_element: Any = None,
    out: Any = None,
) -> Tensor:
    """Whether each element equals one of the test elements (not, if `invert`). One may be a number.

    The number is called element or test_element. Raises RuntimeError for bools.
    https://pytorch.org/docs/stable/generated/torch.isin.html

    >>> import tiny_torch as torch
    >>> torch.isin(torch.tensor([1, 2, 3]), torch.tensor([2, 5]))
    tensor([False,  True, False])
    """
    elements = element if elements is None else elements
    test_elements = test_element if test_elements is None else test_elements
    check_kind("isin", "elements", None, elements, "Tensor or Number", OPERAND)
    check_kind("isin", "test_elements", None, test_elements, "Tensor or Number", OPERAND)
    if not isinstance(elements, Tensor) and not isinstance(test_elements, Tensor):
        raise TypeError("isin(): one of elements and test_elements must be Tensor")
    for operand in (elements, test_elements):
        is_tensor = isinstance(operand, Tensor)
        if operand.array.dtype is _core.bool if is_tensor else isinstance(operand, bool):
            raise RuntimeError("Unsupported input type encountered for isin(): Bool")
    x, others = common(elements, test_elements)
    return into_same(out, wrap(x.isin(others, invert, place_of("isin", out))))
