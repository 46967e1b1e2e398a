"""Indexing with brackets: x[...] and x[...] = value.

Ints, slices, None and Ellipsis make one view, by a chain of NDArray's own methods. Integer tensors,
masks and lists then pick from that view: a copy. Unlike NumPy an int never counts as an index
tensor, so x[0, :, [1, 2]] has the shape of x[0][:, [1, 2]].
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tiny_torch import _core
from tiny_torch.autograd.apply import apply, apply_inplace, apply_view, quick
from tiny_torch.base.arguments import check_bool, wrong_kind
from tiny_torch.base.devices import array_module, to_device
from tiny_torch.base.dtypes import check_range
from tiny_torch.base.modes import NO_GRAD, WATCHED, modes
from tiny_torch.functions.creation.from_data import from_data
from tiny_torch.functions.index.masks import masked_fill_, not_boolean
from tiny_torch.functions.index.values import (
    LIMIT,
    as_values,
    assigned_number,
    checked_number,
    warn_expanded,
)
from tiny_torch.functions.public import method
from tiny_torch.ops.index.brackets import (
    Copy,
    CopyIntoView,
    Fill,
    Index,
    IndexPut,
    Zero,
    fill_where,
)
from tiny_torch.ops.shape.views import Alias, Part, Select, Slice, Steps, Unsqueeze, show
from tiny_torch.tensor import Tensor, wrap

# basic_steps(array, index): those of ints, slices, None and Ellipsis; None for any other index.
basic_steps = _core.basic_steps
VIEW_OPS = {"select": Select, "slice": Slice, "unsqueeze": Unsqueeze}


# ----------------------------------------------------------------------------- what an index means


def parse(array: Any, index: Any) -> tuple[Steps, list]:
    """(steps, indices) of an index: the steps lead to a view, then index arrays pick from that.

    Raises IndexError for what is no index or not there, ValueError for a step below 1.
    """
    given = index if type(index) is tuple else as_tuple(index)
    items: list = []
    wanted = 0  # how many of the array's dims the items speak for
    for item in given:
        if type(item) is Tensor and is_positions(item.array, array):
            item = item.array
        elif type(item) is not slice:
            item = as_item(item, array.device)
        if item is not None and item is not Ellipsis:
            wanted += dims_taken(item)
        items.append(item)
    ndim = array.ndim
    if wanted > ndim:
        raise too_many(ndim, items)
    steps: list = []
    indices: list = []  # of the view's leading dims, one entry per dim (a mask: one for its dims)
    covered = 0  # how many of the view's dims those entries take
    dim = axis = 0  # of the view so far, and of the array
    for item in items:
        if type(item) is int:
            steps.append(("select", (dim, item)))
            axis += 1
        elif type(item) is slice:
            start, stop, step = item.indices(array.shape[axis])
            if step != 1 or start != 0 or stop != array.shape[axis]:
                steps.append(("slice", (dim, start, stop, step)))
            axis += 1
            dim += 1
        elif item is Ellipsis:
            axis += ndim - wanted
            dim += ndim - wanted
        elif item is None:
            steps.append(("unsqueeze", (dim,)))
            dim += 1
        else:
            if item.ndim == 0:  # a bool: a mask over a new dim of size 1
                steps.append(("unsqueeze", (dim,)))
                item = item.view((1,))
            else:
                axis += dims_taken(item)
            taken = max(dims_taken(item), 1)
            indices += [None] * (dim - covered)
            indices.append(item)
            dim += taken
            covered = dim
    return tuple(steps), indices


def read(array: Any, index: Any) -> tuple[Steps, list]:
    """parse; at once where no index arrays are."""
    steps = basic_steps(array, index)
    return parse(array, index) if steps is None else (steps, [])


def is_positions(index: Any, array: Any) -> bool:
    """Whether it is what most index tensors are, of which there is no more to ask."""
    return index.dtype is _core.int64 and index.ndim > 0 and index.device == array.device


def too_many(ndim: int, items: list) -> IndexError:
    if ndim == 0 and len(items) == 1 and type(items[0]) is int:
        return IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` "
            "in C++ to convert a 0-dim tensor to a number"
        )
    if ndim == 0 and len(items) == 1 and type(items[0]) is slice:
        return IndexError("slice() cannot be applied to a 0-dim tensor.")
    return IndexError(f"too many indices for tensor of dimension {ndim}")


def as_tuple(index: Any) -> tuple:
    """One index as a tuple. A short list that holds anything but numbers is one, too."""
    if isinstance(index, tuple):
        return tuple(index)
    if type(index) is list and len(index) < 32:
        for item in index:
            if item is None or item is Ellipsis or isinstance(item, Tensor | slice | list | tuple):
                return tuple(index)
    return (index,)


def as_item(item: Any, device: str) -> Any:
    """An int, slice, None, Ellipsis, or an index array (a mask of no dims for a bool)."""
    if type(item) is int:
        if not -LIMIT <= item < LIMIT:
            raise ValueError("Overflow when unpacking long long")
        return item
    if item is None or item is Ellipsis or type(item) is slice:
        return item
    if isinstance(item, bool):
        return array_module(device).full((), item, _core.bool)
    if isinstance(item, Tensor):
        array = item.array
        if array.device == "cpu":  # an index may be there, as in PyTorch
            array = to_device(array, device)
    elif isinstance(item, list | tuple | range | np.ndarray):
        array = to_device(from_data(item, None), device)
        if array.dtype.is_floating_point:
            array = array.astype(_core.int64)
    elif isinstance(item, str):
        raise TypeError("new(): invalid data type 'str'")
    elif isinstance(item, np.bool_) or not hasattr(item, "__index__"):
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are "
            f"valid indices (got {type(item).__name__})"
        )
    else:
        return as_item(item.__index__(), device)
    if array.dtype.is_floating_point:
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    if array.dtype is _core.uint8:
        warnings.warn(
            "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool "
            "instead.",
            stacklevel=4,
        )
    if array.ndim == 0 and array.dtype is not _core.bool and array.dtype is not _core.uint8:
        return array.item()
    return array


def dims_taken(item: Any) -> int:
    """How many dims of the indexed array an int, a slice or an index array speaks for."""
    if type(item) is int or type(item) is slice:
        return 1
    return item.ndim if item.dtype is _core.bool or item.dtype is _core.uint8 else 1


# ------------------------------------------------------------------------------- x[...], x[...] = y

# basic_index(x, index): the view, if that is one of ints, slices, None and Ellipsis, and x does not
# require grad, for then nobody asks how the view came about; else None.
basic_index = _core.basic_index


@method("__getitem__")
@quick(basic_index, 2)
def getitem(self: Tensor, index: Any) -> Tensor:
    """x[index]: a view for ints, slices, None and Ellipsis; a copy for index tensors and masks.

    https://pytorch.org/docs/stable/tensor_view.html

    >>> import tiny_torch as torch
    >>> x = torch.arange(6).view(2, 3)
    >>> x[1, 1:], x[x > 3], x[:, [2, 0]]
    (tensor([4, 5]), tensor([4, 5]), tensor([[2, 0],
            [5, 3]]))
    """
    if type(index) is Tensor and is_positions(index.array, self.array) and self.array.ndim:
        return apply(Index, self, index.array)
    steps, indices = read(self.array, index)
    if steps:
        self = apply_view(VIEW_OPS[steps[-1][0]], self, steps)
    elif not indices:
        return apply_view(Alias, self, (("expand", (self.array.shape,)),))
    return apply(Index, self, *indices) if indices else self


@method("__setitem__")
def setitem(self: Tensor, index: Any, value: Any) -> None:
    """x[index] = value, in x's memory; a number, or a tensor that broadcasts to the place.

    Raises TypeError for another value, RuntimeError where shapes do not fit.
    """
    if not isinstance(value, Tensor):
        value = assigned_number(value, self)
        array = self.array
        if (  # x[mask] = number, without a history: at once
            type(index) is Tensor
            and index.array.dtype is _core.bool
            and index.array.same_shape(array)
            and not modes.bits & WATCHED
            and (modes.bits & NO_GRAD or (self.edge is None and self._view is None))
        ):
            warn_expanded("masked_fill_", array)
            fill_where(array, index.array, value)
            return
    if index is True:
        index = Ellipsis
    steps, indices = read(self.array, index)
    filled = fill_mask(self, steps, indices, value)
    if filled is not None:
        target = apply_view(Part, self, steps) if steps else self
        one = value.reshape(()) if isinstance(value, Tensor) else value
        masked_fill_(target, filled, one)
        return
    if indices:
        warn_expanded("index_put_", self.array)
    if records(self, value):
        target = apply_view(Part, self, steps) if steps else self
        if indices:
            apply_inplace(IndexPut, target, as_values(value, target.array), False, *indices)
        else:
            source = trim(value, target.array)
            if isinstance(source, Tensor) and not source.array.same_shape(target.array):
                source = source.expand(target.array.shape)
            copy_into(target, source)
        return
    array = show(self.array, steps)
    if indices:
        source = as_values(value, array)
        array.index_put_(indices, getattr(source, "array", source), False)
    else:
        source = trim(value, array)
        array.copy_(source.array.expand(array.shape) if isinstance(source, Tensor) else source)


def fill_mask(x: Tensor, steps: Steps, indices: list, value: Any) -> Tensor | None:
    """The mask, if that is all that indexes, and one value goes wherever it holds."""
    if (
        not indices
        or (indices[-1].dtype is not _core.bool and indices[-1].dtype is not _core.uint8)
        or indices[:-1] != [None] * (len(indices) - 1)
    ):
        return None
    if isinstance(value, Tensor) and value.array.size != 1:
        return None
    mask, shape = indices[-1], show(x.array, steps).shape
    start = len(indices) - 1
    if mask.shape != shape[start : start + mask.ndim]:
        return None
    if mask.dtype is _core.uint8:
        raise not_boolean("masked_fill", mask.dtype)
    return wrap(mask.view(mask.shape + (1,) * (len(shape) - start - mask.ndim)))


def records(*operands: Any) -> bool:
    """Whether an in-place op on these would be recorded, or a mode wants to see it."""
    if modes.bits & WATCHED:
        return True
    tensors = [operand for operand in operands if isinstance(operand, Tensor)]
    return not modes.bits & NO_GRAD and True in [tensor.requires_grad for tensor in tensors]


def trim(value: Any, array: Any) -> Any:
    """The value without leading sizes of 1 that its place has not."""
    if not isinstance(value, Tensor) or value.array.shape == array.shape:
        return value
    shape = value.array.shape
    while len(shape) > array.ndim and shape[0] == 1:
        shape = shape[1:]
    return value if shape == value.array.shape else value.view(shape)


def copy_into(target: Tensor, source: Any) -> Tensor:
    return apply_inplace(Copy if target._view is None else CopyIntoView, target, source)


def copied_later(self: Tensor, src: Tensor) -> bool:
    """Copies between a GPU and pinned memory without waiting; False where it has to be in steps."""
    if self.requires_grad or src.requires_grad or not _core.stands_alone(self):
        return False
    arrays = self.array, src.array
    return {type(array) for array in arrays} == {_core.NDArray} and _core.copy_later(*arrays)


@method
def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Writes src into this tensor, broadcast and cast.

    `non_blocking` does not wait for a copy between a GPU and pinned memory. Raises RuntimeError
    where the shape does not fit.
    https://pytorch.org/docs/stable/generated/torch.Tensor.copy_.html

    >>> import tiny_torch as torch
    >>> torch.zeros(2).copy_(torch.tensor([1, 2]))
    tensor([1., 2.])
    """
    if non_blocking is not False:
        check_bool("copy_", "non_blocking", 2, non_blocking)
    if isinstance(src, Tensor):
        if src.array.device != self.array.device:
            if non_blocking and copied_later(self, src):
                return self
            src = src.to(self.array.device, non_blocking=non_blocking and self.is_cuda)
    elif isinstance(src, bool | int | float | np.number | np.bool_):
        check_range(src, self.array.dtype)
    else:
        raise wrong_kind("copy_", "other", "Tensor", src, 1)
    return copy_into(self, src)


@method
def fill_(self: Tensor, value: Any) -> Tensor:
    """Writes one number, or the element of a 0-d tensor, everywhere.

    Raises RuntimeError where it does not fit the dtype.
    https://pytorch.org/docs/stable/generated/torch.Tensor.fill_.html

    >>> import tiny_torch as torch
    >>> torch.zeros(2).fill_(3)
    tensor([3., 3.])
    """
    if isinstance(value, Tensor):
        if value.array.ndim:
            raise RuntimeError(
                "fill_ only supports 0-dimension value tensor but got tensor with "
                f"{value.array.ndim} dimensions."
            )
        if value.array.storage_id == self.array.storage_id:
            value = value.clone()  # read once, before it is written
    else:
        return apply_inplace(Fill, self, checked_number(value, self))
    return copy_into(self, value)


@method
def zero_(self: Tensor) -> Tensor:
    """Writes 0 everywhere. https://pytorch.org/docs/stable/generated/torch.Tensor.zero_.html"""
    return apply_inplace(Zero, self, 0)


@method("__delitem__")
def delitem(self: Tensor, index: Any) -> None:
    raise TypeError("Tensor does not support deleting items")
