"""One pass over a DataLoader: in the main process, or with the batches made by workers.

Each worker has a channel of its own, on which it answers in the order in which it was asked. So the
next batch is the next message of one known worker, and where a worker dies, only its end is lost.
"""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import signal
import time
import warnings
import weakref
from collections import deque
from collections.abc import Collection, Iterator
from functools import partial
from multiprocessing import connection, util
from multiprocessing.reduction import ForkingPickler
from typing import Any, NoReturn

from tiny_torch.autograd.record import RANGE, enter, leave
from tiny_torch.base.devices import cuda_count
from tiny_torch.utils.data._utils import channel, fetch, worker
from tiny_torch.utils.data._utils.pin_memory import pin_memory
from tiny_torch.utils.data.sampler import draw_seed


class Batches(Iterator[Any]):
    """What both kinds have: indices from the sampler, a base seed, and a fetcher to make."""

    mark = ""  # PyTorch's name for it, which profiles show

    def __init__(self, loader: Any) -> None:
        if loader.pin_memory:
            if loader.pin_memory_device:
                warnings.warn(
                    "pin_memory_device is deprecated, the current accelerator will be used as the "
                    f"device,ignore pin_memory_device='{loader.pin_memory_device}'.",
                    stacklevel=4,
                )
            if not cuda_count():
                warnings.warn(
                    "'pin_memory' argument is set as true but no accelerator is found, then device "
                    "pinned memory won't be used.",
                    stacklevel=4,
                )
        self._pins = loader.pin_memory and cuda_count() > 0
        self._dataset = loader.dataset
        self._index_sampler = loader._index_sampler
        self._indices = iter(self._index_sampler)
        self._base_seed = draw_seed(loader.generator)
        self._num_workers = loader.num_workers
        self._timeout = loader.timeout
        self._claimed_length = loader._claimed_length
        self._yielded = 0
        self._make_fetcher = partial(
            fetch.IterableFetcher if loader._is_stream else fetch.MapFetcher,
            loader.dataset,
            loader.batch_sampler is not None,
            loader.collate_fn,
            loader.drop_last,
        )

    def _next(self) -> Any:
        raise NotImplementedError

    def __next__(self) -> Any:
        row = enter(self.mark, RANGE, -1)
        try:
            batch = self._next()
        finally:
            leave(row)
        self._yielded += 1
        if self._claimed_length is not None and self._yielded > self._claimed_length:
            hint = (
                "For multiprocessing data-loading, this could be caused by not properly "
                "configuring the IterableDataset replica at each worker. Please see "
                "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for "
                "examples."
            )
            warnings.warn(
                f"Length of IterableDataset {self._dataset} was reported to be "
                f"{self._claimed_length}(when accessing len(dataloader)), but {self._yielded} "
                f"samples have been fetched. {hint if self._num_workers else ''}",
                stacklevel=2,
            )
        return pin_memory(batch) if self._pins else batch

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> NoReturn:
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)


class MainProcessBatches(Batches):
    """Fetches when it is asked."""

    mark = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        if self._timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        self._fetch = self._make_fetcher().fetch

    def _next(self) -> Any:
        return self._fetch(next(self._indices))


class _Worker:
    """A worker process, as the main process sees it."""

    def __init__(self, context: Any, job: worker.Job, number: int) -> None:
        self.channel, theirs = channel.pair()
        self.ended = False  # it has no more batches in this epoch
        self.process = context.Process(
            target=worker.run_worker, args=(theirs, job, number), daemon=True
        )
        try:
            self.process.start()
        except BaseException:
            self.channel.close()
            raise
        finally:
            theirs.close_here()
        self.pid = self.process.pid

    def send(self, task: Any) -> None:
        """Sends what `run_worker` reads. That it is dead is noticed when it is to answer."""
        with contextlib.suppress(EOFError):
            self.channel.send(task)

    def cause_of_death(self) -> RuntimeError:
        """An error that says of what the process died."""
        self.process.join(worker.CHECK_SECONDS)
        code = self.process.exitcode
        if code is not None and code < 0:
            text = f"is killed by signal: {signal.strsignal(-code)}. "
        else:
            text = (
                f"exited unexpectedly with exit code {code}. Details are lost due to "
                "multiprocessing. Rerunning with num_workers=0 may give better error trace."
            )
        return RuntimeError(f"DataLoader worker (pid {self.pid}) {text}")


def close_workers(
    workers: list[_Worker], owner: int, seconds: float = worker.CHECK_SECONDS
) -> None:
    """Ends the processes: each finishes what it does; one that takes too long is stopped."""
    if os.getpid() != owner:  # a fork, whose children they are not
        return
    processes = [w.process for w in workers]
    try:
        for w in workers:
            w.channel.close()
        deadline = time.monotonic() + seconds
        for process in processes:
            process.join(max(0, deadline - time.monotonic()))
    finally:
        for end in ("terminate", "kill"):
            alive = [process for process in processes if process.is_alive()]
            for process in alive:
                getattr(process, end)()
            for process in alive:
                process.join(1)
        workers.clear()


