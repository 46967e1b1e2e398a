"""The DataLoader: samples in a sampler's order, collated into batches.

The order in which random numbers are drawn is PyTorch's: an iterator first draws the base seed of
its workers (also with none), and the sampler draws when the first batch is asked for.

Not here: worker processes (`num_workers` > 0), pinned memory.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

import tiny_torch as torch
from tiny_torch.utils.data._utils import fetch
from tiny_torch.utils.data._utils.collate import default_collate, default_convert
from tiny_torch.utils.data.dataset import IterableDataset
from tiny_torch.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    draw_seed,
)

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

T_co = TypeVar("T_co", covariant=True)

_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


def get_worker_info() -> None:
    """What a dataset may ask for in a worker process; None in the main process, where all runs.

    Source: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.get_worker_info

    >>> from tiny_torch.utils.data import get_worker_info
    >>> get_worker_info() is None
    True
    """
    return None


class DataLoader(Generic[T_co]):
    """An iterable over the batches of a dataset; each iteration starts anew.

    `batch_size=None` yields single samples. `shuffle`, `sampler` and `batch_sampler` exclude one
    another; `generator` serves the shuffling. `collate_fn` turns a list of samples into a batch.
    Raises ValueError for options that contradict one another, NotImplementedError for
    `num_workers` > 0.
    Source: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader

    >>> import tiny_torch as torch
    >>> from tiny_torch.utils.data import DataLoader, TensorDataset
    >>> data = TensorDataset(torch.arange(3), torch.zeros(3))
    >>> for x, y in DataLoader(data, batch_size=2):
    ...     print(x, y)
    tensor([0, 1]) tensor([0., 0.])
    tensor([2]) tensor([0.])
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: torch.Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        if multiprocessing_context is not None:
            raise ValueError(
                "multiprocessing_context can only be used with multi-process loading "
                f"(num_workers > 0), but got num_workers={num_workers}"
            )
        self._is_stream = isinstance(dataset, IterableDataset)
        if self._is_stream:
            _check_stream(shuffle, sampler, batch_sampler)
        elif sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, "
                    "sampler, and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with "
                "drop_last"
            )
        if sampler is None:
            sampler = _default_sampler(dataset, self._is_stream, bool(shuffle), generator)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        if collate_fn is None:
            collate_fn = default_convert if batch_sampler is None else default_collate

        self.dataset = dataset
        self.batch_size = batch_size
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.num_workers = num_workers
        self.collate_fn = collate_fn
        self.pin_memory = pin_memory
        self.drop_last = drop_last
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.generator = generator
        self.prefetch_factor = prefetch_factor
        self.persistent_workers = persistent_workers
        self.pin_memory_device = pin_memory_device
        self.in_order = in_order
        self._claimed_length: int | None = None  # what len() has said of a stream
        self._initialized = True

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and getattr(self, "_initialized", False):
            raise ValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized"
            )
        super().__setattr__(name, value)

    @property
    def _index_sampler(self) -> Iterable[Any]:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def __iter__(self) -> Iterator[Any]:
        return _Batches(self)

    def __len__(self) -> int:
        if not self._is_stream:
            return len(self._index_sampler)  # type: ignore[arg-type]
        length = self._claimed_length = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else math.ceil(length / self.batch_size)


class _Batches(Iterator[Any]):
    """One pass over a DataLoader."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        if loader.pin_memory:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device "
                "pinned memory won't be used.",
                stacklevel=3,
            )
        self._loader = loader
        self._index_sampler = loader._index_sampler
        self._indices = iter(self._index_sampler)
        self._base_seed = draw_seed(loader.generator)
        self._claimed_length = loader._claimed_length
        self._yielded = 0
        if loader.timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        make_fetcher = fetch.IterableFetcher if loader._is_stream else fetch.MapFetcher
        self._fetch = make_fetcher(
            loader.dataset, loader.batch_sampler is not None, loader.collate_fn, loader.drop_last
        ).fetch

    def __next__(self) -> Any:
        batch = self._fetch(next(self._indices))
        self._yielded += 1
        if self._claimed_length is not None and self._yielded > self._claimed_length:
            warnings.warn(
                f"Length of IterableDataset {self._loader.dataset} was reported to be "
                f"{self._claimed_length}(when accessing len(dataloader)), but {self._yielded} "
                "samples have been fetched. ",
                stacklevel=2,
            )
        return batch

    def __len__(self) -> int:
        return len(self._index_sampler)  # type: ignore[arg-type]


class _Endless(Sampler[None]):
    """The indices of a stream: there are none, and no end of them."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


def _default_sampler(
    dataset: Any, is_stream: bool, shuffle: bool, generator: torch.Generator | None
) -> Sampler[Any]:
    if is_stream:
        return _Endless()
    return RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)


def _check_workers(
    num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool
) -> None:
    if num_workers < 0:
        raise ValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable "
            "multiprocessing."
        )
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing."
            "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")
    if num_workers > 0:
        raise NotImplementedError(
            f"[DataLoader] num_workers={num_workers}: there are no worker processes yet, "
            "use num_workers=0"
        )


def _check_stream(shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
    given = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, "
                f"but got {name}={value}"
            )
