"""The ops of indexing by arrays and of copying in place, and what may be written."""

from __future__ import annotations

from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.engine import sum_to
from tiny_torch.autograd.graph import Op, run
from tiny_torch.autograd.term import term
from tiny_torch.base.devices import array_module
from tiny_torch.ops.elementwise.cast import Cast
from tiny_torch.ops.shape.views import zeros_of
from tiny_torch.tensor import Tensor, wrap


class Index(Op):
    """x at the positions of index arrays, one per leading dim or None; gradients add up there."""

    @staticmethod
    def forward(x, *indices):
        return x.index(indices), (x.shape, *indices)

    @staticmethod
    def backward(saved, grad, needs):
        shape, *indices = saved
        return term(Unindex, grad, shape, *arrays_of(indices))


class Unindex(Op):
    """Zeros, with x added at the positions of index arrays: the transpose of Index."""

    @staticmethod
    def forward(x, shape, *indices):
        result = zeros_of(x, shape)
        # A mask names no position twice.
        masks = len(indices) == 1 and indices[0].dtype is _core.bool
        result.index_put_(indices, x, not masks)
        return result, indices

    @staticmethod
    def backward(saved, grad, needs):
        return run(Index, grad, *arrays_of(saved))

    @staticmethod
    def add(total, x, shape, *indices):
        total.index_put_(indices, x, True)


class Spread(Op):
    """Zeros, with x added where the op `pick` takes its result from: the transpose of that."""

    arity = 2
    saves = (1,)
    pick: type[Op]
    add: Any  # (total, x, index, shape, *constants)

    @classmethod
    def forward(cls, x, index, shape, *constants):
        result = zeros_of(x, shape)
        cls.add(result, x, index, shape, *constants)
        return result, (index, *constants)

    @classmethod
    def backward(cls, saved, grad, needs):
        return run(cls.pick, grad, *saved), None


class IndexPut(Op):
    """x with values written, or added, at the positions of index arrays."""

    arity = 2
    autocast = "widest on cuda"
    batching = "index_put_"

    @staticmethod
    def forward(x, values, accumulate, *indices, out=None):
        result = x.clone() if out is None else out
        result.index_put_(indices, values, accumulate)
        return result, (accumulate, values.shape, *indices)

    @staticmethod
    def backward(saved, grad, needs):
        accumulate, shape, *indices = saved
        indices = arrays_of(indices)
        to_x = to_values = None
        if needs[0]:
            to_x = grad if accumulate else run(IndexPut, grad, zeros_of(grad, ()), False, *indices)
        if needs[1]:
            to_values = fit_gradient(run(Index, grad, *indices), shape, grad.dtype)
        return to_x, to_values


def copy_name(saved, node):
    return "FillBackward2" if saved[:1] == (None,) else "torch::autograd::CopyBackwards"


class Copy(Op):
    """Other elements in x's place, broadcast and cast: nothing of x is left."""

    arity = 2
    node_name: Any = copy_name
    batching = "inplace arithmetic"

    @staticmethod
    def forward(x, source, out=None):
        out.copy_(source)
        number = not hasattr(source, "shape")
        return out, (None, None) if number else (source.shape, source.dtype)

    @staticmethod
    def backward(saved, grad, needs):
        nothing = run(Zeros, grad) if needs[0] else None
        return nothing, fit_gradient(grad, *saved) if needs[1] else None


class CopyIntoView(Copy):
    """Copy through a view: CopySlices has zeros for its region anyway."""

    aten = "copy"

    @staticmethod
    def backward(saved, grad, needs):
        return None, fit_gradient(grad, *saved) if needs[1] else None


def once(x: Any) -> Any:
    """x without the repeats of expanded dims, where a write would meet its own."""
    pairs = zip(x.shape, x.strides, strict=True)
    shape = tuple([min(size, 1) if stride == 0 else size for size, stride in pairs])
    return x.as_strided(shape, x.strides, x.offset)


class Fill(Copy):
    """One number everywhere, even in what is expanded."""

    node_name = "FillBackward2"
    cost = "read or write"
    batching = ""

    @staticmethod
    def forward(x, number, out=None):
        (out if out.is_dense() or 0 not in out.strides else once(out)).copy_(number)
        return out, (None, None)


class Zero(Fill):
    node_name = "ZeroBackward0"


class Zeros(Op):
    """Zeros in x's shape, whatever x is."""

    @staticmethod
    def forward(x):
        return zeros_of(x, x.shape), ()


# How what is written meets what is there: the array methods' argument `place`.
SET, ADD, MULTIPLY, MAXIMUM, MINIMUM = range(5)


def fresh(x: Any) -> Any:
    """A contiguous copy."""
    copy = array_module(x.device).empty(x.shape, x.dtype)
    copy.copy_(x)
    return copy


def is_expanded(array: Any) -> bool:
    """Whether elements share an address by a stride of 0."""
    return not array.is_dense() and any(
        n > 1 and step == 0 for n, step in zip(array.shape, array.strides, strict=True)
    )


def fill_where(x: Any, mask: Any, value: Any) -> None:
    """x[mask] = value, for a mask that broadcasts; where elements share an address, any counts."""
    if is_expanded(x):
        repeated = tuple([d for d, step in enumerate(x.strides) if step == 0])
        once(x).masked_fill_(mask.expand(x.shape).any(repeated, True), value)
    else:
        x.masked_fill_(mask, value)


def as_operand(array: Any, like: Any) -> Any:
    """An array as a tensor where a formula runs on tensors."""
    return wrap(array) if isinstance(like, Tensor) else array


def arrays_of(values: Any) -> list:
    """Index arrays as an op takes them, whether or not backward runs on tensors."""
    return [getattr(value, "array", value) for value in values]


def fit_gradient(grad: Any, shape: tuple, dtype: Any) -> Any:
    """The gradient of something that was broadcast (leading sizes of 1 may be dropped) and cast."""
    kept = shape
    while len(kept) > grad.ndim:
        kept = kept[1:]
    result = sum_to(grad, kept, grad.dtype)
    if kept != shape:
        result = result.reshape(shape)
    return result if result.dtype is dtype else run(Cast, result, dtype)
