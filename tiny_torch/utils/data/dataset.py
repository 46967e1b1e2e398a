"""What the samples are: datasets with an index, streams, and their combinations."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import tiny_torch as torch

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """A collection of samples by index: subclasses define `__getitem__` and mostly `__len__`.

    A subclass may also define `__getitems__(indices)`, which returns the samples of a whole batch.
    Source: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.Dataset

    >>> from tiny_torch.utils.data import Dataset
    >>> class Squares(Dataset):
    ...     def __len__(self):
    ...         return 4
    ...     def __getitem__(self, index):
    ...         return index * index
    >>> (Squares() + Squares())[5]
    1
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    # no default __len__ and __getitems__: both are asked for by their presence

    def __add__(self, other: Dataset[Any]) -> Dataset[Any]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """A stream of samples: subclasses define `__iter__`, else making one raises TypeError.

    Source: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset

    >>> from tiny_torch.utils.data import DataLoader, IterableDataset
    >>> class Count(IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(3))
    >>> list(DataLoader(Count(), batch_size=2))
    [tensor([0, 1]), tensor([2])]
    """

    def __add__(self, other: Dataset[Any]) -> Dataset[Any]:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Any, ...]]):
    """Rows of tensors which all have the same size in dim 0.

    Raises AssertionError if the sizes differ.
    Source: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.TensorDataset

    >>> import tiny_torch as torch
    >>> from tiny_torch.utils.data import TensorDataset
    >>> TensorDataset(torch.arange(4), torch.zeros(4))[2]
    (tensor(2), tensor(0.))
    """

    def __init__(self, *tensors: torch.Tensor) -> None:
        if any(tensor.size(0) != tensors[0].size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple([tensor[index] for tensor in self.tensors])

    def __len__(self) -> int:
        return self.tensors[0].size(0)


class StackDataset(Dataset[Any]):
    """Datasets of one length side by side: samples are tuples, or dicts if given by keyword.

    Raises ValueError if the lengths differ.
    Source: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.StackDataset

    >>> from tiny_torch.utils.data import StackDataset
    >>> StackDataset(range(3), "abc")[1]
    (1, 'b')
    >>> StackDataset(number=range(3), letter="abc")[1]
    {'number': 1, 'letter': 'b'}
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or"
                "``dict``- (via ``kwargs``) like input/output, but both types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        lengths = {len(dataset) for dataset in args or kwargs.values()}
        if len(lengths) > 1:
            raise ValueError("Size mismatch between datasets")
        self._length = lengths.pop()
        self.datasets: tuple[Any, ...] | dict[str, Any] = args or kwargs

    def __getitem__(self, index: Any) -> tuple[Any, ...] | dict[str, Any]:
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple([dataset[index] for dataset in self.datasets])

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        if isinstance(self.datasets, dict):
            columns = [_items(dataset, indices) for dataset in self.datasets.values()]
            return [
                dict(zip(self.datasets, row, strict=True)) for row in zip(*columns, strict=True)
            ]
        columns = [_items(dataset, indices) for dataset in self.datasets]
        return list(zip(*columns, strict=True))

    def __len__(self) -> int:
        return self._length


def _items(dataset: Any, indices: list[Any]) -> list[Any]:
    if not callable(getattr(dataset, "__getitems__", None)):
        return [dataset[index] for index in indices]
    items = dataset.__getitems__(indices)
    if len(items) != len(indices):
        raise ValueError(
            f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(items)}"
        )
    return items


class ConcatDataset(Dataset[T_co]):
    """Datasets one after the other.

    Raises AssertionError for no dataset, or for an IterableDataset (see ChainDataset).
    Source: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.ConcatDataset

    >>> from tiny_torch.utils.data import ConcatDataset
    >>> joined = ConcatDataset(["ab", "cde"])
    >>> len(joined), joined[2], joined[-1]
    (5, 'c', 'e')
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(itertools.accumulate(map(len, self.datasets)))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> T_co:
        if index < 0:
            if -index > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            index += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, index)
        start = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][index - start]


class ChainDataset(IterableDataset[T_co]):
    """Streams one after the other.

    Raises AssertionError, when it comes to it, for a dataset that is no IterableDataset.
    Source: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.ChainDataset

    >>> from tiny_torch.utils.data import ChainDataset, IterableDataset
    >>> class Count(IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(3))
    >>> list(Count() + Count())
    [0, 1, 2, 0, 1, 2]
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def _check_iterable(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield dataset

    def __iter__(self) -> Iterator[T_co]:
        return itertools.chain.from_iterable(self._check_iterable())

    def __len__(self) -> int:
        return sum(map(len, self._check_iterable()))


class Subset(Dataset[T_co]):
    """The samples of a dataset at given indices.

    A subclass that overrides `__getitem__` must override `__getitems__` too, else
    NotImplementedError: the DataLoader asks for whole batches.
    Source: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.Subset

    >>> from tiny_torch.utils.data import Subset
    >>> list(Subset("abcde", [3, 0]))
    ['d', 'a']
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices
        cls = type(self)
        alone = cls.__getitems__ is Subset.__getitems__
        if alone and cls.__getitem__ is not Subset.__getitem__:
            raise NotImplementedError(
                f"{cls.__name__} overrides __getitem__ but not __getitems__. When subclassing "
                "Subset and overriding __getitem__, you must also override __getitems__."
            )

    def __getitem__(self, index: Any) -> T_co:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> list[T_co]:
        chosen = [self.indices[index] for index in indices]
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.dataset.__getitems__(chosen)
        return [self.dataset[index] for index in chosen]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Any,
    lengths: Sequence[int | float],
    generator: torch.Generator | None = torch.default_generator,
) -> list[Subset[Any]]:
    """Splits a dataset at random into Subsets of `lengths`, or of fractions that sum up to 1.

    Fractions are rounded down; what is left over goes to the first parts, one sample each.
    Raises ValueError if the lengths do not sum up to that of the dataset.
    Source: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.random_split

    >>> import tiny_torch as torch
    >>> from tiny_torch.utils.data import random_split
    >>> parts = random_split(range(10), [0.5, 0.3, 0.2], torch.Generator().manual_seed(0))
    >>> [len(part) for part in parts]
    [5, 3, 2]
    """
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _lengths_of_fractions(len(dataset), lengths)
    if sum(lengths) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = torch.randperm(len(dataset), generator=generator).tolist()
    places = list(itertools.accumulate(map(int, lengths), initial=0))
    return [Subset(dataset, order[start:end]) for start, end in itertools.pairwise(places)]


def _lengths_of_fractions(total: int, fractions: Sequence[float]) -> list[int]:
    for index, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise ValueError(f"Fraction at index {index} is not between 0 and 1")
    lengths = [math.floor(total * fraction) for fraction in fractions]
    for extra in range(total - sum(lengths)):
        lengths[extra % len(lengths)] += 1
    for index, length in enumerate(lengths):
        if length == 0:
            warnings.warn(
                f"Length of split at index {index} is 0. This might result in an empty dataset.",
                stacklevel=3,
            )
    return lengths
