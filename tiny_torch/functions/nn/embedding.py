"""Rows of a weight by number: embedding, embedding_bag and one_hot."""

from __future__ import annotations

import warnings

from tiny_torch import _core
from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.grad_mode import no_grad
from tiny_torch.autograd.op_mode import as_one
from tiny_torch.base.arguments import as_float, as_int, check_bool
from tiny_torch.base.layouts import sparse_room
from tiny_torch.functions.common import check_tensor
from tiny_torch.functions.creation.ranges import arange
from tiny_torch.functions.index.masks import where
from tiny_torch.functions.index.unique import unique
from tiny_torch.ops.index.brackets import SET
from tiny_torch.ops.nn.embedding import MAX, MEAN, SUM, Embedding, EmbeddingBag
from tiny_torch.tensor import Tensor, wrap


@as_one
def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    """int64 (*) of class numbers -> int64 (*, num_classes), 1 at the class and 0 elsewhere.

    By default num_classes is the largest number plus 1. Raises RuntimeError for another dtype, a
    class outside of [0, num_classes), and an empty tensor without num_classes.
    Source: PyTorch, nn.functional.one_hot.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.one_hot(torch.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    as_int("one_hot", "num_classes", 2, num_classes)
    if input.dtype is not _core.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    array = input.array
    if array.size == 0:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return input.new_zeros((*input.shape, num_classes))
    if array.amin(None, False).item() < 0:
        raise RuntimeError("Class values must be non-negative.")
    largest = array.amax(None, False).item()
    if num_classes == -1:
        num_classes = largest + 1
    elif largest >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    result = array.new_full((*array.shape, num_classes), 0)
    result.scatter_(-1, array.unsqueeze(-1), 1, SET, False)
    return wrap(result)


def padding_row(padding_idx: int, rows: int) -> int:
    """The row that is not trained, counted from the front."""
    if padding_idx and not -rows <= padding_idx < rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return padding_idx + rows if padding_idx < 0 else padding_idx


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """weight[input]: int (*) row numbers and a weight (V, D) -> (*, D).

    The row `padding_idx` gets no gradient. With `max_norm` rows that are used and longer are first
    scaled to that `norm_type`-norm, in place. With `scale_grad_by_freq` a row's gradient is divided
    by how often it occurs. With `sparse` the weight's gradient is a sparse tensor of the rows used.
    Raises IndexError for a row that is not there, RuntimeError for another dtype of input or shape
    of weight.
    Source: PyTorch, nn.functional.embedding.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.embedding(torch.tensor([2, 0]), torch.eye(3))
    tensor([[0., 0., 1.],
            [1., 0., 0.]])
    """
    padding = -1
    if padding_idx is not None:
        padding_idx = as_int("embedding", "padding_idx", 3, padding_idx)
        padding = padding_row(padding_idx, weight.size(0))
    check_bool("embedding", "scale_grad_by_freq", 4, scale_grad_by_freq)
    check_bool("embedding", "sparse", 5, sparse)
    if max_norm is not None:
        renormalize(weight, input, max_norm, norm_type)
    if sparse:
        op = sparse_room().SparseEmbedding
        return apply(op, weight, input, padding, scale_grad_by_freq)
    return apply_embedding(weight, input, padding, scale_grad_by_freq)


@as_one
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sum, mean or max of bags of rows: int (B, N), or int (N) and offsets (B), -> (B, D).

    Bag b of a 1-d input is input[offsets[b]:offsets[b + 1]], the last goes to the end; with
    `include_last_offset` the last offset only ends a bag. Empty bags give 0. Rows `padding_idx` are
    left out. `per_sample_weights`, of the input's shape, multiply the rows of a "sum". Raises
    ValueError where arguments do not go together, RuntimeError for rows and offsets that are not
    there. Otherwise as embedding.
    Source: PyTorch, nn.functional.embedding_bag.

    >>> import tiny_torch as torch
    >>> rows, offsets = torch.tensor([0, 1, 1]), torch.tensor([0, 2])
    >>> torch.nn.functional.embedding_bag(rows, torch.eye(2), offsets)
    tensor([[0.5000, 0.5000],
            [0.0000, 1.0000]])
    """
    if weight.dtype is _core.int64 and input.is_floating_point():
        warnings.warn(
            "Argument order of nn.functional.embedding_bag was changed. "
            "Usage `embedding_bag(weight, input, ...)` is deprecated, "
            "and should now be `embedding_bag(input, weight, ...)`.",
            stacklevel=2,
        )
        weight, input = input, weight
    if per_sample_weights is not None and input.shape != per_sample_weights.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, "
            f"then it must have the same shape as the input ({input.shape})"
        )
    if weight.ndim != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}")
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch "
                f"of fixed length sequences. However, found offsets of type {type(offsets)}"
            )
        if input.shape[1] == 0:
            raise RuntimeError("[embedding_bag] step must be nonzero: the bags have no entries")
        offsets = arange(0, input.numel(), input.shape[1], device=input.device)
        include_last_offset = False
        input = input.reshape(-1)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
    elif input.ndim != 1:
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}"
        )
    elif offsets is None or offsets.ndim != 1:
        raise ValueError("offsets has to be a 1D Tensor" + " but got None" * (offsets is None))
    if mode not in MODES:
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if max_norm is not None:
        renormalize(weight, input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. "
            f"per_sample_weights is only supported for mode='sum' (got mode='{mode}')."
        )
    if per_sample_weights is not None and per_sample_weights.dtype is not weight.dtype:
        raise RuntimeError(
            f"embedding_bag: expected per_sample_weights of {weight.dtype}, as the weight, but got "
            f"{per_sample_weights.dtype}"
        )
    if include_last_offset:
        if not offsets.numel():
            raise RuntimeError("include_last_offset: number of offset should be at least 1")
        last = int(offsets[-1])
        if last > input.numel():
            raise RuntimeError(
                f"offsets[-1] can not be greater than input's length {input.numel()} but got "
                f"offsets[-1] of {last}"
            )
        input, offsets = input[:last], offsets[:-1]
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights[:last]
    settings = MODES[mode], row_of_padding(padding_idx, weight), scale_grad_by_freq
    op = sparse_room().SparseEmbeddingBag if sparse else EmbeddingBag
    return apply(op, weight, per_sample_weights, input, offsets, *settings)


def row_of_padding(padding_idx: int | None, weight: Tensor) -> int:
    """-1 where there is none."""
    if padding_idx is None:
        return -1
    rows = weight.shape[0]
    if not -rows <= padding_idx < rows:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, -{rows} through {rows - 1}, but "
            f"got {padding_idx}"
        )
    return padding_idx % rows


@no_grad()
def renormalize(weight: Tensor, index: Tensor, max_norm: float, norm_type: float) -> None:
    """Scales the rows in use that are longer than max_norm, in place."""
    used = unique(index).to(_core.int64)
    rows = weight.index_select(0, used)
    length = rows.norm(as_float("embedding_renorm_", "norm_type", 4, norm_type), 1, keepdim=True)
    weight.index_copy_(0, used, where(length > max_norm, rows * (max_norm / (length + 1e-7)), rows))


MODES = {"sum": SUM, "mean": MEAN, "max": MAX}


# ------------------------------------------------------------------------------ for nn.functional


def apply_embedding(table: Tensor, index: Tensor, padding: int, by_frequency: bool) -> Tensor:
    check_tensor("embedding", "weight", 1, table)
    check_tensor("embedding", "indices", 2, index)
    return apply(Embedding, table, index, padding, by_frequency)
