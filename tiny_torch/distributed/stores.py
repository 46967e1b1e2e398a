"""Stores: keys and bytes that all processes see, by which they find each other.

A store answers few questions: `set`, `get` (which waits for the key), `add` (a counter),
`compare_set`, `check`, `wait`, `delete_key`. `HashStore` holds them for the threads of a process,
`FileStore` in a file, `TCPStore` (tcp_store.py) at one process which the others ask;
`PrefixStore` lets several parts of a program use one store under names of their own.
https://docs.pytorch.org/docs/stable/distributed.html#distributed-key-value-store
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from tiny_torch.distributed.errors import DistStoreError, QueueEmptyError

FIRST_TIMEOUT = timedelta(seconds=300)


def as_bytes(value: str | bytes) -> bytes:
    """What a store holds; TypeError for anything but text and bytes."""
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise TypeError(f"a store's value must be str or bytes, got {type(value).__name__}")
    return value.encode()


def as_key(key: str) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a store's key must be str, got {type(key).__name__}")
    return key


def as_seconds(timeout: timedelta) -> float:
    if not isinstance(timeout, timedelta):
        raise TypeError(f"timeout must be a datetime.timedelta, got {timeout!r}")
    return timeout.total_seconds()


class Store:
    """What every store can do, made of the few steps that each has its own of.

    >>> import tiny_torch as torch
    >>> store = torch.distributed.HashStore()
    >>> store.set("key", "value")
    >>> store.get("key"), store.add("count", 2), store.check(["key", "other"])
    (b'value', 2, False)
    """

    _timeout = FIRST_TIMEOUT

    @property
    def timeout(self) -> timedelta:
        """How long `get` and `wait` wait."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Sets how long `get` and `wait` wait."""
        as_seconds(timeout)
        self._timeout = timeout

    def change(self, key: str, new: Callable[[bytes | None], bytes | None]) -> bytes | None:
        """Sets a key to what `new` makes of its value, in one step; None stands for no value."""
        raise NotImplementedError("a Store is one of HashStore, FileStore, TCPStore, PrefixStore")

    def values(self) -> dict[str, bytes]:
        """All that is in it now."""
        raise NotImplementedError("a Store is one of HashStore, FileStore, TCPStore, PrefixStore")

    def pause(self, seconds: float) -> None:
        """Waits until something may have changed."""
        time.sleep(min(seconds, 0.01))

    def set(self, key: str, value: str | bytes) -> None:
        """Sets a key, whether there was one or not."""
        data = as_bytes(value)
        self.change(as_key(key), lambda old: data)

    def get(self, key: str) -> bytes:
        """The key's value; waits for it, and raises DistStoreError after the timeout."""
        self.wait([as_key(key)])
        return self.values()[key]

    def add(self, key: str, amount: int) -> int:
        """Adds to the number under a key, which begins at 0, and answers the sum."""
        if not isinstance(amount, int):
            raise TypeError(f"add: amount must be int, got {type(amount).__name__}")
        told = self.change(as_key(key), lambda old: str(int(old or b"0") + amount).encode())
        return int(told or b"0")

    def compare_set(self, key: str, expected_value: str, desired_value: str) -> bytes:
        """Sets a key where its value is the expected one, or is missing and "" is expected.

        Answers the value after that; the expected one where the key is missing.
        """
        expected, desired = as_bytes(expected_value), as_bytes(desired_value)

        def new(old: bytes | None) -> bytes | None:
            return desired if (old if old is not None else b"") == expected else old

        told = self.change(as_key(key), new)
        return expected if told is None else told

    def append(self, key: str, value: str | bytes) -> None:
        """Puts a value behind the one under a key."""
        data = as_bytes(value)
        self.change(as_key(key), lambda old: (old or b"") + data)

    def delete_key(self, key: str) -> bool:
        """Removes a key; True if there was one."""
        found: list[bytes | None] = []

        def new(old: bytes | None) -> None:
            found.append(old)

        self.change(as_key(key), new)
        return found[-1] is not None

    def num_keys(self) -> int:
        """How many keys there are."""
        return len(self.values())

    def list_keys(self) -> list[str]:
        """The keys."""
        return list(self.values())

    def check(self, keys: Sequence[str]) -> bool:
        """True if all of the keys are there."""
        if isinstance(keys, str):
            raise TypeError("check: keys must be a list of str, got str")
        known = self.values()
        return all(as_key(key) in known for key in keys)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Waits until all of the keys are there; DistStoreError after the timeout."""
        seconds = as_seconds(self._timeout if timeout is None else timeout)
        end = time.monotonic() + seconds
        while not self.check(keys):
            left = end - time.monotonic()
            if left <= 0:
                missing = ", ".join(f"/{key}" for key in keys if not self.check([key]))
                raise DistStoreError(f"wait timeout after {seconds * 1000:.0f}ms, keys: {missing}")
            self.pause(left)

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """The values of several keys; waits as `get` does."""
        self.wait(keys)
        known = self.values()
        return [known[key] for key in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Sets several keys."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def has_extended_api(self) -> bool:
        """True: `append`, `multi_get` and `multi_set` are there."""
        return True

    def queue_push(self, key: str, value: str | bytes) -> None:
        """Puts a value at the end of the queue of that name."""
        self.set(f"{key}/{self.add(f'{key}/pushed', 1)}", value)

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Takes the first value of a queue; waits for one, or raises QueueEmptyError."""
        if not block and self.queue_len(key) <= 0:
            raise QueueEmptyError("queue is empty")
        place = f"{key}/{self.add(f'{key}/popped', 1)}"
        value = self.get(place)
        self.delete_key(place)
        return value

    def queue_len(self, key: str) -> int:
        """How many values a queue has."""
        return self.add(f"{key}/pushed", 0) - self.add(f"{key}/popped", 0)


