"""Sparse tensors from places and values, and from dense tensors."""

from __future__ import annotations

import functools
from typing import Any

from tiny_torch import _core
from tiny_torch.base import layouts
from tiny_torch.base.arguments import check_bool
from tiny_torch.base.dtypes import TYPE_NAMES
from tiny_torch.functions.creation.fill import as_sizes, check_options, zeros
from tiny_torch.functions.creation.from_data import as_tensor
from tiny_torch.sparse.tensor import SparseTensor, from_values, indices_of, places_of, values_at
from tiny_torch.tensor import Tensor


def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:
    """A tensor (*size) that is `values` (N, *rest) at the places `indices` (D, N), and 0 elsewhere.

    Values of a place that occurs more than once are added. Without `size` it is as small as the
    places let it be; sparse_coo_tensor(size) alone is 0 everywhere. Places are always checked:
    `check_invariants` changes nothing. Gradients go to `values`. Raises RuntimeError for places
    outside of `size` and shapes that do not go together, NotImplementedError for D = 0.
    Source: https://pytorch.org/docs/stable/generated/torch.sparse_coo_tensor.html

    >>> import tiny_torch as torch
    >>> x = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
    >>> x.to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 5.]])
    """
    check_options("sparse_coo_tensor", layout, pin_memory)
    if layout not in (None, layouts.sparse_coo):
        raise RuntimeError(f"expected sparse layout torch.sparse_coo, but got layout {layout}")
    if pin_memory:
        raise NotImplementedError("sparse_coo_tensor: pin_memory=True")
    check_bool("sparse_coo_tensor", "requires_grad", None, requires_grad)
    if values is None:
        shape = as_sizes("sparse_coo_tensor", () if indices is None else (indices,), size)
        return no_elements(shape, dtype, device, requires_grad)
    values = as_tensor(values, dtype=dtype, device=device)
    if values.ndim == 0:
        values = values.reshape(1)
    indices = as_tensor(indices, device=values.device).to(_core.int64)
    if indices.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    if indices.shape[0] == 0:
        raise NotImplementedError("sparse tensors of no sparse dims")
    shape = shape_of(indices, values, size)
    if requires_grad:
        values = values.detach()
    made = from_values(values, indices.detach(), shape, bool(is_coalesced))
    return made.requires_grad_() if requires_grad else made


def no_elements(shape: tuple, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    """A sparse tensor that is 0 everywhere."""
    if not shape:
        raise NotImplementedError("sparse tensors of no sparse dims")
    indices = zeros(len(shape), 0, dtype=_core.int64, device=device)
    made = from_values(zeros(0, dtype=dtype, device=device), indices, shape, True)
    return made.requires_grad_() if requires_grad else made


def zeros_like(
    input: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A sparse tensor of the same sparse and dense dims that is 0 everywhere, or a dense one."""
    array = input.array
    dtype, device = dtype or array.dtype, device or array.device
    if layout is layouts.strided:
        options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
        return zeros(array.shape, **options, pin_memory=pin_memory)
    if layout not in (None, layouts.sparse_coo):
        raise NotImplementedError(f"zeros_like: layout={layout}, beside torch.sparse_coo")
    if pin_memory:
        raise NotImplementedError("zeros_like of a sparse tensor: pin_memory=True")
    if memory_format is not None:
        raise RuntimeError("memory format option is only supported by strided tensors")
    indices = zeros(array.indices.shape[0], 0, dtype=_core.int64, device=device)
    values = zeros(0, *array.values.shape[1:], dtype=dtype, device=device)
    made = from_values(values, indices, array.shape, True)
    return made.requires_grad_() if requires_grad else made


def new(self: Tensor, *arguments: Any) -> Tensor:
    """self.new(indices, values[, size]), or self.new(*size): a sparse tensor, the latter of 0s."""
    if len(arguments) > 1 and isinstance(arguments[0], Tensor):
        return sparse_coo_tensor(*arguments)
    shape = as_sizes("new", arguments or (0,))
    return no_elements(shape, self.array.dtype, self.array.device, False)


def shape_of(indices: Tensor, values: Tensor, size: Any) -> tuple:
    """The shape of a sparse tensor; RuntimeError where a place is outside of it."""
    dims, count = indices.shape
    if values.shape[0] != count:
        raise RuntimeError(
            "indices and values must have same nnz, but got nnz from indices: "
            f"{count}, nnz from values: {values.shape[0]}"
        )
    least = indices.amin(1).tolist() if count else [0] * dims
    largest = indices.amax(1).tolist() if count else [-1] * dims
    for d, index in enumerate(least):
        if index < 0:
            raise RuntimeError(f"found negative index {index} for dim {d}")
    if size is None:
        return (*[n + 1 for n in largest], *values.shape[1:])
    shape = as_sizes("sparse_coo_tensor", (), size)
    if len(shape) != dims + values.ndim - 1:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(shape)}, "
            f"sparse_dim = {dims}, dense_dim = {values.ndim - 1}"
        )
    for d, (n, index) in enumerate(zip(shape, largest, strict=False)):
        if index >= n:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {d}, size is {n} but found index "
                f"{index}"
            )
    if shape[dims:] != tuple(values.shape[1:]):
        expected = [count, *shape[dims:]]
        raise RuntimeError(
            f"values has incorrect size, expected {expected}, got {list(values.shape)}"
        )
    return shape


def from_dense(x: Tensor, dims: int) -> Tensor:
    """A dense tensor's elements that are not 0; of its first `dims` dims, rows that are not.

    Raises RuntimeError for a number of dims that it does not have.
    """
    if not 0 <= dims <= x.ndim:
        raise RuntimeError(
            f"dense_to_sparse: sparse_dim argument must be in [0,{x.ndim}] range, but "
            f"{dims} is given"
        )
    if dims == 0:
        raise NotImplementedError("sparse tensors of no sparse dims")
    kept = x.detach() != 0
    if dims < x.ndim:
        kept = kept.flatten(dims).any(-1)
    indices = kept.nonzero().t().contiguous()
    return from_values(x[places_of(indices)], indices, x.shape, True)


def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """A tensor's elements at the places of a sparse one. Source: PyTorch, Tensor.sparse_mask."""
    if not isinstance(mask, SparseTensor):
        raise RuntimeError("sparse_mask: the mask is no sparse tensor")
    if self.array.shape != mask.array.shape:
        raise RuntimeError(
            "sparse_mask(): operands have incompatible sizes; self has size "
            f"{list(self.array.shape)} but mask has size {list(mask.array.shape)}"
        )
    indices = indices_of(mask)
    values = values_at(self, indices)
    return from_values(values, indices, mask.array.shape, mask.array.is_coalesced)


def legacy_constructor(dtype: Any, *arguments: Any) -> Tensor:
    """torch.sparse.FloatTensor(indices, values, size), or (*size)."""
    if arguments and all(isinstance(n, int) for n in arguments):
        return no_elements(as_sizes("sparse_coo_tensor", arguments), dtype, None, False)
    if len(arguments) == 1:
        return no_elements(as_sizes("sparse_coo_tensor", arguments), dtype, None, False)
    made = sparse_coo_tensor(*arguments)
    if made.array.dtype is not dtype:
        raise TypeError(f"expected values of {dtype}, but got {made.array.dtype}")
    return made


TYPES = {
    name.removeprefix("torch."): functools.partial(legacy_constructor, dtype)
    for name, dtype in TYPE_NAMES.items()
}
