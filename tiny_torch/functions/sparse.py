"""What dense tensors answer about layouts: tiny_torch/sparse has what sparse ones do."""

from __future__ import annotations

from typing import Any, NoReturn

from tiny_torch.base import layouts
from tiny_torch.functions.public import METHODS, method
from tiny_torch.tensor import Tensor


@method
def to_sparse(
    self: Tensor,
    sparse_dim: int | None = None,
    *,
    layout: Any = None,
    blocksize: Any = None,
    dense_dim: int | None = None,
) -> Tensor:
    """Its elements that are not 0, as a sparse tensor; of the first `sparse_dim` dims, rows.

    Raises NotImplementedError for another layout than `sparse_coo`, RuntimeError for a number of
    dims that it does not have.
    https://pytorch.org/docs/stable/generated/torch.Tensor.to_sparse.html

    >>> import tiny_torch as torch
    >>> torch.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse()
    tensor(indices=tensor([[0, 1],
                           [1, 0]]),
           values=tensor([2., 3.]),
           size=(2, 2), nnz=2, layout=torch.sparse_coo)
    """
    for name, value in (("blocksize", blocksize), ("dense_dim", dense_dim)):
        if value is not None:
            raise NotImplementedError(f"to_sparse: {name}")
    if isinstance(sparse_dim, layouts.layout):
        sparse_dim, layout = None, sparse_dim
    if layout not in (None, layouts.sparse_coo):
        raise NotImplementedError(f"to_sparse: layout={layout}, beside torch.sparse_coo")
    return layouts.sparse_room().from_dense(self, self.ndim if sparse_dim is None else sparse_dim)


@method
def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """A sparse tensor with all of its elements; a dense one is itself, or a copy of `dtype`.

    https://pytorch.org/docs/stable/generated/torch.Tensor.to_dense.html
    """
    return self if dtype is None else self.to(dtype)


@method
def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """Its elements at the places of a sparse tensor of its shape, as one.

    https://pytorch.org/docs/stable/generated/torch.Tensor.sparse_mask.html
    """
    return layouts.sparse_room().sparse_mask(self, mask)


@method
def sparse_dim(self: Tensor) -> int:
    """The number of sparse dims: of a dense tensor 0."""
    return 0


@method
def dense_dim(self: Tensor) -> int:
    """The number of dense dims: of a dense tensor all."""
    return self.array.ndim


def refusal_of(name: str, layout: str) -> Any:
    """The method of that name, which sparse tensors have."""
    error = NotImplementedError if name.startswith("_") else RuntimeError

    def refuse(self: Tensor) -> NoReturn:
        raise error(f"{name} expected sparse {layout} layout but got Strided")

    refuse.__name__ = name
    refuse.__doc__ = f"`{name}` of a sparse tensor; RuntimeError for a dense one."
    return refuse


for _name in ("coalesce", "is_coalesced", "indices", "_indices", "_nnz"):
    METHODS[_name] = refusal_of(_name, "coordinate tensor")
for _name in ("values", "_values"):
    METHODS[_name] = refusal_of(_name, "tensor")
