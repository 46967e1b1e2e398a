"""Layouts and memory formats: the names of what order a tensor's elements lie in.

channels_last: the channels of a pixel lie side by side, dims (N, C, H, W) in the order N, H, W, C.
https://pytorch.org/docs/stable/tensor_attributes.html
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from tiny_torch.base.arguments import wrong_kind
from tiny_torch.base.devices import array_module

MAX_DIMS = 24


class _Name:
    """One of a closed set of names; only itself is equal to it."""

    __slots__ = ("name",)
    name: str

    def __new__(cls) -> Any:
        raise TypeError(f"cannot create 'torch.{cls.__name__}' instances")

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name  # pickled as the global of that name


class layout(_Name):
    """How a tensor is stored: `strided`, or `sparse_coo` (tiny_torch/sparse); no tensor is stored
    in another way that PyTorch names."""

    __slots__ = ()
    __module__ = "tiny_torch"


class memory_format(_Name):
    """The order that a function gives its result's elements in memory."""

    __slots__ = ()
    __module__ = "tiny_torch"


def _new_name(kind: type[_Name], name: str) -> Any:
    made = object.__new__(kind)
    made.name = name
    return made


strided = _new_name(layout, "strided")
sparse_coo = _new_name(layout, "sparse_coo")
sparse_csr = _new_name(layout, "sparse_csr")
sparse_csc = _new_name(layout, "sparse_csc")
sparse_bsr = _new_name(layout, "sparse_bsr")
sparse_bsc = _new_name(layout, "sparse_bsc")
jagged = _new_name(layout, "jagged")
contiguous_format = _new_name(memory_format, "contiguous_format")
preserve_format = _new_name(memory_format, "preserve_format")
channels_last = _new_name(memory_format, "channels_last")
channels_last_3d = _new_name(memory_format, "channels_last_3d")

ORDERS = {channels_last: (1, 3, 2, 0), channels_last_3d: (1, 4, 3, 2, 0)}  # innermost dim first


def sparse_room() -> Any:
    """tiny_torch/sparse, which is loaded by the first who needs it."""
    return importlib.import_module("tiny_torch.sparse.answers")


def check_format(function: str, form: Any) -> None:
    """TypeError for what is no memory format."""
    if not isinstance(form, memory_format):
        raise wrong_kind(function, "memory_format", "torch.memory_format", form)


def strides_of(shape: tuple, form: Any) -> tuple:
    """The strides of a tensor whose channels come last; RuntimeError for another number of dims."""
    order = ORDERS[form]
    if len(shape) != len(order):
        raise RuntimeError(f"required rank {len(order)} tensor to use {form.name} format")
    strides, step = [0] * len(shape), 1
    for dim in order:
        strides[dim] = step
        step *= shape[dim]
    return tuple(strides)


def empty_in_format(shape: tuple, dtype: Any, form: Any, where: Any = None) -> Any:
    """An uninitialised array in a memory format."""
    if form is preserve_format:
        raise RuntimeError("unsupported memory format Preserve")
    module = array_module(where)
    if form is contiguous_format:
        return module.empty(shape, dtype)
    return module.empty_strided(shape, strides_of(shape, form), dtype)


def has_format(array: Any, form: Any) -> bool:
    """Whether an array's elements lie in that order; `preserve_format` is taken as contiguous."""
    if form not in ORDERS:
        return array.is_contiguous()
    if array.ndim != len(ORDERS[form]):
        return False
    step = 1
    for dim in ORDERS[form]:
        if array.shape[dim] != 1:
            if array.strides[dim] != step:
                return False
            step *= array.shape[dim]
    return True


def suggested_format(array: Any) -> Any:
    """The memory format that strides look like; contiguous where they look like several."""
    for form, order in ORDERS.items():
        if array.ndim == len(order) and looks_like(array, order):
            return form
    return contiguous_format


def looks_like(array: Any, order: tuple[int, ...]) -> bool:
    shape, strides = array.shape, array.strides
    if strides[1] == 0:
        return False
    least = 0
    for dim in order:
        ambiguous = dim == 0 and least == strides[1]  # (N, 1, H, W) is both
        if shape[dim] == 0 or strides[dim] < least or ambiguous:
            return False
        least = strides[dim] * max(shape[dim], 1)
    return True


FUNCTIONS = {
    name: globals()[name]
    for name in (
        "layout", "memory_format", "strided", "sparse_coo", "sparse_csr", "sparse_csc",
        "sparse_bsr", "sparse_bsc", "jagged", "contiguous_format", "preserve_format",
        "channels_last", "channels_last_3d",
    )
}  # fmt: skip


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major order: the last dim is the fastest, each other steps over all dims inside it."""
    return packed_strides(shape, range(len(shape) - 1, -1, -1))


def packed_strides(
    shape: Sequence[int], order: Sequence[int], smallest: int = 1
) -> tuple[int, ...]:
    """The strides of a block without gaps whose dims are nested in `order`, the fastest first.

    A size counts as at least `smallest`: PyTorch has 1 for copies and in row-major order, 0 for
    results of ops in other orders.
    """
    strides, step = [1] * len(shape), 1
    for dim in order:
        strides[dim] = step
        step *= max(shape[dim], smallest)
    return tuple(strides)
