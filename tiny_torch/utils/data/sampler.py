"""In which order the samples come. The same seed gives PyTorch's order, draw for draw."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

import tiny_torch as torch

T_co = TypeVar("T_co", covariant=True)


class Sampler(Generic[T_co]):
    """Yields indices, or lists of them: subclasses define `__iter__` and mostly `__len__`.

    Source: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.Sampler

    >>> from tiny_torch.utils.data import DataLoader, Sampler
    >>> class Backwards(Sampler):
    ...     def __iter__(self):
    ...         return iter([2, 1, 0])
    >>> list(DataLoader("abc", sampler=Backwards(), batch_size=2))
    [['c', 'b'], ['a']]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError

    # no default __len__: a sampler without one has no length


class SequentialSampler(Sampler[int]):
    """The indices 0, 1, 2, … of a dataset.

    Source: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.SequentialSampler

    >>> from tiny_torch.utils.data import SequentialSampler
    >>> list(SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """A permutation of a dataset's indices; with `replacement`, independent draws.

    Of `num_samples` > len(dataset) without replacement, each further round is a new permutation.
    Without a generator, one is seeded from the default generator for each iteration.
    Raises TypeError for a `replacement` that is no bool, ValueError for `num_samples` < 1.
    Source: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.RandomSampler

    >>> from tiny_torch.utils.data import RandomSampler
    >>> sorted(RandomSampler("abcde"))
    [0, 1, 2, 3, 4]
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(
                "num_samples should be a positive integer value, "
                f"but got num_samples={self.num_samples}"
            )

    @property
    def num_samples(self) -> int:
        """How many indices an iteration yields: the dataset's length, now, unless given."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        count, generator = len(self.data_source), self.generator
        if generator is None:
            generator = torch.Generator().manual_seed(draw_seed(None))
        rounds, rest = divmod(self.num_samples, 32 if self.replacement else count)
        if self.replacement:
            for _ in range(rounds):  # in PyTorch's portions
                yield from torch.randint(count, (32,), generator=generator).tolist()
            yield from torch.randint(count, (rest,), generator=generator).tolist()
            return
        for _ in range(rounds):
            yield from torch.randperm(count, generator=generator).tolist()
        # PyTorch draws this one even for rest == 0
        yield from torch.randperm(count, generator=generator).tolist()[:rest]

    def __len__(self) -> int:
        return self.num_samples


def draw_seed(generator: torch.Generator | None) -> int:
    """One draw of a 63-bit integer, as PyTorch seeds samplers and workers."""
    return int(torch.empty((), dtype=torch.int64).random_(generator=generator).item())


class SubsetRandomSampler(Sampler[int]):
    """A permutation of given indices.

    Source: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.SubsetRandomSampler

    >>> from tiny_torch.utils.data import SubsetRandomSampler
    >>> sorted(SubsetRandomSampler([7, 3, 5]))
    [3, 5, 7]
    """

    def __init__(self, indices: Sequence[int], generator: torch.Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for index in torch.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[index]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices 0 … len(weights) − 1 drawn with given weights, which need not sum up to 1.

    Raises ValueError for `num_samples` < 1, a `replacement` that is no bool, weights not 1-d.
    Source: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.WeightedRandomSampler

    >>> from tiny_torch.utils.data import WeightedRandomSampler
    >>> list(WeightedRandomSampler([0.0, 1.0, 0.0], 4))
    [1, 1, 1, 1]
    """

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        _check_positive("num_samples", num_samples)
        _check_bool("replacement", replacement)
        self.weights = torch.as_tensor(weights, dtype=torch.double)
        if len(self.weights.shape) != 1:
            raise ValueError(
                "weights should be a 1d sequence but given "
                f"weights have shape {tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        yield from torch.multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        ).tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of `batch_size` indices of another sampler; the last one may be shorter, or left out.

    Raises ValueError for `batch_size` < 1 or a `drop_last` that is no bool.
    Source: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.BatchSampler

    >>> from tiny_torch.utils.data import BatchSampler
    >>> list(BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        _check_positive("batch_size", batch_size)
        _check_bool("drop_last", drop_last)
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        full, rest = divmod(len(self.sampler), self.batch_size)  # type: ignore[arg-type]
        return full + (rest > 0 and not self.drop_last)


def _check_positive(name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")


def _check_bool(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise ValueError(f"{name} should be a boolean value, but got {name}={value}")
