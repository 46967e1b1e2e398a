"""SparseTensor, and the two ops between a sparse tensor and its values.

Whatever is computed of a sparse tensor is computed of its values, which are a plain tensor:

    values_of(x)             (N, *rest)  its gradient becomes a sparse one, with x's places
    from_values(v, indices)  sparse      of its gradient v gets what that has at the places
"""

from __future__ import annotations

from typing import Any

from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.graph import Op, run
from tiny_torch.sparse.array import SparseArray
from tiny_torch.tensor import Tensor, wrap


class SparseTensor(Tensor):
    """A tensor in coordinate form; PyTorch's is a Tensor whose layout is `torch.sparse_coo`.

    https://pytorch.org/docs/stable/sparse.html#sparse-coo-tensors
    """

    __module__ = "tiny_torch"
    __slots__ = ()


SparseArray.tensor_class = SparseTensor


class Values(Op):
    """A sparse x -> the values (N, *rest) at its places, in x's own memory."""

    @staticmethod
    def forward(x):
        return x.values, (x.indices, x.shape, x.is_coalesced)

    @staticmethod
    def backward(saved, grad, needs):
        return run(FromValues, grad, *saved)


class FromValues(Op):
    """(values (N, *rest), indices (D, N)) -> the sparse tensor of that shape."""

    node_name = "SparseCooTensorWithDimsAndTensorsBackward0"
    arity = 2

    @staticmethod
    def forward(values, indices, shape, is_coalesced):
        return SparseArray(indices, values, shape, is_coalesced), (indices,)

    @staticmethod
    def backward(saved, grad, needs):
        (indices,) = saved
        if isinstance(grad, Tensor):
            return values_at(grad, wrap(getattr(indices, "array", indices))), None
        return values_at(wrap(grad), wrap(indices)).array, None


def values_of(x: Tensor) -> Tensor:
    """The values of a sparse tensor, with their history."""
    return apply(Values, x)


def from_values(
    values: Tensor, indices: Tensor, shape: Any, is_coalesced: bool = False
) -> SparseTensor:
    """A sparse tensor of checked places."""
    return apply(FromValues, values, indices, tuple(shape), is_coalesced)


def indices_of(x: Tensor) -> Tensor:
    """int64 (D, N): the places of a sparse tensor."""
    return wrap(x.array.indices)


def places_of(indices: Tensor) -> tuple:
    """The rows of (D, N) indices, as what a dense tensor of D dims is indexed with."""
    return indices.unbind(0)


def values_at(x: Tensor, indices: Tensor) -> Tensor:
    """What a tensor, which may be sparse, has at some places."""
    if type(x.array) is SparseArray:
        if x.array.indices is indices.array:
            return values_of(x)
        x = to_dense(x)
    return x[places_of(indices)]


def to_dense(x: Tensor) -> Tensor:
    """All elements of a sparse tensor."""
    values = values_of(x)
    zeros = values.detach().new_zeros(x.array.shape)
    return zeros.index_put(places_of(indices_of(x)), values, accumulate=True)
