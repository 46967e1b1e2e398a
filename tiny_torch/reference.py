"""RefArray: the NDArray in plain Python. Device "ref"; read this before the C++.

An array is a flat buffer, and four facts about how to look at it: ``shape``, ``strides``,
``offset``, ``dtype``. Element (i, j, ...) lies in the buffer at

    offset + i * strides[0] + j * strides[1] + ...

So to transpose is to swap two strides, to take every second row is to double one, to broadcast is
to set one to 0: such *views* move no data, they only change the four facts. The layout logic is
plain Python; the parts of it that are functions of tuples stand in ``base/reference/layout.py``.
NumPy holds the flat buffers, and evaluates formulas (``base/reference/formulas.py``) on flat runs
of elements; its own shapes and strides are not used.

The same names, arguments and errors as NDArray and ``_core``; what is here is listed in METHODS.
Not here: speed, random numbers, fused kernels, optimisers' loops in one call.

>>> from tiny_torch import reference, float32
>>> x = reference.arange(0, 1, 6, float32).view((2, 3))
>>> x.strides, x.permute((1, 0)).strides, x.select(1, 2).offset
((3, 1), (1, 3), 2)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tiny_torch import _core
from tiny_torch.base.reference import compute, formulas, indexing, layout
from tiny_torch.base.reference.compute import (
    check_overlap,
    check_writable,
    elements,
    is_array,
    number_of,
    operand_of,
    same_elements,
)
from tiny_torch.base.reference.formulas import REDUCTIONS, numpy_type
from tiny_torch.base.reference.layout import (
    broadcast_shapes,
    checked_int,
    contiguous_strides,
    dims_of,
    positions,
    wrap_dim,
)

Shape = Sequence[int]


class NotOnRef(NotImplementedError, AttributeError):
    """What ref does not have. An AttributeError too, so that ``hasattr`` answers False."""


class Version:
    """When memory was last written, and how often: one cell for an array and all of its views."""

    __slots__ = ("stamp", "writes")

    def __init__(self, stamp: int) -> None:
        self.stamp = stamp
        self.writes = 0


class RefArray:
    """Shape, strides, offset and dtype over a flat buffer. They never change; elements do."""

    __slots__ = ("_flat", "_version", "dtype", "offset", "shape", "size", "strides")
    device = "ref"
    __hash__ = None  # type: ignore[assignment]  # == compares elements

    def __init__(
        self,
        flat: np.ndarray,
        version: Version,
        shape: Shape,
        strides: Shape,
        offset: int,
        dtype: Any,
    ) -> None:
        if len(shape) > layout.MAX_DIMS:
            raise RuntimeError(f"tiny_torch arrays have at most {layout.MAX_DIMS} dimensions")
        self._flat = flat
        self._version = version
        self.shape = tuple(shape)
        self.strides = tuple(strides)
        self.offset = offset
        self.dtype = dtype
        self.size = layout.checked_numel(self.shape, "empty")

    def __repr__(self) -> str:
        return (
            f"RefArray(shape={list(self.shape)}, strides={list(self.strides)}, "
            f"offset={self.offset}, dtype={self.dtype.name})"
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"'RefArray' object has no attribute {name!r}")
        raise NotOnRef(f"[{name}] is not implemented on ref")

    ndim = property(lambda self: len(self.shape))
    itemsize = property(lambda self: self.dtype.itemsize)
    stamp = property(lambda self: self._version.stamp)
    writes = property(lambda self: self._version.writes)
    storage_id = property(lambda self: id(self._flat))
    storage_nbytes = property(lambda self: self._flat.nbytes)

    @property
    def data_ptr(self) -> int:
        if self.size == 0:
            return 0
        return self._flat.__array_interface__["data"][0] + self.offset * self.itemsize

    def mark_written(self) -> None:
        self._version.stamp = _core.written_stamp(self.stamp)
        self._version.writes += 1

    def is_contiguous(self) -> bool:
        """Whether the elements lie one after another in row-major order."""
        return self.size == 0 or layout.fills_block(self, range(self.ndim - 1, -1, -1))

    def is_dense(self) -> bool:
        """Whether they fill one block without gaps, in whatever order of dims."""
        order = [d for d in range(self.ndim) if self.shape[d] != 1]
        order.sort(key=lambda d: self.strides[d])
        return self.is_contiguous() or layout.fills_block(self, order)

    def same_shape(self, other: RefArray) -> bool:
        return self.shape == other.shape

    def unless_like(self, result: RefArray) -> tuple | None:
        """None if it has the result's shape and dtype, else (shape, dtype)."""
        if self.dtype is result.dtype and self.shape == result.shape:
            return None
        return self.shape, self.dtype

    # ----------------------------------------------------------------------------------- views
    # A view shares the buffer and the version cell, and looks at them in another way.
    def _view(self, shape: Shape, strides: Shape, offset: int) -> RefArray:
        return RefArray(self._flat, self._version, shape, strides, offset, self.dtype)

    def alias(self) -> RefArray:
        """The same elements under a version cell of its own: writes are not noticed."""
        return RefArray(self._flat, Version(0), self.shape, self.strides, self.offset, self.dtype)

    def as_strided(self, shape: Shape, strides: Shape, offset: int) -> RefArray:
        """Any view at all, as long as no element lies outside the buffer.

        The last element is the one with the largest indices: strides are never negative.
        """
        shape, strides, offset = dims_of(shape), dims_of(strides), checked_int(offset)
        layout.check_inside(shape, strides, offset, self.dtype, len(self._flat))
        return self._view(shape, strides, offset)

    def select(self, dim: int, index: int) -> RefArray:
        """x[:, i]: the dim goes, the offset moves by i of its strides."""
        if self.ndim == 0:
            raise IndexError("select() cannot be applied to a 0-dim tensor.")
        d, n = wrap_dim(dim, self.ndim), checked_int(index)
        size = self.shape[d]
        if not -size <= n < size:
            raise IndexError(f"index {index} is out of bounds for dimension {d} with size {size}")
        offset = self.offset + n % size * self.strides[d]
        return self._view(layout.without(self.shape, d), layout.without(self.strides, d), offset)

    def slice(self, dim: int, start: int, stop: int, step: int) -> RefArray:
        """x[:, start:stop:step]: the offset moves to the start, the stride is `step` as large."""
        if self.ndim == 0:
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        if step <= 0:
            raise ValueError("step must be greater than zero")
        d = wrap_dim(dim, self.ndim)
        size, stride = self.shape[d], self.strides[d]
        start = min(max(start + size if start < 0 else start, 0), size)
        stop = min(max(stop + size if stop < 0 else stop, start), size)
        count = -(-(stop - start) // step)  # rounded up
        return self._view(
            layout.replace(self.shape, d, count),
            layout.replace(self.strides, d, layout.stride_of_step(stride, step, count)),
            self.offset + start * stride,
        )

    def permute(self, dims: Shape) -> RefArray:
        """The same strides, with their sizes, in another order."""
        if len(dims) != self.ndim:
            raise RuntimeError(
                "permute(sparse_coo): number of dimensions in the tensor input does not match the "
                f"length of the desired ordering of dimensions i.e. input.dim() = {self.ndim} is "
                f"not equal to len(dims) = {len(dims)}"
            )
        order = [wrap_dim(d, self.ndim) for d in dims_of(dims)]
        if len(set(order)) < len(order):
            raise RuntimeError("permute(): duplicate dims are not allowed.")
        shape, strides = [self.shape[d] for d in order], [self.strides[d] for d in order]
        return self._view(shape, strides, self.offset)

    def transpose(self, dim0: int, dim1: int) -> RefArray:
        a, b = wrap_dim(dim0, self.ndim), wrap_dim(dim1, self.ndim)
        if a == b:
            return self._view(self.shape, self.strides, self.offset)
        order = list(range(self.ndim))
        order[a], order[b] = b, a
        return self.permute(order)

    def expand(self, shape: Shape) -> RefArray:
        """Broadcasting: a dim of size 1, or a new one in front, gets any size by a stride of 0.

        A size of -1 keeps the dim. A new dim of size 1 is never stepped over; its stride is the
        one that keeps a contiguous array contiguous.
        """
        sizes, strides = layout.expand_layout(self.shape, self.strides, dims_of(shape))
        return self._view(sizes, strides, self.offset)

    def diagonal(self, offset: int, dim0: int, dim1: int) -> RefArray:
        """A step along the diagonal is a step in both dims: the new last stride is their sum."""
        a, b = wrap_dim(dim0, self.ndim), wrap_dim(dim1, self.ndim)
        if a == b:
            raise RuntimeError(f"diagonal dimensions cannot be identical {dim0}, {dim1}")
        rows, columns = self.shape[a] + min(offset, 0), self.shape[b] - max(offset, 0)
        size = max(min(rows, columns), 0)
        skipped = offset * self.strides[b] if offset >= 0 else -offset * self.strides[a]
        shape, strides = list(self.shape), list(self.strides)
        for d in (max(a, b), min(a, b)):
            del shape[d], strides[d]
        return self._view(
            [*shape, size],
            [*strides, self.strides[a] + self.strides[b]],
            self.offset + (skipped if size else 0),
        )

    def unfold(self, dim: int, size: int, step: int) -> RefArray:
        """Windows of `size` elements, one every `step`: they overlap in memory.

        The windows are a new last dim with the old stride; between windows it is `step` as large.
        """
        d = wrap_dim(dim, self.ndim)
        length, stride = (self.shape[d], self.strides[d]) if self.ndim else (1, 1)
        if size < 0:
            raise RuntimeError(f"size is {size} but must be >= 0")
        if size > length:
            raise RuntimeError(
                f"maximum size for tensor at dimension {d} is {length} but size is {size}"
            )
        if step <= 0:
            raise RuntimeError(f"step is {step} but must be > 0")
        if self.ndim == 0:
            return self._view((size,), (1,), self.offset)
        windows = (length - size) // step + 1
        shape = layout.replace(self.shape, d, windows)
        strides = layout.replace(self.strides, d, layout.stride_of_step(stride, step, windows))
        return self._view((*shape, size), (*strides, stride), self.offset)

    def squeeze(self, dims: Shape) -> RefArray:
        drop = {wrap_dim(d, self.ndim) for d in dims_of(dims)}
        keep = [d for d in range(self.ndim) if d not in drop or self.shape[d] != 1]
        shape, strides = [self.shape[d] for d in keep], [self.strides[d] for d in keep]
        return self._view(shape, strides, self.offset)

    def unsqueeze(self, dim: int) -> RefArray:
        """A dim of size 1, with the stride that would step over all that is inside it."""
        d = wrap_dim(dim, self.ndim + 1)
        stride = self.shape[d] * self.strides[d] if d < self.ndim else 1
        return self._view(
            (*self.shape[:d], 1, *self.shape[d:]),
            (*self.strides[:d], stride, *self.strides[d:]),
            self.offset,
        )

    def _try_view(self, shape: Shape) -> RefArray | None:
        full = layout.infer_shape(dims_of(shape), self.size)
        strides = layout.view_strides(self.shape, self.strides, full)
        return None if strides is None else self._view(full, strides, self.offset)

    def view(self, shape: Shape) -> RefArray:
        """The elements in row-major order under another shape, where strides can express that."""
        result = self._try_view(shape)
        if result is None:
            raise RuntimeError(
                "view size is not compatible with input tensor's size and stride (at least one "
                "dimension spans across two contiguous subspaces). Use .reshape(...) instead. "
                f"(shape {list(self.shape)}, strides {list(self.strides)}, asked for {list(shape)})"
            )
        return result

    def reshape(self, shape: Shape) -> RefArray:
        """A view if there is one, else of a copy."""
        result = self._try_view(shape)
        return self.contiguous().view(shape) if result is None else result

    # ---------------------------------------------------------------------------- reading, copies
    def _places(self) -> list[int]:
        return positions(self.shape, self.strides, self.offset)

    def contiguous(self) -> RefArray:
        """The elements in row-major order: itself if they are, else a copy."""
        if self.is_contiguous():
            return self
        return empty(self.shape, self.dtype)._store(self._flat[self._places()])

    def _store(self, values: Any) -> RefArray:
        self._flat[self._places()] = values
        return self

    def clone(self) -> RefArray:
        return self.astype(self.dtype)

    kept = clone

    def astype(self, dtype: Any) -> RefArray:
        return self.empty_like(dtype)._store(elements(self, self.shape, dtype))

    def empty_like(self, dtype: Any = None) -> RefArray:
        return empty_strided(self.shape, layout.like_strides(self), dtype or self.dtype)

    def copy_(self, source: Any) -> None:
        """x[...] = source, broadcast and converted; a float that goes to an integer is cut off."""
        source = operand_of(source)
        if is_array(source):
            shape = broadcast_shapes(self.shape, source.shape)
            if shape != self.shape:
                raise RuntimeError(
                    f"[copy_] output with shape {list(self.shape)} doesn't match the broadcast "
                    f"shape {list(shape)}"
                )
            if same_elements(self, source):  # an expanded array may be copied onto itself
                return self.mark_written()
            check_overlap(self, source)
        check_writable(self)
        self._store(elements(source, self.shape, self.dtype))
        self.mark_written()

    def item(self) -> Any:
        if self.size != 1:
            raise RuntimeError(f"a Tensor with {self.size} elements cannot be converted to Scalar")
        return self._flat[self.offset].item()

    def numpy(self) -> np.ndarray:
        """A NumPy array that shares the memory."""
        strides = [step * self.itemsize for step in self.strides]
        return np.lib.stride_tricks.as_strided(self._flat[self.offset :], self.shape, strides)

    # ------------------------------------------------------------------- computing and indexing
    def _new(self, shape: Shape, dtype: Any, strides: Shape | None = None) -> RefArray:
        """Fresh memory on the same device."""
        return empty_strided(
            shape, contiguous_strides(shape) if strides is None else strides, dtype
        )

    def new_full(self, shape: Shape, value: Any, dtype: Any = None) -> RefArray:
        return full(shape, value, dtype or self.dtype)

    where, matmul = compute.where, compute.matmul
    argmax, argmin = compute.argmax, compute.argmin
    overlaps = layout.overlaps
    vars().update(indexing.METHODS)  # gather, scatter_, index, ...

    def __matmul__(self, other: Any) -> Any:
        return self.matmul(other) if is_array(other) else NotImplemented

    def __neg__(self) -> RefArray:
        return compute.elementwise("neg", self)

    def __invert__(self) -> RefArray:
        return compute.elementwise("bitwise_not", self)


def elementwise_method(name: str, arity: int) -> Callable:
    def method(x: RefArray, *rest: Any) -> Any:
        return compute.elementwise(name, x, *rest[: arity - 1], out=(*rest[arity - 1 :], None)[0])

    return method


def reduce_method(name: str) -> Callable:
    return lambda x, *arguments: compute.reduce(name, x, *arguments[:3])


def operator(name: str, reflected: bool = False) -> Callable:
    def method(x: RefArray, y: Any) -> Any:
        if not is_array(y) and not isinstance(y, _core.NDArray) and number_of(y) is None:
            return NotImplemented
        return compute.elementwise(name, *((y, x) if reflected else (x, y)))

    return method


for arity, records in enumerate(
    (formulas.UNARY, formulas.BINARY, formulas.TERNARY, formulas.QUATERNARY), 1
):
    for name in records:
        setattr(RefArray, name, elementwise_method(name, arity))
for name in REDUCTIONS:
    setattr(RefArray, name, reduce_method(name))

SYMBOLS = {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide"}
SYMBOLS |= {"mod": "remainder", "pow": "pow"}
SYMBOLS |= {"lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift"}
SYMBOLS |= {"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"}
for symbol, name in SYMBOLS.items():
    setattr(RefArray, f"__{symbol}__", operator(name))
    setattr(RefArray, f"__r{symbol}__", operator(name, reflected=True))

for name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(RefArray, f"__{name}__", operator(name))


# ---------------------------------------------------------------------------------- making arrays
def empty(shape: Shape, dtype: Any) -> RefArray:
    return empty_strided(shape, contiguous_strides(shape), dtype)


def empty_strided(shape: Shape, strides: Shape, dtype: Any) -> RefArray:
    """Fresh memory; the strides are some nesting of the dims without gaps."""
    numel = layout.checked_numel(dims_of(shape), "empty")
    if numel * dtype.itemsize > layout.LARGEST:
        raise RuntimeError(f"[empty] the size in bytes of shape {list(shape)} overflows")
    try:
        flat = np.empty(numel, numpy_type(dtype))
    except (MemoryError, ValueError):
        raise RuntimeError(
            f"[allocate] not enough memory: you tried to allocate {numel * dtype.itemsize} bytes"
        ) from None
    array = RefArray(flat, Version(_core.first_stamp()), dims_of(shape), dims_of(strides), 0, dtype)
    if not array.is_dense():
        raise RuntimeError(
            f"[empty_strided] strides {list(strides)} of shape {list(shape)} are not dense"
        )
    return array


def full(shape: Shape, value: Any, dtype: Any) -> RefArray:
    return empty(shape, dtype)._store(elements(value, (), dtype))


@layout.without_out
def arange(start: Any, step: Any, count: int, dtype: Any) -> RefArray:
    """start, start + step, ...: `count` values."""
    array = empty((count,), dtype)
    return array._store((start + step * np.arange(count)).astype(numpy_type(dtype)))


@layout.without_out
def linspace(first: float, last: float, count: int, dtype: Any) -> RefArray:
    """From first to last, both exact: each half is counted from its own end."""
    step, i = (last - first) / max(count - 1, 1), np.arange(count)
    values = np.where(i < max(count // 2, 1), first + step * i, last - step * (count - 1 - i))
    return empty((count,), dtype)._store(values.astype(numpy_type(dtype)))


def logspace(first: float, last: float, count: int, base: float, dtype: Any) -> RefArray:
    exponents = linspace(first, last, count, _core.float64)
    return full((1,), base, _core.float64).pow(exponents).astype(dtype)


def from_numpy(array: np.ndarray) -> RefArray:
    """Shares a NumPy array's memory."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    # All checks and their messages are those of the NDArray; the buffer is ours.
    checked = _core.from_numpy(array)
    flat = np.empty(0, array.dtype)
    if array.size:
        reach = sum((n - 1) * s for n, s in zip(checked.shape, checked.strides, strict=True))
        flat = np.lib.stride_tricks.as_strided(array, (reach + 1,), (array.itemsize,))
    return RefArray(
        flat, Version(_core.first_stamp()), checked.shape, checked.strides, 0, checked.dtype
    )


def to_numpy(array: RefArray) -> np.ndarray:
    return array.numpy()


def __getattr__(name: str) -> Any:
    if not name.startswith("_") and hasattr(_core, name):
        raise NotOnRef(f"[{name}] is not implemented on ref")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


cat, stack, can_cast = indexing.cat, indexing.stack, formulas.can_cast
where, variance = compute.where, compute.variance
promote_types, result_type = formulas.promote_types, formulas.result_type

# Everything that works on ref; tests of other devices skip by this list.
METHODS = (
    *("empty", "empty_strided", "full", "arange", "linspace", "from_numpy", "to_numpy", "cat"),
    *("logspace", "variance", "where", "stack", "promote_types", "result_type", "can_cast"),
    *("alias", "as_strided", "select", "slice", "permute", "transpose", "expand", "diagonal"),
    *("unfold", "squeeze", "unsqueeze", "view", "reshape"),
    *("contiguous", "clone", "kept", "astype", "empty_like", "new_full", "copy_", "item", "numpy"),
    *("is_contiguous", "is_dense", "overlaps", "same_shape", "unless_like", "mark_written"),
    *("matmul", *indexing.METHODS),
    *("argmax", "argmin", *formulas.ELEMENTWISE, *REDUCTIONS),
)
