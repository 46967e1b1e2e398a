"""Joining tensors: cat, stack and their family; and broadcasting them to one shape."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply_many, apply_view
from tiny_torch.base.arguments import as_ints, check_bool
from tiny_torch.base.devices import array_module
from tiny_torch.functions.common import (
    as_tensors,
    check_tensor,
    compute_for_out,
    into,
    listed_tensors,
)
from tiny_torch.functions.public import function, function_and_method, method
from tiny_torch.functions.shape.views import one_or_many
from tiny_torch.ops.common import refuse_overlap
from tiny_torch.ops.shape.join import Cat, Stack, broadcast_shapes
from tiny_torch.ops.shape.views import Expand
from tiny_torch.tensor import Tensor, wrap

# untracked_arrays(tensors): those of a list or tuple of tensors of which none requires grad; else
# None.
untracked_arrays = _core.untracked_arrays


@function("concatenate")
@function("concat")
@function
def cat(tensors: Any, dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors joined along a dim; their dtypes promote. A 1-d empty tensor joins anything.

    Raises ValueError without tensors, RuntimeError where shapes do not fit.
    https://pytorch.org/docs/stable/generated/torch.cat.html

    >>> import tiny_torch as torch
    >>> torch.cat((torch.zeros(2), torch.ones(1)))
    tensor([0., 0., 1.])
    """
    arrays = untracked_arrays(tensors)
    if not arrays:
        if not as_tensors("cat", "tensors", tensors):
            raise ValueError("torch.cat(): expected a non-empty list of Tensors")
        if out is None:
            return apply_many(Cat, tensors, dim)
    elif out is None:
        return wrap(array_module(arrays[0].device).cat(arrays, dim))
    refuse_overlap(out, tuple(tensors))
    return into_promoted("cat", out, compute_for_out(out, Cat, tensors, dim))


def into_promoted(name: str, out: Tensor, result: Tensor) -> Tensor:
    """Into an `out` of any dtype that can hold the result's."""
    if result is out:
        return out
    if isinstance(out, Tensor) and not _core.can_cast(result.array.dtype, out.array.dtype):
        raise TypeError(
            f"torch.{name}(): input types can't be cast to the desired output type {out.dtype}"
        )
    return into(out, result)


