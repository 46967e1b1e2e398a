"""`ProcessGroup`: some of the processes, their links, and the collectives that run in order.

A collective runs in the thread that calls it, if none is going on; else, and with async_op=True,
in the thread of the group, which takes one after the other. The first that fails ends the group:
its connections are closed, so that no other rank waits, and the reason is left in the store.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from tiny_torch.distributed.errors import DistBackendError
from tiny_torch.distributed.links import Call, Links
from tiny_torch.distributed.mpi import MPILinks, MPIPost
from tiny_torch.distributed.post import Post
from tiny_torch.distributed.stores import PrefixStore, Store
from tiny_torch.distributed.work import Work

Step = Callable[[Call], None]
SECONDS_FOR_REASONS = 2.0  # to ask the store why others failed; it may be gone, too


class ProcessGroup:
    """Some processes, by their global ranks; this one's place among them is `rank()`."""

    def __init__(
        self,
        backend: str,
        ranks: list[int],
        me: int,
        store: Store,
        timeout: timedelta,
        name: str,
        desc: str,
    ) -> None:
        self.backend, self.ranks, self.group_name, self.group_desc = backend, ranks, name, desc
        self.timeout = timeout
        self.store = PrefixStore(f"group {name}", store)
        self.me, seconds = ranks.index(me), timeout.total_seconds()
        self.links: Any
        self.post: Any
        if backend_of(backend) == "mpi":
            self.links = MPILinks(ranks)
            self.post = MPIPost(self.links)
        else:
            self.links = Links(self.me, len(ranks), self.store, seconds)
            self.post = Post(self.links.channels[1])
        self.broken = ""
        self.number = 0  # of collectives so far
        self.waiting = 0  # begun or queued
        self.guard, self.turn = threading.Lock(), threading.Lock()
        self.queue: queue.SimpleQueue[Any] | None = None

    def rank(self) -> int:
        """This process's place in the group."""
        return self.me

    def size(self) -> int:
        """How many processes it has."""
        return len(self.ranks)

    def name(self) -> str:
        """The backend's name."""
        return self.backend

    def get_group_store(self) -> Store:
        """The store, under the group's prefix."""
        return self.store

    def set_timeout(self, timeout: timedelta) -> None:
        """How long a collective may last from now on."""
        self.timeout = timeout

    def run(
        self,
        text: str,
        step: Step,
        result: list[Any],
        async_op: bool = False,
        after: Callable[[], None] | None = None,
        seconds: float | None = None,
    ) -> Work | None:
        """Runs a collective, or puts it behind those that are going on; `after` ends it."""
        limit = self.timeout.total_seconds() if seconds is None else seconds
        with self.guard:
            if self.broken:
                raise DistBackendError(f"{text}: the group has failed before: {self.broken}")
            self.number += 1
            number, at_once = self.number, not self.waiting and not async_op
            self.waiting += 1
            if at_once:
                self.turn.acquire()
            else:
                work = Work(text, limit, result, after)
                self.later((work, number, text, step, limit))
        if not at_once:
            if async_op:
                return work
            work.wait()
            return None
        try:
            self.perform(number, text, step, limit)
        finally:
            self.turn.release()
            with self.guard:
                self.waiting -= 1
        if after is not None:
            after()
        return None

    def later(self, task: Any) -> None:
        if self.queue is None:
            self.queue = queue.SimpleQueue()
            threading.Thread(target=self.work_off, args=(self.queue,), daemon=True).start()
        self.queue.put(task)

    def work_off(self, tasks: queue.SimpleQueue[Any]) -> None:
        while (task := tasks.get()) is not None:
            self.work_on(*task)
            del task  # its tensors may be large, and the next one far away

    def work_on(self, work: Work, number: int, text: str, step: Step, limit: float) -> None:
        error: BaseException | None = None
        try:
            with self.turn:
                self.perform(number, text, step, limit)
        except BaseException as mistake:
            error = mistake
        with self.guard:
            self.waiting -= 1
        work.finish(error)

    def perform(self, number: int, text: str, step: Step, seconds: float) -> None:
        if self.broken:
            raise DistBackendError(f"{text}: the group has failed before: {self.broken}")
        call = Call(number, text, seconds, self.ranks)
        try:
            step(call)
        except DistBackendError as error:
            raise self.give_up(call, error) from None
        except BaseException as error:  # it stopped in the middle: others must not wait
            self.give_up(call, call.failure(repr(error)))
            raise

    def give_up(self, call: Call, error: DistBackendError) -> DistBackendError:
        """Ends the group, and says what came first: here, or at another rank."""
        reason = f"rank {self.ranks[self.me]}: {error}"
        answer: list[str] = []

        def ask() -> None:
            with contextlib.suppress(Exception):
                if call.seconds_left() <= 0:
                    answer.append(self.who_is_silent(call))
                first = f"{reason}{''.join(answer)}"
                answer.append(self.store.compare_set("failed", "", first).decode())

        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        thread.join(SECONDS_FOR_REASONS)
        self.broken = (answer or [reason])[-1]
        self.links.close()
        if self.broken.startswith(reason):
            return DistBackendError(self.broken)
        return DistBackendError(f"{reason}; what failed first: {self.broken}")

    def who_is_silent(self, call: Call) -> str:
        """After a timeout: who does not say either that it waited in vain."""
        self.store.set(f"late {call.number} {self.me}", "")
        end = time.monotonic() + SECONDS_FOR_REASONS / 2
        silent = list(range(self.size()))
        while silent and time.monotonic() < end:
            time.sleep(0.05)
            silent = [r for r in silent if not self.store.check([f"late {call.number} {r}"])]
        ranks = ", ".join(str(self.ranks[rank]) for rank in silent)
        return f"; nothing is heard of rank {ranks}" if silent else ""

    def close(self) -> None:
        """Waits for what was begun, then ends the connections."""
        if self.queue is not None:
            self.waiting += 1
            last = Work("destroy_process_group", self.timeout.total_seconds(), [])
            self.queue.put((last, 0, "", lambda call: None, 0.0))
            last._done.wait(self.timeout.total_seconds())
            self.queue.put(None)
        self.broken = self.broken or "it was destroyed"
        self.links.close()


def backend_of(backend: str) -> str:
    """The name of what moves tensors of the CPU: of "cpu:gloo,cuda:nccl" it is "gloo"."""
    for part in backend.lower().split(","):
        device, _, name = part.rpartition(":")
        if device in ("", "cpu"):
            return name
    return backend.lower()
