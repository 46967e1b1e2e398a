"""Rows of a table by number, alone or in bags: one kernel forward, one backward.

Bag b is the entries from starts[b] up to starts[b + 1], or to the end. Entries of row `padding` get
no gradient and count in no bag; -1 stands for none.
"""

from __future__ import annotations

from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.graph import Op, run
from tiny_torch.autograd.term import term
from tiny_torch.base.devices import array_module
from tiny_torch.ops.elementwise.arithmetic import Where
from tiny_torch.ops.index.brackets import as_operand
from tiny_torch.ops.index.slices import IndexSelect
from tiny_torch.ops.nn.padding import ConstantPadNd
from tiny_torch.tensor import Tensor, wrap

SUM, MEAN, MAX = range(3)


class Embedding(Op):
    """(table (V, D), index) -> table[index], of the index's shape and D."""

    arity = 2
    saves = (1,)
    words = "index:indices padding:padding_idx"
    cost = "embedding"

    @staticmethod
    def forward(table, index, padding, by_frequency):
        rows = array_module(table.device).embedding(table, index)
        return rows, (index, table.shape[0], padding, by_frequency)

    @staticmethod
    def backward(saved, grad, needs):
        return term(EmbeddingDenseBackward, grad, *saved), None

    @staticmethod
    def composite(table, index, padding, by_frequency):
        rows = table.index_select(0, index.reshape(-1)).reshape((*index.shape, table.shape[1]))
        if by_frequency:
            share = rows / frequencies(index, table.shape[0]).to(rows.dtype)
            rows = share + (rows - share).detach()
        return rows.detach().where((index == padding).unsqueeze(-1), rows)


class EmbeddingDenseBackward(Op):
    """(grad, index) -> zeros (V, D) with each gradient added to its row."""

    arity = 2
    saves = (1,)

    @staticmethod
    def forward(grad, index, rows, padding, by_frequency):
        table = array_module(grad.device).embedding_backward(
            grad, index, rows, padding, by_frequency
        )
        return table, (index, rows, padding, by_frequency)

    @staticmethod
    def backward(saved, grad, needs):
        index, rows, padding, by_frequency = saved
        to_grad = without(run(Embedding, grad, index, -1, False), index, padding)
        if by_frequency:
            counts = frequencies(as_tensor(index), rows).to(grad.dtype)
            to_grad = to_grad / as_operand(counts.array, grad)
        return to_grad, None

    @staticmethod
    def add(total, *arguments):
        _core.embedding_backward(*arguments, total)


class EmbeddingBag(Op):
    """(table, weights or None, index, starts) -> a row per bag: the sum, mean or largest of its."""

    arity = 4
    saves = (0, 1, 2, 3)

    @staticmethod
    def forward(table, weights, index, starts, mode, padding, by_frequency):
        out, *largest = array_module(table.device).embedding_bag(
            table, weights, index, starts, mode, padding
        )
        largest = largest[0] if largest else None
        if weights is None and mode != MAX:
            table = table.alias()  # no gradient is computed from its values: it may be written
        return out, (table, weights, index, starts, largest, mode, padding, by_frequency)

    @staticmethod
    def backward(saved, grad, needs):
        table, weights, index, starts, *rest = saved
        to_table = to_weights = None
        if needs[0]:
            arguments = grad, weights, index, starts, table.shape[0], *rest
            to_table = run(EmbeddingBagBackward, *arguments)
        if needs[1]:
            to_weights = products(table, grad, index, starts, rest[2])
        return to_table, to_weights, None, None

    @staticmethod
    def composite(table, weights, index, starts, mode, padding, by_frequency):
        rows = Embedding.composite(table, index, -1, by_frequency)
        if weights is not None:
            rows = rows * weights.unsqueeze(1)
        counted = index != padding
        entries = numbers_of(index).unsqueeze(1)
        bags = (entries >= starts).sum(1) - 1
        rows, bags = rows[counted], bags[counted]
        out = rows.new_zeros((len(starts), table.shape[1]))
        if mode == MAX:
            return largest_of(rows, bags, out)
        out = out.index_add(0, bags, rows)
        return out / frequencies(bags, len(starts), False).to(out.dtype) if mode == MEAN else out


class EmbeddingBagBackward(Op):
    """(grad, weights or None, index, starts) -> the table's gradient."""

    arity = 4
    saves = (0, 1, 2, 3)

    @staticmethod
    def forward(grad, weights, index, starts, rows, largest, mode, padding, by_frequency):
        table = array_module(grad.device).embedding_bag_backward(
            grad, weights, index, starts, largest, rows, mode, padding, by_frequency
        )
        return table, (grad, weights, index, starts, largest, mode, padding, by_frequency)

    @staticmethod
    def backward(saved, cotangent, needs):
        grad, weights, index, starts, _, mode, padding, by_frequency = saved
        if mode == MAX or by_frequency:
            raise NotImplementedError(
                "the derivative for '_embedding_bag_backward' is not implemented"
            )
        to_grad = to_weights = None
        if needs[0]:
            arguments = cotangent, weights, index, starts, mode, padding, False
            to_grad = run(EmbeddingBag, *arguments)
        if needs[1]:
            to_weights = products(cotangent, grad, index, starts, padding)
        return to_grad, to_weights, None, None


# ------------------------------------------------------------------------------ from simple ops


def as_tensor(index: Any) -> Tensor:
    return index if isinstance(index, Tensor) else wrap(index)


def numbers_of(index: Any) -> Tensor:
    """0, 1, ...: the number of each entry."""
    return wrap(array_module(index.device).arange(0, 1, index.shape[0], _core.int64))


def bags_of(index: Any, starts: Any) -> Tensor:
    """The number of each entry's bag."""
    entries = numbers_of(index)
    starts = as_tensor(starts).to(_core.int64)
    return wrap(starts.array.searchsorted(entries.array, True, False, None, None)) - 1


def largest_of(rows: Tensor, bags: Tensor, zeros: Tensor) -> Tensor:
    """(B, D): each bag's largest; where several are, the gradient is the first's. 0 of no rows."""
    places = bags.unsqueeze(1).expand(rows.shape)
    values = rows.detach()
    top = zeros.scatter_reduce(0, places, values, "amax", include_self=False).gather(0, places)
    none = rows.shape[0]  # the number of a row of zeros behind them
    numbers = numbers_of(bags).unsqueeze(1).expand(rows.shape).masked_fill(values < top, none)
    first = places.new_full(zeros.shape, none).scatter_reduce(0, places, numbers, "amin")
    return apply(ConstantPadNd, rows, (0, 0, 0, 1), 0.0).gather(0, first)


def frequencies(index: Tensor, rows: int, per_entry: bool = True) -> Tensor:
    """How often each row, or each entry's row, occurs: (*, 1), at least 1."""
    flat = index.reshape(-1)
    counts = index.new_zeros(rows).index_add(0, flat, flat.new_ones(flat.shape)).clamp(min=1)
    return (counts[flat].reshape(index.shape) if per_entry else counts).unsqueeze(-1)


def without(rows, index, padding):
    """0 in the rows of entries that do not count."""
    if padding < 0:
        return rows
    counted = (as_tensor(index) != padding).unsqueeze(-1)
    return run(Where, as_operand(counted.array, rows), rows, 0.0)


def products(table, grad, index, starts, padding):
    """(N,): of each entry's row and its bag's gradient."""
    rows = run(Embedding, table, index, -1, False)
    bags = as_operand(bags_of(index, starts).array, grad)
    return without(rows * run(IndexSelect, grad, bags, 0), index, padding).sum((1,), False)
