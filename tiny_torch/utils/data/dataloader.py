"""The DataLoader: samples in a sampler's order, collated into batches, by workers if there are any.

The order in which random numbers are drawn is PyTorch's: an iterator first draws the base seed of
its workers (also with none), and the sampler draws when the first batch is asked for, which with
workers is at once.

Not here: PyTorch's thread that pins memory; the iterator itself does, when a batch is asked for.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.context import BaseContext
from typing import Any, Generic, Protocol, TypeVar

import tiny_torch as torch
from tiny_torch.utils.data._utils.batches import Batches, MainProcessBatches, WorkerBatches
from tiny_torch.utils.data._utils.collate import default_collate, default_convert
from tiny_torch.utils.data._utils.worker import get_worker_info
from tiny_torch.utils.data.dataset import IterableDataset
from tiny_torch.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
)

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

T_co = TypeVar("T_co", covariant=True)

_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


# PyTorch's names of them, by which packages know a loader's iterator.
_BaseDataLoaderIter = Batches
_SingleProcessDataLoaderIter = MainProcessBatches
_MultiProcessingDataLoaderIter = WorkerBatches


class _Indexed(Protocol[T_co]):
    """What a dataset may be besides an iterable: the samples by index."""

    def __getitem__(self, index: Any, /) -> T_co: ...


class DataLoader(Generic[T_co]):
    """An iterable over the batches of a dataset; each iteration starts anew.

    `batch_size=None` yields single samples. `shuffle`, `sampler` and `batch_sampler` exclude one
    another; `generator` serves the shuffling. `collate_fn` turns a list of samples into a batch.
    `num_workers` processes fetch `prefetch_factor` batches each ahead; their tensors are in shared
    memory. `persistent_workers` live for more than one epoch. Without `in_order`, what is ready
    first comes first.
    Raises ValueError for options that contradict one another. Iterating raises what the dataset
    raises, in a worker too, RuntimeError for a worker that dies or takes longer than `timeout`.
    Source: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader

    >>> import tiny_torch as torch
    >>> from tiny_torch.utils.data import DataLoader, TensorDataset
    >>> data = TensorDataset(torch.arange(3), torch.zeros(3))
    >>> for x, y in DataLoader(data, batch_size=2):
    ...     print(x, y)
    tensor([0, 1]) tensor([0., 0.])
    tensor([2]) tensor([0.])
    """

    __initialized = False  # scripts that change what is fixed know its name, too

    def __init__(
        self,
        dataset: _Indexed[T_co] | Iterable[T_co],
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
        if num_workers > 0 and prefetch_factor is None:
            prefetch_factor = 2
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

        self.dataset: Any = dataset
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
        self._iterator: WorkerBatches | None = None  # with persistent workers
        self.__initialized = True
        self.check_worker_number_rationality()

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and self.__initialized:
            raise ValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized"
            )
        super().__setattr__(name, value)

    @property
    def _index_sampler(self) -> Iterable[Any]:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    @property
    def multiprocessing_context(self) -> Any:
        """How workers are started; None is as `multiprocessing` does by default."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None and self.num_workers == 0:
            raise ValueError(
                "multiprocessing_context can only be used with multi-process loading "
                f"(num_workers > 0), but got num_workers={self.num_workers}"
            )
        if isinstance(context, str):
            methods = multiprocessing.get_all_start_methods()
            if context not in methods:
                raise ValueError(
                    "multiprocessing_context option should specify a valid start method in "
                    f"{methods!r}, but got multiprocessing_context={context!r}"
                )
            context = multiprocessing.get_context(context)
        if not (context is None or isinstance(context, BaseContext)):
            raise TypeError(
                "multiprocessing_context option should be a valid context object or a string "
                f"specifying the start method, but got multiprocessing_context={context}"
            )
        self._context = context

    def check_worker_number_rationality(self) -> None:
        """Warns of more workers than processors that this process may use."""
        processors = len(os.sched_getaffinity(0))
        if self.num_workers > processors:
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our "
                f"suggested max number of worker in current system is {processors}, which is "
                "smaller than what this DataLoader is going to create. Please be aware that "
                "excessive worker creation might get DataLoader running slow or even freeze, lower "
                "the worker number to avoid potential slowness/freeze if necessary.",
                stacklevel=3,
            )

    def __iter__(self) -> Batches:
        if self.num_workers == 0:
            return MainProcessBatches(self)
        if self._iterator is not None and not self._iterator.is_closed:
            self._iterator.restart(self)
            return self._iterator
        self.check_worker_number_rationality()
        batches = WorkerBatches(self)
        if self.persistent_workers:
            self._iterator = batches
        return batches

    def __len__(self) -> int:
        if not self._is_stream:
            return len(self._index_sampler)  # type: ignore[arg-type]
        length = self._claimed_length = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else math.ceil(length / self.batch_size)


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


def _check_stream(shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
    given = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, "
                f"but got {name}={value}"
            )