class HashStore(Store):
    """A store for the threads of one process."""

    def __init__(self) -> None:
        self.known: dict[str, bytes] = {}
        self.changed = threading.Condition()

    def change(self, key: str, new: Callable[[bytes | None], bytes | None]) -> bytes | None:
        with self.changed:
            value = new(self.known.get(key))
            if value is None:
                self.known.pop(key, None)
            else:
                self.known[key] = value
            self.changed.notify_all()
            return value

    def values(self) -> dict[str, bytes]:
        with self.changed:
            return dict(self.known)

    def pause(self, seconds: float) -> None:
        with self.changed:  # what changed before this is seen a tick later
            self.changed.wait(min(seconds, 0.01))

    def clone(self) -> HashStore:
        """The same store."""
        return self


class FileStore(Store):
    """A store in a file that all processes of a machine can open: a log of changes, locked.

    The last of `world_size` processes that lets go of it removes the file. Raises DistStoreError
    where the file cannot be opened.
    """

    RECORD = struct.Struct("!?II")  # whether there is a value; the sizes of key and value

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        if not isinstance(file_name, str):
            raise TypeError(f"FileStore: file_name must be str, got {type(file_name).__name__}")
        self.path, self.world_size = file_name, world_size
        self.known: dict[str, bytes] = {}
        self.read_to = 0
        self.mutex = threading.Lock()
        try:
            self.file = os.open(file_name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise DistStoreError(f"{error.strerror}: {file_name}") from None
        if world_size > 0:
            self.add("FileStore/users", 1)

    def __del__(self) -> None:
        if getattr(self, "file", -1) < 0:
            return
        if self.world_size > 0 and self.add("FileStore/gone", 1) == self.world_size:
            with contextlib.suppress(OSError):  # somebody removed it
                os.unlink(self.path)
        os.close(self.file)

    def read(self) -> None:
        """Takes in what others wrote since; under the lock of the file."""
        log = os.pread(self.file, os.fstat(self.file).st_size - self.read_to, self.read_to)
        at = 0
        while at < len(log):
            there, key_size, size = self.RECORD.unpack_from(log, at)
            at += self.RECORD.size
            key = log[at : at + key_size].decode()
            at += key_size
            if there:
                self.known[key] = log[at : at + size]
            else:
                self.known.pop(key, None)
            at += size
        self.read_to += at

    def change(self, key: str, new: Callable[[bytes | None], bytes | None]) -> bytes | None:
        with self.mutex:
            fcntl.flock(self.file, fcntl.LOCK_EX)
            try:
                self.read()
                value = new(self.known.get(key))
                name, data = key.encode(), value or b""
                record = self.RECORD.pack(value is not None, len(name), len(data)) + name + data
                os.pwrite(self.file, record, self.read_to)
                self.read()
                return value
            finally:
                fcntl.flock(self.file, fcntl.LOCK_UN)

    def values(self) -> dict[str, bytes]:
        with self.mutex:
            fcntl.flock(self.file, fcntl.LOCK_SH)
            try:
                self.read()
            finally:
                fcntl.flock(self.file, fcntl.LOCK_UN)
            return {k: v for k, v in self.known.items() if not k.startswith("FileStore/")}


class PrefixStore(Store):
    """Another store, in which all keys begin with a prefix."""

    def __init__(self, prefix: str, store: Store) -> None:
        if not isinstance(store, Store):
            raise TypeError(f"PrefixStore: store must be a Store, got {type(store).__name__}")
        self.prefix, self._store = as_key(prefix), store

    @property
    def underlying_store(self) -> Store:
        """The other store."""
        return self._store

    @property
    def timeout(self) -> timedelta:
        return self._store.timeout

    def set_timeout(self, timeout: timedelta) -> None:
        self._store.set_timeout(timeout)

    def full_key(self, key: str) -> str:
        return f"{self.prefix}/{as_key(key)}"

    def change(self, key: str, new: Callable[[bytes | None], bytes | None]) -> Any:
        return self._store.change(self.full_key(key), new)

    def set(self, key: str, value: str | bytes) -> None:
        self._store.set(self.full_key(key), value)

    def get(self, key: str) -> bytes:
        return self._store.get(self.full_key(key))

    def add(self, key: str, amount: int) -> int:
        return self._store.add(self.full_key(key), amount)

    def compare_set(self, key: str, expected_value: str, desired_value: str) -> bytes:
        return self._store.compare_set(self.full_key(key), expected_value, desired_value)

    def append(self, key: str, value: str | bytes) -> None:
        self._store.append(self.full_key(key), value)

    def delete_key(self, key: str) -> bool:
        return self._store.delete_key(self.full_key(key))

    def check(self, keys: Sequence[str]) -> bool:
        return self._store.check(
            keys if isinstance(keys, str) else [self.full_key(key) for key in keys]
        )

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        self._store.wait([self.full_key(key) for key in keys], timeout)

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        return self._store.multi_get([self.full_key(key) for key in keys])

    def num_keys(self) -> int:
        return self._store.num_keys()

    def values(self) -> dict[str, bytes]:
        start = f"{self.prefix}/"
        known = self._store.values()
        return {k.removeprefix(start): v for k, v in known.items() if k.startswith(start)}