opened: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()  # by which process


def close_soon() -> None:
    """At the exit, before Python terminates them: one that ends by itself leaves no folder."""
    mine = [
        w for batches, owner in opened.items() if owner == os.getpid() for w in batches._workers
    ]
    close_workers(mine, os.getpid(), worker.SECONDS_TO_END)


def close_at_exit(_: Any = None) -> None:
    util.Finalize(None, close_soon, exitpriority=10)


close_at_exit()
util.register_after_fork(close_at_exit, close_at_exit)


class WorkerBatches(Batches):
    """Hands indices to workers in turn, some ahead, and takes the batches in the same order."""

    mark = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        if loader.prefetch_factor <= 0:
            raise AssertionError(
                "prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter"
            )
        self._in_order = loader.in_order
        self._persistent = loader.persistent_workers
        self._most_tasks = loader.prefetch_factor * loader.num_workers
        job = worker.Job(
            loader.dataset,
            loader._is_stream,
            self._make_fetcher,
            loader.worker_init_fn,
            loader.num_workers,
            self._base_seed,
        )
        self._workers: list[_Worker] = []
        self._close = weakref.finalize(self, close_workers, self._workers, os.getpid())
        opened[self] = os.getpid()
        self._close.atexit = False  # then it is close_soon that ends them
        context = loader.multiprocessing_context or multiprocessing
        for number in range(loader.num_workers):
            self._workers.append(_Worker(context, job, number))
        self._begin(loader)

    @property
    def is_closed(self) -> bool:
        """Whether the workers are gone."""
        return not self._close.alive

    def restart(self, loader: Any) -> None:
        """The next epoch of persistent workers, which finish what they were asked for before."""
        try:
            for w in self._workers:
                w.send(b"")
            for w in self._workers:
                while self._receive([w])[1] != "begun":
                    pass
                w.ended = False
        except BaseException:
            self._stop()
            raise
        self._begin(loader)

    def _begin(self, loader: Any) -> None:
        self._indices = iter(self._index_sampler)  # in the first epoch once more, as in PyTorch
        self._claimed_length = loader._claimed_length
        self._yielded = 0
        self._turns = itertools.cycle(self._workers)
        self._asked: deque[_Worker] = deque()  # once for each batch that is to come, oldest first
        for _ in range(self._most_tasks):
            self._ask()

    def _ask(self) -> None:
        try:
            index = next(self._indices)
        except StopIteration:
            return
        most = self._most_tasks // max(1, sum(not w.ended for w in self._workers))
        for w in itertools.islice(self._turns, self._num_workers):
            if not w.ended and (self._in_order or self._asked.count(w) < most):
                task = ForkingPickler.dumps(index)
                try:
                    w.send(task)
                except BaseException:  # by a signal, with part of a message sent, perhaps
                    self._stop()
                    raise
                self._asked.append(w)
                return

    def _next(self) -> Any:
        while self._asked:
            w, kind, value = self._receive([self._asked[0]] if self._in_order else self._asked)
            self._asked.remove(w)
            if kind == "end":
                self._forget(w)
            self._ask()
            if kind == "failure":
                value.raise_again()
            if kind == "batch":
                return value
        if not self._persistent:
            self._stop()
        raise StopIteration

    def _receive(self, workers: Collection[_Worker]) -> tuple[_Worker, str, Any]:
        """The next message of one of these workers: which one, kind, value."""
        by_channel: dict[Any, _Worker] = {w.channel: w for w in workers}
        while True:
            try:
                ready = connection.wait(list(by_channel), self._timeout or worker.CHECK_SECONDS)
                if ready:
                    w = by_channel[ready[0]]
                    pickled, files = w.channel.receive()
            except EOFError:
                raise self._death_error(w) from w.cause_of_death()
            except BaseException:
                self._stop()
                raise
            if ready:
                return w, *channel.loads(pickled, files)
            for w in by_channel.values():
                if not w.process.is_alive():  # and a process that it has started holds the channel
                    raise self._death_error(w) from w.cause_of_death()
            if self._timeout:
                raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")

    def _death_error(self, w: _Worker) -> RuntimeError:
        self._forget(w)
        return RuntimeError(f"DataLoader worker (pid(s) {w.pid}) exited unexpectedly")

    def _forget(self, w: _Worker) -> None:
        """Expects no more of a worker in this epoch."""
        w.ended = True
        self._asked = deque(other for other in self._asked if other is not w)

    def _stop(self) -> None:
        self._asked.clear()
        self._close()
