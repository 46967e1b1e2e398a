"""Products with a sparse matrix: sums of the rows of a dense one, which `embedding_bag` computes.

    (S @ D)[i] = sum over the entries (i, j) of S of values[(i, j)] * D[j]

Row i of S is a bag of numbers j, each with its weight.
"""

from __future__ import annotations

from collections.abc import Callable

from tiny_torch import _core
from tiny_torch.amp.state import is_cast_on, state
from tiny_torch.autograd.apply import apply
from tiny_torch.functions.common import check_tensor
from tiny_torch.functions.creation.ranges import arange
from tiny_torch.functions.index.search import searchsorted
from tiny_torch.functions.methods import publish_function
from tiny_torch.functions.shape.join import stack
from tiny_torch.ops.nn.embedding import SUM, EmbeddingBag
from tiny_torch.sparse.functions import coalesce, is_sparse, transpose
from tiny_torch.sparse.shapes import equal_pairs
from tiny_torch.sparse.tensor import from_values, indices_of, values_of
from tiny_torch.tensor import Tensor


def mm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """(n, m) @ (m, k), one of them sparse, -> dense (n, k). Gradients go to both.

    Of two sparse matrices the product is sparse. A sparse one's gradient is sparse, of its places.
    Raises RuntimeError for shapes that do not go together and for two dtypes.
    Source: https://pytorch.org/docs/stable/generated/torch.sparse.mm.html

    >>> import tiny_torch as torch
    >>> x = torch.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2))
    >>> torch.sparse.mm(x, torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[6., 8.],
            [3., 6.]])
    """
    check_tensor("mm", "mat1", 1, mat1)
    check_tensor("mm", "mat2", 2, mat2)
    sparse = is_sparse(mat1), is_sparse(mat2)
    if not any(sparse):
        return mat1.mm(mat2)
    a, b = mat1.array, mat2.array
    if a.ndim != 2 or b.ndim != 2:
        raise RuntimeError(f"addmm: matrices expected, got {a.ndim}D and {b.ndim}D tensors")
    if a.shape[1] != b.shape[0]:
        if all(sparse):
            raise RuntimeError(
                "mat1 and mat2 shapes cannot be multiplied "
                f"({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})"
            )
        raise RuntimeError(
            f"addmm: Argument #3 (dense): Expected dim 0 size {a.shape[1]}, got {b.shape[0]}"
        )
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"expected scalar type {a.dtype.scalar_type} but found {b.dtype.scalar_type}"
        )
    if all(sparse):
        return sparse_product(mat1, mat2)
    if sparse[0]:
        return rows_product(mat1, mat2)
    return rows_product(transpose(mat2, 0, 1), mat1.t()).t()


def older_mm(name: str) -> Callable[[Tensor, Tensor], Tensor]:
    """torch.mm by one of its older names, for sparse matrices."""

    def product(input: Tensor, mat2: Tensor) -> Tensor:
        check_tensor(name, "input", 1, input)
        check_tensor(name, "mat2", 2, mat2)
        return torch_mm(input, mat2)

    product.__name__ = product.__qualname__ = name
    product.__doc__ = f"torch.mm, where a matrix may be sparse. Source: PyTorch, torch.{name}."
    return publish_function("tiny_torch", name, product)


def cast_in_autocast(x: Tensor) -> Tensor:
    """Autocast has products of matrices in its own dtype, of sparse ones too."""
    if not is_cast_on(x) or not x.is_floating_point() or x.dtype is _core.float64:
        return x
    return x.to(state.dtypes[x.array.device])


def torch_mm(input: Tensor, mat2: Tensor) -> Tensor:
    """torch.mm, which autocast sees."""
    return mm(cast_in_autocast(input), cast_in_autocast(mat2))


spmm, dsmm = older_mm("spmm"), older_mm("dsmm")


def sparse_product(left: Tensor, right: Tensor) -> Tensor:
    """(n, m) sparse @ (m, k) sparse: each entry (i, j) times the entries (j, k)."""
    shape = left.array.shape[0], right.array.shape[1]
    if left.array.indices.shape[0] != 2 or right.array.indices.shape[0] != 2:
        raise NotImplementedError("products with a sparse matrix of dense rows")
    rows, inner = indices_of(left).unbind(0)
    others, columns = indices_of(right).unbind(0)
    i, j = equal_pairs(inner, others)
    values = values_of(left)[i] * values_of(right)[j]
    return coalesce(from_values(values, stack([rows[i], columns[j]]), shape))


def rows_product(sparse: Tensor, dense: Tensor) -> Tensor:
    """(n, m) sparse @ (m, k)."""
    array = sparse.array
    if len(array.indices.shape) != 2 or array.indices.shape[0] != 2:
        raise NotImplementedError("products with a sparse matrix of dense rows")
    values = values_of(sparse)
    rows, columns = indices_of(sparse).unbind(0)
    if not values.shape[0] or not dense.numel() or not dense.is_floating_point():
        # which the kernel of bags does not take
        terms = values.unsqueeze(1) * dense.index_select(0, columns)
        return dense.new_zeros(array.shape[0], dense.shape[1]).index_add(0, rows, terms)
    if not array.is_coalesced:  # bags lie one behind the other
        order = rows.argsort(stable=True)
        values, rows, columns = values[order], rows[order], columns[order]
    starts = searchsorted(rows.contiguous(), arange(0, array.shape[0], device=rows.device))
    return apply(EmbeddingBag, dense, values, columns.contiguous(), starts, SUM, -1, False)


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * mat + alpha * mm(mat1, mat2). Source: PyTorch, torch.sparse.addmm.

    >>> import tiny_torch as torch
    >>> x = torch.sparse_coo_tensor([[0], [1]], [2.0], (2, 2))
    >>> torch.sparse.addmm(torch.ones(2, 2), x, torch.eye(2), alpha=3)
    tensor([[1., 7.],
            [1., 1.]])
    """
    return mat * beta + mm(mat1, mat2) * alpha


def matmul(input: Tensor, other: Tensor) -> Tensor:
    """`@`: matrices, and matrix and vector."""
    if other.array.ndim == 1 and input.array.ndim == 2:
        return mm(input, other.unsqueeze(1)).squeeze(1)
    if input.array.ndim == 1 and other.array.ndim == 2:
        return mm(input.unsqueeze(0), other).squeeze(0)
    return mm(input, other)