@function
def stack(tensors: Any, dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors of one shape joined along a new dim.

    Raises RuntimeError without tensors, or where shapes differ.
    https://pytorch.org/docs/stable/generated/torch.stack.html

    >>> import tiny_torch as torch
    >>> torch.stack((torch.zeros(2), torch.ones(2)))
    tensor([[0., 0.],
            [1., 1.]])
    """
    arrays = untracked_arrays(tensors)
    if not arrays:
        listed_tensors("stack", tensors)
        if out is None:
            return apply_many(Stack, tensors, dim)
    elif out is None:
        return wrap(array_module(arrays[0].device).stack(arrays, dim))
    refuse_overlap(out, tuple(tensors))
    return into_promoted("stack", out, compute_for_out(out, Stack, tensors, dim))


def atleast(least: int) -> Callable[..., Any]:
    def function(*tensors: Any) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
            tensors = tuple(tensors[0])
        for position, tensor in enumerate(tensors):
            check_tensor(f"atleast_{least}d", "input", position + 1, tensor)
        results = tuple([with_dims(tensor, least) for tensor in tensors])
        return results[0] if len(results) == 1 else results

    function.__name__ = function.__qualname__ = f"atleast_{least}d"
    function.__doc__ = (
        f"Tensors with dims of size 1 added, up to {least} dims. "
        f"https://pytorch.org/docs/stable/generated/torch.atleast_{least}d.html"
    )
    return function


def with_dims(tensor: Tensor, least: int) -> Tensor:
    """NumPy's rule: (n) becomes (1, n), then (1, n, 1); (n, m) becomes (n, m, 1)."""
    ndim = tensor.array.ndim
    if ndim >= least:
        return tensor
    if ndim == 0:
        return tensor.reshape((1,) * least)
    if ndim == 1:
        tensor = tensor.unsqueeze(0)
    return tensor.unsqueeze(-1) if least == 3 else tensor


for _dims in (1, 2, 3):
    function(atleast(_dims))


@function
def hstack(tensors: Any, *, out: Tensor | None = None) -> Tensor:
    """Tensors joined along dim 1, or along dim 0 where they have one dim.

    https://pytorch.org/docs/stable/generated/torch.hstack.html

    >>> import tiny_torch as torch
    >>> torch.hstack((torch.tensor([[1], [2]]), torch.tensor([[3], [4]])))
    tensor([[1, 3],
            [2, 4]])
    """
    tensors = stackable("hstack", tensors, 1)
    return cat(tensors, 0 if tensors[0].array.ndim == 1 else 1, out=out)


@function("row_stack")
@function
def vstack(tensors: Any, *, out: Tensor | None = None) -> Tensor:
    """Tensors joined along dim 0, vectors as rows.

    https://pytorch.org/docs/stable/generated/torch.vstack.html

    >>> import tiny_torch as torch
    >>> torch.vstack((torch.tensor([1, 2]), torch.tensor([3, 4])))
    tensor([[1, 2],
            [3, 4]])
    """
    return cat(stackable("vstack", tensors, 2), 0, out=out)


@function
def dstack(tensors: Any, *, out: Tensor | None = None) -> Tensor:
    """Tensors joined along dim 2. https://pytorch.org/docs/stable/generated/torch.dstack.html"""
    return cat(stackable("dstack", tensors, 3), 2, out=out)


@function
def column_stack(tensors: Any, *, out: Tensor | None = None) -> Tensor:
    """Tensors joined along dim 1, vectors as columns.

    https://pytorch.org/docs/stable/generated/torch.column_stack.html
    """
    columns = [
        t.reshape(t.array.size, 1) if t.array.ndim < 2 else t
        for t in listed_tensors("column_stack", tensors)
    ]
    return cat(columns, 1, out=out)


def stackable(function: str, tensors: Any, least: int) -> list[Tensor]:
    return [with_dims(tensor, least) for tensor in listed_tensors(function, tensors)]


# ------------------------------------------------------------------------------------ broadcasting


@method
def expand(self: Tensor, *sizes: Any, size: Any = None, implicit: bool = False) -> Tensor:
    """A view with sizes of 1 repeated, and dims added in front; -1 keeps a size.

    Raises RuntimeError where another size would change.
    https://pytorch.org/docs/stable/generated/torch.Tensor.expand.html

    >>> import tiny_torch as torch
    >>> torch.tensor([[1], [2]]).expand(-1, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    if implicit is not False:
        check_bool("expand", "implicit", None, implicit)
    return apply_view(Expand, self, one_or_many("expand", "size", sizes, size))


@method
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """self.expand(other.shape)"""
    return apply_view(Expand, self, other.array.shape)


@function_and_method
def broadcast_to(input: Tensor, size: Any) -> Tensor:
    """The input expanded to a shape. https://pytorch.org/docs/stable/generated/torch.broadcast_to.html

    >>> import tiny_torch as torch
    >>> torch.broadcast_to(torch.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return apply_view(Expand, input, as_ints("broadcast_to", "size", None, size))


@function
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Views of tensors, expanded to one shape.

    https://pytorch.org/docs/stable/generated/torch.broadcast_tensors.html

    >>> import tiny_torch as torch
    >>> a, b = torch.broadcast_tensors(torch.zeros(2, 1), torch.zeros(3))
    >>> a.shape, b.shape
    (torch.Size([2, 3]), torch.Size([2, 3]))
    """
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    as_tensors("broadcast_tensors", "tensors", tensors)
    shape = tuple(broadcast_shapes(*[tensor.array.shape for tensor in tensors]))
    return tuple([t if t.array.shape == shape else t.expand(shape) for t in tensors])


@function
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Views of vectors, expanded to the grid of all their combinations.

    "ij" is the default, with a warning; "xy" has the first two dims the other way round. Raises
    RuntimeError for tensors of more dims, and for several dtypes.
    https://pytorch.org/docs/stable/generated/torch.meshgrid.html

    >>> import tiny_torch as torch
    >>> torch.meshgrid(torch.tensor([1, 2]), torch.tensor([3, 4]), indexing="ij")[0]
    tensor([[1, 1],
            [2, 2]])
    """
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    if any(x.dtype is not tensors[0].dtype for x in listed_tensors("meshgrid", tensors)):
        raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    if indexing is None:
        warnings.warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing "
            "argument.",
            stacklevel=2,
        )
        indexing = "ij"
    if indexing not in ("ij", "xy"):
        raise RuntimeError(
            f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}'
        )
    for tensor in tensors:
        if tensor.array.ndim > 1:
            raise RuntimeError(
                "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got shape "
                f"{list(tensor.array.shape)}"
            )
    swaps = indexing == "xy" and len(tensors) >= 2
    if swaps:
        tensors = (tensors[1], tensors[0], *tensors[2:])
    shape = tuple([tensor.array.size for tensor in tensors])
    grids = []
    for i, tensor in enumerate(tensors):
        alone = [1] * len(tensors)
        alone[i] = -1
        grids.append(tensor.view(alone).expand(shape))
    if swaps:
        grids[:2] = grids[1], grids[0]
    return tuple(grids)


function(broadcast_shapes)
