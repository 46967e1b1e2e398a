"""Embeddings whose weight's gradient is sparse: the rows that were used, as often as they were."""

from __future__ import annotations

from tiny_torch.autograd.graph import run
from tiny_torch.ops.elementwise.arithmetic import Mul
from tiny_torch.ops.index.slices import IndexSelect
from tiny_torch.ops.nn.embedding import (
    MEAN,
    Embedding,
    EmbeddingBag,
    as_tensor,
    bags_of,
    frequencies,
    products,
)
from tiny_torch.sparse.tensor import FromValues


def rows_gradient(grad, index, rows, padding):
    """The sparse (rows, D) of the gradients (N, D) of the rows that `index` (N,) names."""
    index = as_tensor(index)
    if padding >= 0:
        counted = (index != padding).nonzero().reshape(-1)
        grad, index = run(IndexSelect, grad, counted.array, 0), index[counted]
    shape = (rows, grad.shape[1])
    return run(FromValues, grad, index.long().reshape(1, -1).array, shape, False)


class SparseEmbedding(Embedding):
    """Embedding, with a sparse gradient."""

    node_name = "EmbeddingBackward0"
    composite = None  # type: ignore[assignment]

    @staticmethod
    def backward(saved, grad, needs):
        index, rows, padding, by_frequency = saved
        if by_frequency:
            raise RuntimeError(
                "embedding_backward: scale_grad_by_freq not supported with sparse gradients"
            )
        flat = grad.reshape((-1, grad.shape[-1]))
        return rows_gradient(flat, as_tensor(index).reshape(-1), rows, padding), None


class SparseEmbeddingBag(EmbeddingBag):
    """EmbeddingBag, with a sparse gradient of the table."""

    node_name = "EmbeddingBagBackward0"
    composite = None  # type: ignore[assignment]

    @staticmethod
    def backward(saved, grad, needs):
        table, weights, index, starts, _, mode, padding, by_frequency = saved
        if by_frequency:
            raise RuntimeError(
                "embedding_bag: scale_grad_by_freq not supported with sparse gradients"
            )
        to_table = to_weights = None
        if needs[0]:
            bags = bags_of(index, starts)
            rows = run(IndexSelect, grad, bags.array, 0)
            if weights is not None:
                rows = run(Mul, rows, weights.unsqueeze(-1))
            elif mode == MEAN:
                counted = bags if padding < 0 else bags[as_tensor(index) != padding]
                counts = frequencies(counted, starts.shape[0], False)[bags].to(rows.dtype)
                rows = run(Mul, rows, counts.reciprocal().array)
            to_table = rows_gradient(rows, index, table.shape[0], padding)
        if needs[1]:
            to_weights = products(table, grad, index, starts, padding)
        return to_table, to_weights, None, None
