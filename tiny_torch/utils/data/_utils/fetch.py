"""Indices → batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tiny_torch as torch
from tiny_torch.utils.data._utils import collate
from tiny_torch.utils.data.dataset import Subset, TensorDataset


class MapFetcher:
    """Fetches from a dataset with an index."""

    def __init__(
        self, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool
    ) -> None:
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn

    def fetch(self, index: Any) -> Any:
        """The batch of a list of indices; without auto-collation, the converted sample of one."""
        if not self.auto_collation:
            return self.collate_fn(self.dataset[index])
        if self.collate_fn is collate.default_collate:
            rows = _gather_rows(self.dataset, index)
            if rows is not None:
                return rows
        if getattr(self.dataset, "__getitems__", None):
            return self.collate_fn(self.dataset.__getitems__(index))
        return self.collate_fn([self.dataset[i] for i in index])


class IterableFetcher:
    """Fetches from a stream; what the indices are does not matter, only how many."""

    def __init__(
        self, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool
    ) -> None:
        self.samples = iter(dataset)
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last
        self.ended = False

    def fetch(self, index: Any) -> Any:
        """The next batch, or sample. Raises StopIteration at the end."""
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.samples))
        # zip asks `index` first: of a full batch not one sample too many is taken
        batch = [sample for _, sample in zip(index, self.samples, strict=False)]
        self.ended = len(batch) < len(index)
        if not batch or (self.ended and self.drop_last):
            raise StopIteration
        return self.collate_fn(batch)


def _gather_rows(dataset: Any, indices: Any) -> list[torch.Tensor] | None:
    """The batch of a TensorDataset by one `index_select` per tensor, at a fraction of the calls.

    None where rows one by one, stacked, might be something else: other datasets, odd indices,
    tensors that require grad, changed collate functions.
    """
    while type(dataset) is Subset:
        if type(dataset.indices) is not list:
            return None
        indices, dataset = [dataset.indices[index] for index in indices], dataset.dataset
    if type(dataset) is not TensorDataset or set(map(type, indices)) != {int}:
        return None
    if min(indices) < 0 or max(indices) >= len(dataset):
        return None
    if not all(map(_is_plain, dataset.tensors)):
        return None
    if collate.default_collate_fn_map.get(torch.Tensor) is not collate.collate_tensor_fn:
        return None
    rows = torch.tensor(indices)
    return [tensor.index_select(0, rows) for tensor in dataset.tensors]


def _is_plain(tensor: torch.Tensor) -> bool:
    return type(tensor) is torch.Tensor and not tensor.requires_grad and tensor.is_cpu
