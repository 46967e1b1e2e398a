"""SparseArray: an array that holds the places and values of its elements, of which most are 0."""

from __future__ import annotations

import math
from typing import Any

from tiny_torch.base.devices import array_module
from tiny_torch.tensor import wrap


class NotSparse(NotImplementedError, AttributeError):
    """What sparse arrays do not have. An AttributeError too, so that ``hasattr`` answers False."""


class SparseArray:
    """int64 indices (D, N) and values (N, *rest) of an array of D + len(rest) dims.

    A place may occur more than once: its values are added. `is_coalesced` says that none does, and
    that places ascend.
    """

    tensor_class: type  # which tensor.py sets, and `wrap` reads
    strides = None
    offset = 0

    def __init__(
        self, indices: Any, values: Any, shape: tuple[int, ...], is_coalesced: bool = False
    ) -> None:
        self.indices, self.values, self.shape = indices, values, tuple(shape)
        self.is_coalesced = is_coalesced or values.shape[0] < 2

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: math.prod(self.shape))
    dtype = property(lambda self: self.values.dtype)
    device = property(lambda self: self.values.device)
    itemsize = property(lambda self: self.values.itemsize)
    stamp = property(lambda self: self.values.stamp)
    writes = property(lambda self: self.values.writes)
    storage_id = property(lambda self: self.values.storage_id)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"'SparseArray' object has no attribute {name!r}")
        raise NotSparse(f"[{name}] is not implemented for sparse tensors")

    def __repr__(self) -> str:
        return f"SparseArray(shape={list(self.shape)}, values={list(self.values.shape)})"

    def of(self, values: Any) -> SparseArray:
        """The same places with other values."""
        return SparseArray(self.indices, values, self.shape, self.is_coalesced)

    def clone(self) -> SparseArray:
        return self.of(self.values.clone())

    def alias(self) -> SparseArray:
        return self.of(self.values.alias())

    def astype(self, dtype: Any) -> SparseArray:
        return self.of(self.values.astype(dtype))

    def mark_written(self) -> None:
        self.values.mark_written()

    def same_shape(self, other: Any) -> bool:
        return self.shape == other.shape

    def unless_like(self, result: Any) -> tuple | None:
        """None if it has the result's shape and dtype, else (shape, dtype)."""
        if self.dtype is result.dtype and self.shape == result.shape:
            return None
        return self.shape, self.dtype

    # ------------------------------------------------------------------- sums of gradients
    def add(self, other: SparseArray, out: SparseArray | None = None) -> SparseArray:
        """The sum of two; `out`, if given, becomes it."""
        total = self + other
        if out is None:
            return total
        out.indices, out.values = total.indices, total.values
        out.is_coalesced = total.is_coalesced
        return out

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, SparseArray):
            return self.sum_with(other)
        if self.indices is other.indices:
            return self.of(self.values + other.values)
        module = array_module(self.device)
        return SparseArray(
            module.cat([self.indices, other.indices], 1),
            module.cat([self.values, other.values], 0),
            self.shape,
        )

    def __radd__(self, other: Any) -> Any:
        return self.sum_with(other)

    def sum_with(self, dense: Any) -> Any:
        """The sum of it and a dense array of its shape: a new dense array."""
        total = dense.clone()
        self.add_to(total)
        return total

    def add_to(self, total: Any) -> None:
        """Adds it to a dense array of its shape, in place."""
        places = [wrap(self.indices.select(0, d)) for d in range(self.indices.shape[0])]
        wrap(total).index_put_(tuple(places), wrap(self.values), accumulate=True)
