"""`Work`: a collective that was begun, to be waited for; `Future`: its result for who comes later.

https://docs.pytorch.org/docs/stable/futures.html
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from time import perf_counter_ns
from typing import Any, Generic, TypeVar

from tiny_torch.distributed import spans
from tiny_torch.distributed.errors import DistBackendError

T = TypeVar("T")


class Future(Generic[T]):
    """A value that will be there, and what is to be done with it then.

    >>> import tiny_torch as torch
    >>> future = torch.futures.Future()
    >>> doubled = future.then(lambda done: 2 * done.value())
    >>> future.set_result(3)
    >>> doubled.wait()
    6
    """

    def __init__(self, *, devices: Any = None) -> None:
        self._ready = threading.Condition()
        self._is_done = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future[Any]], Any]] = []

    def done(self) -> bool:
        """True if it has a value or an exception."""
        return self._is_done

    def wait(self) -> T:
        """The value, as soon as it is there; raises what `set_exception` was given."""
        with self._ready:
            self._ready.wait_for(lambda: self._is_done)
        return self.value()

    def value(self) -> T:
        """The value, which must be there; raises what `set_exception` was given."""
        if not self._is_done:
            raise RuntimeError("The future is not yet completed")
        if self._error is not None:
            raise self._error
        return self._value

    def then(self, callback: Callable[[Future[T]], Any]) -> Future[Any]:
        """A future of what the callback makes of this one, when it is done."""
        after: Future[Any] = Future()

        def go_on(done: Future[T]) -> None:
            try:
                after.set_result(callback(done))
            except Exception as error:
                after.set_exception(error)

        self.add_done_callback(go_on)
        return after

    def add_done_callback(self, callback: Callable[[Future[T]], Any]) -> None:
        """Calls the callback with this future when it is done: now, if it is."""
        with self._ready:
            if not self._is_done:
                self._callbacks.append(callback)
                return
        callback(self)

    def set_result(self, result: T) -> None:
        """Gives it its value; RuntimeError for a second one."""
        self._end(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Lets `wait` and `value` raise."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._end(None, result)

    def _end(self, value: Any, error: BaseException | None) -> None:
        with self._ready:
            if self._is_done:
                raise RuntimeError("Future can only be completed once")
            self._value, self._error, self._is_done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._ready.notify_all()
        for callback in callbacks:
            callback(self)


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future of the list, done when all of them are."""
    together: Future[list[Future[Any]]] = Future()
    left, guard = [len(futures)], threading.Lock()

    def one_done(_: Future[Any]) -> None:
        with guard:
            left[0] -= 1
            last = left[0] == 0
        if last:
            together.set_result(futures)

    for future in futures:
        future.add_done_callback(one_done)
    if not futures:
        together.set_result(futures)
    return together


def wait_all(futures: list[Future[T]]) -> list[T]:
    """The values of all; raises where one of them did."""
    return [future.wait() for future in collect_all(futures).wait()]


class Work:
    """What `async_op=True`, `isend` and `irecv` answer.

    https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.Work
    """

    def __init__(
        self,
        text: str,
        seconds: float,
        result: list[Any],
        after: Callable[[], None] | None = None,
        give_up: Callable[[Work], None] | None = None,
    ) -> None:
        self.text, self.seconds, self._result = text, seconds, result
        self._after, self._give_up = after, give_up
        self._done = threading.Event()
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[], None]] = []
        self._guard = threading.Lock()
        self.source = -1  # who sent, of a receive

    def finish(self, error: BaseException | None = None) -> None:
        """Says that it is done, or why it failed."""
        if error is None and self._after is not None:
            try:
                self._after()
            except Exception as mistake:
                error = mistake
        self._error = error
        with self._guard:
            self._done.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def is_completed(self) -> bool:
        """True if it is done or failed."""
        return self._done.is_set()

    def is_success(self) -> bool:
        """True if it is done and did not fail."""
        return self._done.is_set() and self._error is None

    def exception(self) -> BaseException | None:
        """Why it failed."""
        return self._error

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Waits until it is done: True; raises why it failed, or DistBackendError when late."""
        seconds, begin = timeout.total_seconds() if timeout else None, perf_counter_ns()
        if not self._done.wait(self.seconds if seconds is None and self._give_up else seconds):
            if self._give_up is not None:
                self._give_up(self)
            late = self.seconds if seconds is None else seconds
            raise DistBackendError(f"{self.text}: waited {late:g} s")
        spans.note(self.text, spans.WAIT, begin)
        if self._error is not None:
            raise self._error
        return True

    def result(self) -> list[Any]:
        """The tensors that it wrote."""
        self.wait()
        return self._result

    def source_rank(self) -> int:
        """Who sent what was received, in the group."""
        return self.source

    def get_future(self) -> Future[list[Any]]:
        """A future of `result`."""
        future: Future[list[Any]] = Future()

        def settle() -> None:
            if isinstance(self._error, Exception):
                future.set_exception(self._error)
            else:
                future.set_result(self._result)

        with self._guard:
            if not self._done.is_set():
                self._callbacks.append(settle)
                return future
        settle()
        return future

    def synchronize(self) -> None:
        """Nothing: what was written is in memory."""

    def block_current_stream(self) -> None:
        """Waits, as `wait`."""
        self.wait()


__all__ = ["Future", "Work", "collect_all", "wait_all"]
