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

from tiny_torch.distributed import spans
from tiny_torch.distributed.errors import DistBackendError
from tiny_torch.distributed.host import HostBackend
from tiny_torch.distributed.links import Call
from tiny_torch.distributed.nccl import NCCLBackend
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
        self.me, self.broken = ranks.index(me), ""
        self.number = 0  # of collectives so far
        self.waiting = 0  # begun or queued
        self.guard, self.turn = threading.Lock(), threading.Lock()
        self.queue: queue.SimpleQueue[Any] | None = None
        kinds = backends_of(backend)
        made = {k: (NCCLBackend if k == "nccl" else HostBackend)(self, k) for k in kinds.values()}
        self.by_device: dict[str, Any] = {place: made[kind] for place, kind in kinds.items()}

    def backend_for(self, device: str) -> Any:
        """What moves the tensors of a kind of device; RuntimeError where nothing does."""
        found = self.by_device.get(device) or self.by_device.get("")
        if found is None:
            raise RuntimeError(f"No backend type associated with device type {device}")
        return found

    @property
    def default_device(self) -> str:
        """Where what the group itself sends has its place: the CPU, if it moves tensors of that."""
        return "cpu" if {"", "cpu"} & self.by_device.keys() else next(iter(self.by_device))

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
                self.perform(number, text, step, limit, is_beside=True)
        except BaseException as mistake:
            error = mistake
        with self.guard:
            self.waiting -= 1
        work.finish(error)

    def perform(
        self, number: int, text: str, step: Step, seconds: float, is_beside: bool = False
    ) -> None:
        if self.broken:
            raise DistBackendError(f"{text}: the group has failed before: {self.broken}")
        call = Call(number, text, seconds, self.ranks)
        call.is_beside = is_beside
        begin = time.perf_counter_ns()
        try:
            step(call)
            spans.note(text, spans.BESIDE if is_beside else spans.WITHIN, begin)
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
        self.close_backends()
        if self.broken.startswith(reason):
            return DistBackendError(self.broken)
        return DistBackendError(f"{reason}; what failed first: {self.broken}")

    def who_is_silent(self, call: Call) -> str:
        """After a timeout: who does not say that it waited in vain, too, or for something else."""
        if not call.number:  # a message, of which others need not know
            return ""
        key = f"late {call.number}"
        self.store.set(f"{key} {self.me}", call.text)
        end = time.monotonic() + SECONDS_FOR_REASONS / 2
        silent = list(range(self.size()))
        while silent and time.monotonic() < end:
            time.sleep(0.05)
            silent = [r for r in silent if not self.store.check([f"{key} {r}"])]
        told = ""
        for rank in sorted(set(range(self.size())) - set(silent)):
            if (text := self.store.get(f"{key} {rank}").decode()) != call.text:
                told += f"; rank {self.ranks[rank]} is in {text}"
        ranks = ", ".join(str(self.ranks[rank]) for rank in silent)
        return told + (f"; nothing is heard of rank {ranks}" if silent else "")

    def close(self) -> None:
        """Waits for what was begun, then ends the connections."""
        if self.queue is not None:
            self.waiting += 1
            last = Work("destroy_process_group", self.timeout.total_seconds(), [])
            self.queue.put((last, 0, "", lambda call: None, 0.0))
            last._done.wait(self.timeout.total_seconds())
            self.queue.put(None)
        self.close_backends()
        self.broken = self.broken or "it was destroyed"

    def close_backends(self) -> None:
        for backend in set(self.by_device.values()):
            backend.close(bool(self.broken))


def backends_of(backend: str) -> dict[str, str]:
    """Which backend moves the tensors of which kind of device; "" stands for all others.

    >>> backends_of("cpu:gloo,cuda:nccl"), backends_of("gloo"), backends_of("nccl")
    ({'cpu': 'gloo', 'cuda': 'nccl'}, {'': 'gloo'}, {'cuda': 'nccl'})
    """
    if ":" not in backend:
        return {"cuda" if backend == "nccl" else "": backend}
    parts = [part.partition(":") for part in backend.split(",")]
    if not all(device and name for device, _, name in parts):
        raise ValueError(
            f"The custom backend string argument is invalid: {backend}.\n"
            "                Custom backend string is an experimental feature where the backend "
            'string must be in the format:\n                "<device_type1>:<backend1>,'
            "<device_type2>:<backend2>...\". e.g. 'cpu:gloo,cuda:nccl'"
        )
    return {device: name for device, _, name in parts}
