"""What runs in a worker process: it fetches batches, as it is told, and sends them."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import queue
import random
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import connection
from typing import Any, NoReturn

import numpy as np

import tiny_torch as torch
from tiny_torch.utils.data._utils.channel import Channel

SECONDS_TO_END = 1.0  # of a worker whose main process is dead
CHECK_SECONDS = 5.0  # how often each side looks whether the other lives: mostly it is told earlier


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """What `get_worker_info` returns in a worker."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str | None = "multiprocessing"


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """What a dataset or `worker_init_fn` may ask for in a worker; None in the main process.

    Its attributes: `id` (from 0), `num_workers`, `seed`, and `dataset`, this worker's copy.
    Source: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.get_worker_info

    >>> from tiny_torch.utils.data import DataLoader, IterableDataset, get_worker_info
    >>> class Shared(IterableDataset):
    ...     def __iter__(self):
    ...         info = get_worker_info()
    ...         return iter(range(6)[info.id :: info.num_workers])
    >>> list(DataLoader(Shared(), batch_size=3, num_workers=2))
    [tensor([0, 2, 4]), tensor([1, 3, 5])]
    """
    return _info


# ---- exceptions --------------------------------------------------------------------------------


class _KeyErrorText(str):
    """KeyError shows the repr of what it is made of."""

    def __repr__(self) -> str:
        return self


class Failure:
    """The exception that is being handled, on its way to the main process: type and traceback."""

    def __init__(self, where: str) -> None:
        error = sys.exc_info()[1]
        kind = type(error)
        trace = "".join(traceback.format_exception(error))
        self.message = f"Caught {kind.__name__} {where}.\nOriginal {trace}"
        try:
            pickle.dumps(kind)
        except Exception:  # a class that the main process does not find by its name
            kind = RuntimeError
        self.kind = kind

    def raise_again(self) -> NoReturn:
        """Raises one of the same type; RuntimeError if that takes other arguments than a text."""
        if self.kind is KeyError:
            raise KeyError(_KeyErrorText(self.message))
        if getattr(self.kind, "message", None):
            raise self.kind(message=self.message)  # type: ignore[call-arg]
        try:
            error = self.kind(self.message)
        except Exception:
            raise RuntimeError(self.message) from None
        raise error


# ---- the process -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Job:
    """What all workers of an iterator are given."""

    dataset: Any
    is_stream: bool
    make_fetcher: Callable[[], Any]
    init_fn: Callable[[int], Any] | None
    num_workers: int
    base_seed: int


def run_worker(channel: Channel, job: Job, number: int) -> None:
    """The life of worker `number`: each message is an index to fetch, an empty one a new start."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the main process may have a handler of its own
    tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(channel, tasks), daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt, EOFError):  # the main process sees to both
        _work(channel, tasks, job, number)


def _receive(channel: Channel, tasks: queue.SimpleQueue[Any]) -> None:
    """Puts messages into the queue, and None at their end.

    It takes them off the main process's hands at once, so that this never waits for a worker which
    in turn waits to be read; and it sees when that process dies, whatever the dataset is busy with.
    """
    parent = multiprocessing.parent_process(), os.getppid()
    inherited = temporary_folder()
    try:
        while True:
            if connection.wait([channel], CHECK_SECONDS):  # type: ignore[list-item]
                tasks.put(channel.receive()[0])
            elif not _lives(*parent):
                break
    except EOFError:
        pass
    finally:
        tasks.put(None)
    while _lives(*parent):
        time.sleep(1)
    threading.main_thread().join(SECONDS_TO_END)  # it ends by itself unless the dataset is busy
    if temporary_folder() != inherited:
        shutil.rmtree(temporary_folder(), ignore_errors=True)
    os._exit(1)


def temporary_folder() -> Any:
    """That of this process's connections, or its parent's; None before there is one."""
    return multiprocessing.current_process()._config.get("tempdir")  # type: ignore[attr-defined]


def _lives(parent: Any, pid: int) -> bool:
    """Neither answer is enough: forks may keep the sign of life, a fork server has its own pid."""
    return os.getppid() == pid and parent.is_alive()


def _work(channel: Channel, tasks: queue.SimpleQueue[Any], job: Job, number: int) -> None:
    global _info
    _info = WorkerInfo(number, job.num_workers, job.base_seed + number, job.dataset)
    _seed_all(job.base_seed, number)
    torch.set_num_threads(1)
    where = f"in DataLoader worker process {number}"

    def begin(init_fn: Callable[[int], Any] | None) -> Any:
        try:
            if init_fn is not None:
                init_fn(number)
            return job.make_fetcher()
        except Exception:
            return Failure(where)

    def fetch(fetcher: Any, task: bytes) -> tuple[str, Any]:
        if isinstance(fetcher, Failure):
            return "failure", fetcher
        try:
            return "batch", fetcher.fetch(pickle.loads(task))
        except Exception as error:
            if isinstance(error, StopIteration) and job.is_stream:
                return "end", None
            return "failure", Failure(where)

    fetcher, ended = begin(job.init_fn), False
    while (task := tasks.get()) is not None:
        if not task:
            fetcher, ended = begin(None), False
            reply: tuple[str, Any] = "begun", None
        elif ended:
            continue
        else:
            reply = fetch(fetcher, task)
            ended = reply[0] == "end"
        try:
            channel.send_value(reply)
        except EOFError:
            raise
        except Exception:  # it cannot be pickled
            channel.send_value(("failure", Failure(where)))
        del reply  # whose memory may be needed for the next


def _seed_all(base_seed: int, number: int) -> None:
    """As PyTorch does it: the same augmentations for the same seed of the main process."""
    random.seed(base_seed + number)
    torch.manual_seed(base_seed + number)
    np.random.seed(_generate_state(base_seed, number))


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """NumPy's seeds in a worker."""
    entropy = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return np.random.SeedSequence(entropy).generate_state(4).tolist()
